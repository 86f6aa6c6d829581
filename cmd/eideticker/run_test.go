package main

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// namedDevice is a device that is only spoken of.
type namedDevice struct{ session.Device }

func (namedDevice) Name() string { return "local" }

// TestFirstThingsFirst: the values of the user are before those of the test. Tests of other rigs
// are unknown.
func TestFirstThingsFirst(t *testing.T) {
	r := &testRun{options: session.SetOptions{Test: &suite.Test{Primary: []string{"speedindex.last"}}}}
	r.cmd.Primary = []string{"speedindex.share"}
	if got := strings.Join(r.primary(), " "); got != "speedindex.share speedindex.last" {
		t.Error(got)
	}
	r.options.Test = nil
	if got := strings.Join(r.primary(), " "); got != "speedindex.share" {
		t.Error(got)
	}
}
