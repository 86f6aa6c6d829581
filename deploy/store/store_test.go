package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/session"
)

var background = context.Background()

// TestRunsAreFound: new runs are listed, newest first. All fields of a query find them, and they
// can be read in full.
func TestRunsAreFound(t *testing.T) {
	s := open(t, t.TempDir())
	first := put(t, s, run(0, 60))
	nightly := put(t, s, run(10, 59).with(func(r *session.Record) {
		r.Label, r.Branch, r.Revision, r.Browser, r.Device = "nightly-1", "main", "8c1f07aa", "firefox", "pixel7-03"
	}))
	failed := put(t, s, run(5, 0).with(func(r *session.Record) {
		r.State, r.Reason, r.Test = session.Failed,
			"no green came", "scroll"
	}))
	set := putSet(t, s, 20, 60, 61)
	inSet := []string{set + "~run-02", set + "~run-01"}
	all := slices.Concat(inSet, []string{nightly, failed, first})
	for _, tc := range []struct {
		name string
		q    Query
		want []string
	}{
		{"all", Query{}, all},
		{"test", Query{Test: "scroll"}, []string{failed}},
		{"device", Query{Device: "pixel7-03"}, []string{nightly}},
		{"browser", Query{Browser: "firefox"}, []string{nightly}},
		{"label", Query{Label: "nightly-1"}, []string{nightly}},
		{"branch", Query{Branch: "main"}, []string{nightly}},
		{"revision", Query{Revision: "8c1f07aa"}, []string{nightly}},
		{"state", Query{State: session.Failed}, []string{failed}},
		{"set", Query{Set: set}, inSet},
		{"two", Query{Device: "local", State: session.Failed}, []string{failed}},
		{"nothing", Query{Device: "pixel7-03", State: session.Failed}, nil},
		{"from", Query{From: epoch.Add(10 * 60e9)}, slices.Concat(inSet, []string{nightly})},
		{"to", Query{To: epoch.Add(10 * 60e9)}, []string{failed, first}},
		{"a word's beginning", Query{Text: "pix"}, []string{nightly}},
		{"words with signs", Query{Text: "NIGHTLY-1 8c1f"}, []string{nightly}},
		{"of a reason", Query{Text: "green"}, []string{failed}},
		{"of the browser's build", Query{Text: "chromium 140"}, all},
		{"part of an ID", Query{Text: set[len(set)-4:] + "~run-02"}, inSet[:1]},
		{"words that are not together", Query{Text: "pixel scroll"}, nil},
		{"signs alone are no words", Query{Text: `"*^ - '`}, all},
		{"what the database has a meaning for", Query{Text: `NEAR( "a" OR "pix`}, nil},
		{"a word and a field", Query{Text: "chromium", State: session.Failed}, []string{failed}},
	} {
		if got := ids(t, s, tc.q); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	got, err := s.Get(background, nightly)
	if err != nil {
		t.Fatal(err)
	}
	if got.Build != "Chromium 140.0" || got.Frames != 180 || got.Bytes == 0 || got.Set != "" ||
		!got.Started.Equal(epoch.Add(10*60e9)) {
		t.Errorf("read: %+v", got)
	}
	if len(got.Values) != 2 || got.Values[0].Measure != "fps" || got.Values[0].Name != "framerate" ||
		got.Values[0].Low != 58.9 || got.Values[0].Window != "framerate" {
		t.Errorf("values: %+v", got.Values)
	}
}

// TestPages: pages follow each other without a gap, also where runs are deleted and made between
// them.
func TestPages(t *testing.T) {
	s := open(t, t.TempDir())
	var want []string
	for i := range 7 {
		want = append(want, put(t, s, run(i, 0)))
	}
	slices.Reverse(want)
	var got []string
	q := Query{Limit: 2}
	for {
		page, err := s.List(background, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Runs {
			got = append(got, r.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
		put(t, s, run(100+len(got), 0)) // newer than all
		if len(got) == 2 {
			if err := s.Delete(background, got[1]); err != nil { // the cursor's own
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, q := range []Query{{Limit: -1}, {Limit: MaxLimit + 1}, {Cursor: "'"}, {Cursor: "-1"}, {Set: "../etc"},
		{Text: strings.Repeat("a ", 20)}, {Text: strings.Repeat("a", 1000)}} {
		if _, err := s.List(background, q); err == nil {
			t.Errorf("%+v is answered", q)
		}
	}
}

// TestTrend: a set that is slower than the one before has regressed, and single runs say no such
// thing.
func TestTrend(t *testing.T) {
	s := open(t, t.TempDir())
	putSet(t, s, 0, 60, 60.1, 59.9, 60.2, 59.8, 60)
	slow := putSet(t, s, 10, 50, 50.1, 49.9, 50.2, 49.8, 50)
	putSet(t, s, 20, 50, 50.1, 49.9, 50.2, 49.8, 50.05)
	putSet(t, s, 30, 60, 60.1, 59.9, 60.2, 59.8, 60.05)
	lone := put(t, s, run(40, 30))
	put(t, s, run(41, 20).with(func(r *session.Record) { r.State = session.Rejected }))
	put(t, s, run(42, 20).with(func(r *session.Record) { r.WarmUp = true }))
	other := put(t, s, run(43, 10).with(func(r *session.Record) { r.Browser = "firefox" }))
	trend, err := s.Trend(background, TrendQuery{Test: "framerate", Measure: "fps", Value: "framerate"})
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []stats.Verdict
	for _, p := range trend.Points {
		verdicts = append(verdicts, p.Verdict)
	}
	want := []stats.Verdict{"", stats.Regressed, stats.Unchanged, stats.Improved, stats.Inconclusive, ""}
	if !slices.Equal(verdicts, want) {
		t.Fatalf("verdicts %q, want %q", verdicts, want)
	}
	p := trend.Points[1]
	if p.ID != slow || p.N != 6 || p.Median != 50 || !p.Interval || p.Low != 49.8 || p.High != 50.2 ||
		p.Before != trend.Points[0].ID || trend.Unit != "frames/s" {
		t.Errorf("point %+v, unit %s", p, trend.Unit)
	}
	if p := trend.Points[4]; p.ID != lone || p.N != 1 || p.Low != 29.9 {
		t.Errorf("point of a run that stands alone: %+v", p)
	}
	if p := trend.Points[5]; p.ID != other || p.Before != "" {
		t.Errorf("point of another browser: %+v", p)
	}
	// The newest points know the one before them though it is not asked for.
	trend, err = s.Trend(background, TrendQuery{Test: "framerate", Measure: "fps", Value: "framerate",
		Browser: "chromium", Limit: 2})
	if err != nil || len(trend.Points) != 2 || trend.Points[0].Verdict != stats.Improved {
		t.Errorf("two points: %+v, %v", trend.Points, err)
	}
	for _, q := range []TrendQuery{{}, {Test: "framerate", Measure: "fps"},
		{Test: "framerate", Measure: "fps", Value: "framerate", Limit: -1}} {
		if _, err := s.Trend(background, q); err == nil {
			t.Errorf("%+v is answered", q)
		}
	}
}

// TestSets: a set adds up its runs, and is found if one of them is.
func TestSets(t *testing.T) {
	s := open(t, t.TempDir())
	first := putSet(t, s, 0, 60, 61)
	put(t, s, run(5, 60))
	dir, err := s.Place("framerate")
	if err != nil {
		t.Fatal(err)
	}
	run(10, 60).write(t, filepath.Join(dir, "chromium", "run-01"))
	run(11, 60).with(func(r *session.Record) { r.Browser = "firefox" }).write(t,
		filepath.Join(dir, "firefox", "run-01"))
	run(12, 0).with(func(r *session.Record) { r.State = session.Failed }).write(t,
		filepath.Join(dir, "firefox", "failed", "run-02.1"))
	second := add(t, s, dir)
	page, err := s.Sets(background, Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Sets) != 2 || page.Total != 2 || page.Sets[0].ID != second || page.Sets[1].ID != first {
		t.Fatalf("sets: %+v", page)
	}
	set := page.Sets[0]
	if set.Runs != 3 || set.Counting != 2 || set.States[session.Failed] != 1 ||
		!slices.Equal(set.Browsers, []string{"chromium", "firefox"}) {
		t.Errorf("set: %+v", set)
	}
	page, err = s.Sets(background, Query{Text: "firefox"})
	if err != nil || len(page.Sets) != 1 || page.Sets[0].ID != second || page.Total != 1 {
		t.Errorf("by a word: %+v, %v", page, err)
	}
	page, err = s.Sets(background, Query{Limit: 1})
	if err != nil || len(page.Sets) != 1 || page.Next == "" {
		t.Fatalf("one set: %+v, %v", page, err)
	}
	page, err = s.Sets(background, Query{Limit: 1, Cursor: page.Next})
	if err != nil || len(page.Sets) != 1 || page.Sets[0].ID != first || page.Next != "" {
		t.Errorf("the next: %+v, %v", page, err)
	}
	if got := ids(t, s, Query{Set: second + "~firefox"}); len(got) != 2 {
		t.Errorf("a part of a set has %v", got)
	}
	if got, err := s.GetSet(background, second); err != nil || got.Runs != 3 {
		t.Errorf("one set: %+v, %v", got, err)
	}
}

// TestTwoPrograms: a data directory has one owner.
func TestTwoPrograms(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if s, err := Open(background, Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("a second one: %v, %v", s, err)
	}
}

// TestHostileIDs: nothing outside of the folder of runs can be named.
//
// Fault: An ID contains `../`, or a run is a link
func TestHostileIDs(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := put(t, s, run(0, 60))
	secret := filepath.Join(dir, "secrets")
	if err := os.MkdirAll(secret, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, runsDir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", ".", "..", "../secrets", "..~secrets", id + "~..", id + "/..", id + "~..~..~secrets", "/etc", "a\x00b", "~",
		id + "~", ".hidden", "a~b~c~d~e~f", "a\nb",
		strings.Repeat("a", 1000), `a\..\b`, "%2e%2e", "link", "none",
	} {
		errs := map[string]error{}
		_, errs["get"] = s.Get(background, bad)
		_, errs["set"] = s.GetSet(background, bad)
		_, errs["folder"] = s.Folder(bad)
		_, errs["path"] = s.Path(bad)
		_, errs["use"] = s.Use(bad)
		errs["delete"] = s.Delete(background, bad)
		errs["pin"] = s.Pin(background, bad, true)
		errs["baseline"] = s.SetBaseline(background, "x", bad)
		if bad == "" {
			delete(errs, "baseline") // removes it
		}
		errs["zip"] = s.Zip(background, bad, failingWriter{t})
		for what, err := range errs {
			if !errors.Is(err, ErrID) && !errors.Is(err, ErrNotFound) {
				t.Errorf("%s %q: %v", what, bad, err)
			}
		}
	}
	for _, outside := range []string{dir, filepath.Join(dir, runsDir), filepath.Join(dir, runsDir, ".."), "/",
		filepath.Join(dir, runsDir, id, "..", "..", "secrets")} {
		if err := s.Add(background, outside); !errors.Is(err, ErrID) {
			t.Errorf("add %s: %v", outside, err)
		}
	}
}

// failingWriter fails the test when it is written to.
type failingWriter struct{ t *testing.T }

func (w failingWriter) Write([]byte) (int, error) {
	w.t.Error("something was written")
	return 0, errors.New("not wanted")
}
