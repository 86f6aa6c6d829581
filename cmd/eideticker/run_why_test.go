package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/suite"
)

// TestWhyRecordsScripts: --why records the calls of scripts that can be instrumented. A flag or a
// variant may give the network. Otherwise the command says why not.
func TestWhyRecordsScripts(t *testing.T) {
	const local, none = "http://localhost:3000", "--why without calls of scripts: test localhost-3000: script needs " +
		"pages that this program serves; add --network\n"
	six := 6
	limits := profileLimits{Strict: true, TraceLimit: 1 << 20}
	for name, tc := range map[string]struct {
		cmd           runCmd
		scripts, says string // scripts: of each subject
	}{
		"built-in page": {runCmd{Tests: []string{"stutter"}}, "calls,errors", ""},
		"local server":  {runCmd{Tests: []string{local}, Network: "cable"}, "calls,errors", ""},
		"no network":    {runCmd{Tests: []string{local, local}}, "|", none},
		"site":          {runCmd{Tests: []string{"https://example.org"}, Network: "3g"}, "calls,errors", ""},
		"variants": {runCmd{Tests: []string{local}, Variant: []string{"a=network:3g", "b=network:cable"}},
			"calls,errors|calls,errors", ""},
		"limits": {runCmd{Tests: []string{"stutter"}, profileLimits: limits, Why: true}, "calls,errors", ""},
		"observer effect": {runCmd{Tests: []string{"framerate"}, ObserverEffect: &six, Why: true},
			"|calls,errors", ""},
		"own policy": {runCmd{Tests: []string{"stutter"}, Script: []string{"errors"}}, "errors", ""},
	} {
		t.Run(name, func(t *testing.T) {
			subjects, err := tc.cmd.subjects()
			if err != nil {
				t.Fatal(err)
			}
			var says bytes.Buffer
			tc.cmd.recordWhy(&env{ctx: t.Context(), err: &says}, subjects)
			var got []string
			for _, s := range subjects {
				got = append(got, strings.Join(s.Test.Script.Policies, ","))
				if p := s.Test.Profile; p.Sockets == (s.Name == "plain") || p.Strict != tc.cmd.Strict ||
					p.Limit != suite.Bytes(tc.cmd.TraceLimit) {
					t.Errorf("%s has the profile %q, %+v", s.Name, p.Text(), p)
				}
			}
			if strings.Join(got, "|") != tc.scripts || says.String() != tc.says {
				t.Errorf("scripts %q, want %q; says %q", got, tc.scripts, &says)
			}
		})
	}
}
