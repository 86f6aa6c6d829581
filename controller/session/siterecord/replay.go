package siterecord

import (
	"strings"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// Follows reports if a test is an address that is recorded once and then replayed.
func Follows(t *suite.Test) bool {
	return t.File == "" && strings.HasPrefix(t.URL, "http") && t.Network.Given() && t.Network.Replay == ""
}

// Replay replaces the sites of a set by their archives, which ensure returns. Tests of live servers
// stay. All runs use the same archives, until release is called, also after an error.
func (c Cache) Replay(o *session.SetOptions, live func(*suite.Test) (bool, error),
	ensure func(address string, v session.Variant) (*Cached, error)) (release func(), err error) {
	had := map[string]*Held{}
	release = func() {
		for _, h := range had {
			_ = h.Close() // it was only read
		}
	}
	for i, v := range o.Variants {
		t := o.TestOf(i)
		if !Follows(t) {
			continue
		}
		if is, err := live(t); err != nil || is {
			if err != nil {
				return release, err
			}
			continue
		}
		if had[t.URL] == nil {
			got, err := ensure(t.URL, v)
			if err != nil {
				return release, err
			}
			h, err := c.Hold(got.Name)
			if err != nil {
				return release, err
			}
			had[t.URL] = h
		}
		t.Network.Replay, t.Dir = had[t.URL].Name, had[t.URL]
	}
	return release, nil
}
