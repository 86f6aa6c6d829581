package suite

import (
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/internal/strict"
)

// LinkText is a Link as text, with one field for each key of a file; "": not given.
type LinkText struct{ Profile, RTT, Down, Up, Loss string }

// ParseLink parses a link that is in no file. It rejects the values that a step rejects.
func ParseLink(t LinkText, known Known) (Link, error) {
	l := Link{Profile: t.Profile}
	for _, w := range []struct {
		key, word string
		read      func(string) error
	}{
		{"rtt", t.RTT, func(s string) (err error) { l.RTT, err = parseDuration(s); return err }},
		{"down", t.Down, func(s string) (err error) { l.Down, err = ParseRate(s); return err }},
		{"up", t.Up, func(s string) (err error) { l.Up, err = ParseRate(s); return err }},
		{"loss", t.Loss, func(s string) error {
			p, err := ParsePercent(s)
			l.Loss = &p
			return err
		}},
	} {
		if w.word == "" {
			continue
		}
		if err := w.read(w.word); err != nil {
			return Link{}, fmt.Errorf("%s: %w", w.key, err)
		}
	}
	err := l.check(&known)
	if err == nil {
		err = l.checkKnown(&known)
	}
	if err != nil {
		return Link{}, err
	}
	return l, nil
}

// checkKnown wants a profile that there is.
func (l Link) checkKnown(known *Known) error {
	if l.Profile == "" || known.Networks == nil || slices.Contains(known.Networks, l.Profile) {
		return nil
	}
	return fmt.Errorf("unknown network %q%s", strict.Clip(l.Profile), wording.Meant(l.Profile, known.Networks))
}
