package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/suite"
)

// TestWhyRecordsScripts: --why records the calls of scripts that can be instrumented. A flag or a
// variant may give the network. Otherwise the command says why not.
func TestWhyRecordsScripts(t *testing.T) {
	const local, elsewhere = "http://localhost:3000", "http://example.org"
	const none = "--why without calls of scripts: test example.org: script needs pages that this program serves; " +
		"add --network\n"
	six := 6
	limits := profileLimits{Strict: true, TraceLimit: 1 << 20}
	for name, tc := range map[string]struct {
		cmd           runCmd
		scripts, says string // scripts: of each subject
	}{
		"built-in page": {runCmd{Tests: []string{"stutter"}}, "calls,errors", ""},
		"local server":  {runCmd{Tests: []string{local}, Network: "cable"}, "calls,errors", ""},
		"no network":    {runCmd{Tests: []string{local, local}}, "calls,errors|calls,errors", ""},
		"other machine": {runCmd{Tests: []string{elsewhere, elsewhere}}, "|", none},
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

// TestWhyChanged: plain runs decide. The further ones are a set of their own, with a fixed size.
func TestWhyChanged(t *testing.T) {
	two := runCmd{Tests: []string{"framerate", "hover"}, UntilSure: true, WhyChanged: true}
	for name, tc := range map[string]struct {
		edit func(*runCmd)
		want string // of the error
	}{
		"two tests": {func(*runCmd) {}, ""},
		"one test":  {func(c *runCmd) { c.Tests, c.UntilSure = c.Tests[:1], false }, "changed: it needs two tests"},
		"why":       {func(c *runCmd) { c.Why, c.ProfiledOnly = true, true }, "without script and profile"},
		"script":    {func(c *runCmd) { c.Script = []string{"calls"} }, "must be plain, without script and profile"},
		"no server": {func(c *runCmd) { c.Tests = []string{"https://example.org", "framerate"} }, "add --network"},
		"a failure": {func(c *runCmd) { c.UntilSure, c.UntilFail = false, true }, "ends with a failure"},
	} {
		c := two
		c.Output = filepath.Join(t.TempDir(), "set")
		tc.edit(&c)
		var says bytes.Buffer
		e := &env{ctx: t.Context(), err: &says}
		o, err := c.options(e)
		if tc.want != "" {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %q", name, err, tc.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		further, err := further(o)
		if err != nil || further.Repeat != 8 || further.Looks != nil || o.Looks == nil ||
			further.Dir != filepath.Join(c.Output, "why") || further.Seed != o.Seed {
			t.Errorf("%+v, %v", further, err)
		}
		for i, v := range further.Variants {
			if plain := o.TestOf(i); v.Name() != o.Variants[i].Name() || !v.Test.Script.Given() ||
				!v.Test.Profile.Given() || plain.Script.Given() || plain.Profile.Given() {
				t.Errorf("%s: %+v", v.Name(), v.Test)
			}
		}
	}
}
