package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/session"
)

// verdict is one on the framerate.
func verdict(v stats.Verdict, base string) *Verdict {
	return &Verdict{Verdict: v, Primary: "framerate.fps.framerate", Sentence: "lower by 20 %", Baseline: "release",
		Base: base, JudgedWallNS: epoch.UnixNano()}
}

// TestVerdicts: runs are found by what they came to against their baseline, of which their folder
// tells: also after the index was made anew, and when somebody else has changed it.
func TestVerdicts(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	base, alone := put(t, s, run(0, 60)), put(t, s, run(1, 40))
	place, err := s.Place("framerate")
	if err != nil {
		t.Fatal(err)
	}
	run(10, 60).write(t, filepath.Join(place, "chromium", "run-01"))
	run(11, 0).with(func(r *session.Record) { r.State = session.Failed }).write(t,
		filepath.Join(place, "chromium", "failed", "run-02.1"))
	run(12, 60).write(t, filepath.Join(place, "firefox", "run-01"))
	set := add(t, s, place)
	one, other := set+"~chromium~run-01", set+"~firefox~run-01"
	found := func(when string, want map[stats.Verdict][]string) {
		t.Helper()
		for _, v := range []stats.Verdict{stats.Regressed, stats.Improved, stats.Different, stats.Unchanged,
			stats.Inconclusive} {
			if got := ids(t, s, Query{Verdict: v}); !slices.Equal(got, want[v]) {
				t.Errorf("%s: %s are %v, want %v", when, v, got, want[v])
			}
		}
	}
	found("before", nil)
	err = errors.Join(s.SetVerdict(background, alone, verdict(stats.Regressed, base)),
		s.SetVerdict(background, set+"~chromium", verdict(stats.Improved, base)),
		s.SetVerdict(background, set+"~firefox", verdict(stats.Inconclusive, base)))
	if err != nil {
		t.Fatal(err)
	}
	// what failed takes no part
	want := map[stats.Verdict][]string{stats.Regressed: {alone}, stats.Improved: {one}, stats.Inconclusive: {other}}
	found("judged", want)
	if got := ids(t, s, Query{Text: "regres"}); !slices.Equal(got, []string{alone}) {
		t.Errorf("by a word: %v", got)
	}
	if r, err := s.Get(background, one); err != nil || r.Verdict != stats.Improved || r.Base != base {
		t.Errorf("get: %+v, %v", r, err)
	}
	page, err := s.Sets(background, Query{Verdict: stats.Inconclusive})
	if err != nil || len(page.Sets) != 1 ||
		!slices.Equal(page.Sets[0].Verdicts, []stats.Verdict{stats.Improved, stats.Inconclusive}) {
		t.Errorf("sets: %+v, %v", page, err)
	}
	if folder, v, err := s.Judged(one); err != nil || folder != set+"~chromium" || v == nil ||
		v.Sentence != "lower by 20 %" {
		t.Errorf("judged: %s, %+v, %v", folder, v, err)
	}
	if err := errors.Join(s.Close(), os.Remove(filepath.Join(dir, IndexFile))); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	found("with a new index", want)
	if err := os.Remove(filepath.Join(s.path(set+"~chromium"), verdictFile)); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Get(background, one); err != nil || r.Verdict != "" {
		t.Errorf("taken away by hand: %+v, %v", r, err)
	}
	if err := s.SetVerdict(background, alone, nil); err != nil {
		t.Fatal(err)
	}
	found("taken away", map[stats.Verdict][]string{stats.Inconclusive: {other}})
}

// TestBadVerdicts: words that are not verdicts are rejected. A file with an invalid verdict leaves
// its runs unchanged.
func TestBadVerdicts(t *testing.T) {
	s := open(t, t.TempDir())
	id := put(t, s, run(0, 60))
	if _, err := s.List(background, Query{Verdict: "regresed"}); !errors.Is(err, ErrVerdict) ||
		!strings.Contains(err.Error(), "did you mean regressed?") {
		t.Errorf("list: %v", err)
	}
	if _, err := s.Sets(background, Query{Verdict: "worse"}); !errors.Is(err, ErrVerdict) {
		t.Errorf("sets: %v", err)
	}
	for _, v := range []stats.Verdict{"", "worse"} {
		if err := s.SetVerdict(background, id, verdict(v, id)); err == nil {
			t.Errorf("%q was kept", v)
		}
	}
	if err := s.SetVerdict(background, "none", verdict(stats.Improved, id)); !errors.Is(err, ErrNotFound) {
		t.Errorf("of no run: %v", err)
	}
	for name, text := range map[string]string{
		"empty": "", "no JSON": "{",
		"another schema":  `{"schema": "x", "version": 1, "verdict": "improved", "base": "a"}`,
		"another version": `{"schema": "eideticker.verdict", "version": 2, "verdict": "improved", "base": "a"}`,
		"another word":    `{"schema": "eideticker.verdict", "version": 1, "verdict": "worse", "base": "a"}`,
		"another base":    `{"schema": "eideticker.verdict", "version": 1, "verdict": "improved", "base": "../a"}`,
		"without end":     `{"schema": "` + strings.Repeat("x", maxVerdictBytes),
	} {
		if err := os.WriteFile(filepath.Join(s.path(id), verdictFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Get(background, id); err != nil || r.State != session.Passed || r.Verdict != "" ||
			len(r.Values) == 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}
