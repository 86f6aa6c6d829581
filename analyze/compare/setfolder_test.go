package compare

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/analyze/result"
)

// setOf writes a set's folder: set.json, and results and a report for each folder of a run.
func setOf(t *testing.T, p plan, runs ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	results := analyzetest.Must(os.ReadFile("../result/testdata/results.golden.json"))(t)
	raw := analyzetest.Must(json.Marshal(p))(t)
	files := map[string][]byte{}
	if p.Test != "" {
		files[setFile] = raw
	}
	for _, run := range runs {
		files[filepath.Join(run, result.FileName)], files[filepath.Join(run, report.PageName)] = results, nil
	}
	for name, content := range files {
		name = filepath.Join(dir, name)
		analyzetest.Check(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, content, 0o644)))
	}
	return dir
}

const evilName = `<script>window.evil=1<` + "\u2028" + `img src=x onerror="window.evil=2">'`

func twoVariants() plan {
	return plan{Test: "load " + evilName, Variants: []string{"javascript:a", evilName}, Runs: []planRun{
		{Dir: "javascript:a/run-01", Variant: "javascript:a", State: "ok", Report: "javascript:window.evil=3"},
		{Dir: evilName + "/run-01", Variant: evilName, State: "ok"},
		{Dir: "javascript:a/failed/run-02.1", Variant: "javascript:a", State: "failed", Reason: "no green " + evilName},
		{Dir: evilName + "/rejected/run-02.1", Variant: evilName, State: "rejected", Reason: "12 frames were lost"},
	}}
}

// TestSetPage: each variant has its values, and each run its report or its reason.
func TestSetPage(t *testing.T) {
	browsertest.Path(t)
	browsertest.Axe(t)
	p := twoVariants()
	dir := setOf(t, p, p.Runs[0].Dir, p.Runs[1].Dir)
	s := analyzetest.Must(OpenSet(t.Context(), dir))(t)
	c, err := s.Compare(Options{})
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	page := analyzetest.Must(s.Page(SetLinks{Folder: dir, Failed: errors.New("nothing in common")}))(t)
	path := filepath.Join(dir, report.PageName)
	analyzetest.Check(t, os.WriteFile(path, page, 0o644))
	tab := browsertest.NewTab(t, 4*time.Minute, sameOrFile)
	for scheme, width := range map[string]int64{"light": 360, "dark": 1280} {
		tab.Look(scheme, width)
		text := shown(tab, "file://"+path)
		for _, want := range []string{"2 runs, and 2 failed or rejected", "Framerate", "12 frames were lost", evilName,
			"No green", "The variants are not compared: nothing in common"} {
			if !strings.Contains(text, want) {
				t.Errorf("the page does not say %q: %s", want, text)
			}
		}
		tab.Audited(scheme)
	}
	links := browsertest.Eval[[]string](tab, `[...document.querySelectorAll('a')].map((e) => e.href)`)
	if len(links) != 2 || !strings.HasPrefix(links[0], "file://"+dir+"/javascript:a/run-01/report.html") {
		t.Errorf("links %q", links)
	}
	if browsertest.Eval[bool](tab, `'evil' in window`) {
		t.Error("a name was run")
	}
	if n := browsertest.Eval[int](tab,
		`document.querySelectorAll('.dots')[0].querySelectorAll('circle').length`); n != 2 {
		t.Errorf("%d dots of 2 runs", n)
	}
	tab.Quiet()
}

// TestOpenSet: sets of one variant, without set.json, without results, and hostile ones.
func TestOpenSet(t *testing.T) {
	one := plan{Test: "load", Variants: []string{"local"},
		Runs: []planRun{{Dir: "run-01", Variant: "local", State: "ok"}}}
	none := one
	none.Runs = []planRun{{Dir: "failed/run-01.1", Variant: "local", State: "failed", Reason: "no green"}}
	outside, variant := one, one
	outside.Runs = []planRun{{Dir: "../run-01", Variant: "local"}}
	variant.Variants = []string{"a", "/etc"}
	for _, tc := range []struct {
		name, dir, page, err string
	}{
		{"one variant", setOf(t, one, "run-01"), `"name":"fps.framerate"`, ""},
		{"without set.json", setOf(t, plan{}, "run-01", "run-02"), `"dir":"run-02"`, ""},
		{"without results", setOf(t, none), `"reason":"no green"`, ""},
		{"with a warning", setOf(t, none), `has a results.json; make one with eideticker analyze"]`, ""},
		{"run outside", setOf(t, outside), "", `"../run-01" is outside the folder`},
		{"variant outside", setOf(t, variant), "", `"/etc" is outside the folder`},
	} {
		if !IsSet(tc.dir) || IsSet(filepath.Join(tc.dir, "run-01")) {
			t.Errorf("%s: the set is not told from its runs", tc.name)
		}
		s, err := OpenSet(t.Context(), tc.dir)
		if tc.err != "" || err != nil {
			if err == nil || tc.err == "" || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		if c, err := s.Compare(Options{}); c != nil || err != nil {
			t.Errorf("%s: one variant is compared: %v, %v", tc.name, c, err)
		}
		page, err := s.Page(SetLinks{})
		if err != nil || !strings.Contains(string(page), tc.page) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.page)
		}
	}
	if IsSet(t.TempDir()) || IsSet(filepath.Join(t.TempDir(), "missing")) {
		t.Error("an empty folder is a set")
	}
}
