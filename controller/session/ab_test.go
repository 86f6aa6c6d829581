package session

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/controller/suite"
)

// TestPoliciesOf: a test with replacements has the version of its load. It reads the files beside
// it.
func TestPoliciesOf(t *testing.T) {
	dir := fstest.MapFS{"faster.js": {Data: []byte("n =>\n  n")}, "bad.js": {Data: []byte("n => (")},
		"long.js": {Data: []byte("n => n" + strings.Repeat(" ", 300<<10))}}
	of := func(with, text string, version suite.Version) *suite.Test {
		return &suite.Test{Dir: dir, Script: suite.Scripts{Policies: []string{"ab", "calls"}, Version: version,
			AB: []suite.Replacement{{Function: "f", With: with, Text: text}}}}
	}
	for name, c := range map[string]struct {
		test *suite.Test
		want string
	}{
		"a file":       {of("faster.js", "", ""), "SHARE=0.5;"},
		"the original": {of("faster.js", "", suite.Original), "SHARE=0;"},
		"the text":     {of("missing.js", "n => n", suite.Replaced), "SHARE=1;"},
	} {
		all, err := policiesOf(c.test)
		if err != nil || len(all) != 2 || !strings.Contains(all[1].Runtime, c.want) ||
			all[1].Points[0].Text != "n => n" {
			t.Errorf("%s: %v, %+v", name, err, all)
		}
	}
	lost := of("faster.js", "", "")
	lost.Dir = nil
	for want, test := range map[string]*suite.Test{"replacement: open missing.js: ": of("missing.js", "", ""),
		"replacement of f: 2:2: unexpected end": of("bad.js", "", ""), "more than 256 KiB": of("long.js", "", ""),
		"the folder of the test is unknown": lost} {
		if _, err := policiesOf(test); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
