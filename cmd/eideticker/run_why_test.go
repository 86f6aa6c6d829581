package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
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

// TestFetchFurther: runs with measuring code come from the folder why of a rig's set. A job without
// them has none.
func TestFetchFurther(t *testing.T) {
	for name, one := range map[string]struct {
		set        string
		said, fail string
		runs       int
	}{
		"none": {"", "", "", 0},
		"some": {`{"runs":[{"dir":"a/run-01","state":"ok"},{"dir":"b/run-01","state":"ok"},
			{"dir":"a/failed/run-02.1","state":"failed","reason":"loose\u001b"}]}`, "further run failed: loose", "",
			2},
		"hostile": {`{"runs":[{"dir":"../../x","state":"ok"}]}`, "", "invalid run ID", 0},
		"broken":  {"{", "", "unexpected end", 0},
	} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text := map[string]string{"set.json": one.set,
				"run.json": `{"schema":"eideticker.run","version":1,"state":"ok","test":"t"}`}[path.Base(r.URL.Path)]
			if text == "" {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = io.WriteString(w, text) // the client sees it
		}))
		c, err := client.New(h.URL, "")
		if err != nil {
			t.Fatal(err)
		}
		var says bytes.Buffer
		dir := t.TempDir()
		r := &remoteRun{env: &env{ctx: t.Context(), err: &says}, client: c, job: api.Job{ID: "job"}}
		err = r.fetchFurther(t.Context(), dir)
		h.Close()
		if one.fail == "" && err != nil || one.fail != "" && (err == nil || !strings.Contains(err.Error(), one.fail)) ||
			!strings.Contains(says.String(), one.said) || strings.Contains(says.String(), "\x1b") {
			t.Errorf("%s: %v, %s", name, err, &says)
		}
		runs, _ := filepath.Glob(filepath.Join(dir, "why", "*", "run-*", "run.json"))
		if len(runs) != one.runs || exists(filepath.Join(dir, "why", "set.json")) != (one.runs > 0) {
			t.Errorf("%s: runs %v", name, runs)
		}
	}
}

// TestHubCauses: the variants of a fleet's set are compared with the first one, by the hub.
func TestHubCauses(t *testing.T) {
	var asked []string
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) == "set.json" {
			_, _ = io.WriteString(w, `{"variants":["a","b","c"]}`) // the client sees it
			return
		}
		var call struct {
			ID     json.RawMessage
			Params api.CompareParams
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Error(err)
		}
		asked = append(asked, call.Params.Base+" "+call.Params.With)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"comparison":{"answer":"It is worse.",
			"cause":"price ran."}}}`, call.ID)
	}))
	defer h.Close()
	c, err := client.New(h.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	var says bytes.Buffer
	err = (&hubRun{env: &env{ctx: t.Context(), out: &says}, client: c}).printCauses("lab-1/s-x.1")
	if err != nil || says.String() != strings.Repeat("It is worse. price ran.\n", 2) ||
		strings.Join(asked, ", ") != "lab-1/s-x.1~a lab-1/s-x.1~b, lab-1/s-x.1~a lab-1/s-x.1~c" {
		t.Errorf("%v, asked %q: %s", err, asked, &says)
	}
}
