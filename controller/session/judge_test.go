package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/screen"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/site"
)

// TestRefusedMeasures: a run that measured nothing of what it was made for has failed, with the
// measure's own sentence; one that measured a part counts.
func TestRefusedMeasures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		measures []string
		want     State
		note     bool
	}{
		"all":  {[]string{"response"}, Failed, false},
		"some": {[]string{"fps", "response"}, Passed, true},
		"none": {[]string{"fps"}, Passed, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, &scene{name: "d", uri: paced})
			o.Test.Measures, o.NoPictures = tc.measures, true
			record, found, err := Run(t.Context(), o)
			if err != nil || record.State != tc.want || found == nil {
				t.Fatalf("%+v, %v", record, err)
			}
			failed := strings.HasPrefix(record.Reason, "nothing was measured: response: ")
			if failed != (tc.want == Failed) {
				t.Errorf("reason %q", record.Reason)
			}
			noted := slices.ContainsFunc(record.Notes,
				func(n string) bool { return strings.HasPrefix(n, "response was not measured: ") })
			if noted != tc.note {
				t.Errorf("notes %q", record.Notes)
			}
		})
	}
}

// TestUnfinished: a run is repeated if the recorder was too busy for it. A failure of device or
// test is not, nor is an interrupted run.
//
// Fault: Too many lost frames, a busy machine, or a browser that ignored the navigation
func TestUnfinished(t *testing.T) {
	busy := fmt.Errorf("wait for green: %w", screen.ErrNotWatched)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		want State
	}{{t.Context(), busy, Rejected}, {t.Context(), errors.Join(busy, errors.New("and the stage")), Rejected},
		{t.Context(), fmt.Errorf("no green: %w", errUnheard), Rejected},
		{t.Context(), errors.New("the browser ended"), Failed}, {stopped, busy, Failed}} {
		if got := unfinished(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%v: %s", tc.err, got)
		}
	}
}

// TestUnheard: a browser that has not asked for the page was not heard to go there; one that has,
// or has ended, failed by itself.
//
// Fault: Too many lost frames, a busy machine, or a browser that ignored the navigation
func TestUnheard(t *testing.T) {
	unseen := fmt.Errorf("the test: %w", &controller.UnseenError{Waited: "the green to go", For: time.Minute})
	for name, tc := range map[string]struct {
		err    error
		asks   bool
		seen   *traffic
		others bool // serve the page
		want   bool
	}{
		"lost":           {unseen, false, nil, false, true},
		"asked":          {unseen, true, nil, false, false},
		"looked up":      {unseen, false, &traffic{fall: &har.Waterfall{Lookups: make([]har.Lookup, 1)}}, false, false},
		"another reason": {errors.New("the browser ended"), false, nil, false, false},
		"all is well":    {nil, false, nil, false, false},
		"others":         {unseen, false, nil, true, false},
		"others, lost":   {unseen, false, &traffic{fall: &har.Waterfall{}}, true, true},
		"others, hidden": {unseen, false, &traffic{fall: &har.Waterfall{}, hidden: true}, true, false},
		"others, asked": {unseen, false, &traffic{fall: &har.Waterfall{Requests: make([]har.Request, 1)}}, true,
			false},
	} {
		played, err := site.New(site.Options{Playlist: []string{"framerate"}})
		if err != nil {
			t.Fatal(err)
		}
		if tc.asks {
			played.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", played.Start(), nil))
		}
		if tc.others {
			played = nil
		}
		got := addUnrequested(tc.err, played, tc.seen)
		if errors.Is(got, errUnheard) != tc.want || !tc.want && got != tc.err || tc.want && !errors.Is(got, tc.err) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestNotWatchedIsNoError: the log has one line about a rejected run, which is a warning. Its
// results have the reason too. A failed run has an error.
func TestNotWatchedIsNoError(t *testing.T) {
	t.Parallel()
	busy := fmt.Errorf("wait for red: %w", screen.ErrNotWatched)
	for state, why := range map[State]error{Rejected: busy, Failed: errors.New("the cable came out")} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			o := options(t, &scene{name: "d", uri: brief, spoils: why})
			o.NoPictures = true
			record, found, err := Run(t.Context(), o)
			if err != nil || record.State != state || record.Reason != why.Error() || found == nil {
				t.Fatalf("%+v, %v", record, err)
			}
			want := map[State]string{Rejected: "level=WARN msg=\"the run does not count\" reason=",
				Failed: "level=ERROR msg=\"the run has failed\" reason="}[state]
			log := string(content(t, o.Dir, LogFile))
			if n := strings.Count(log, want); n != 1 || strings.Contains(log, "level=ERROR") != (state == Failed) {
				t.Errorf("%s: the log has %q %d times:\n%s", state, want, n, log)
			}
			note := map[State]string{Rejected: "the run does not count: ", Failed: "the run has failed: "}[state] +
				why.Error()
			if notes := found.Results.Notes; !slices.Contains(notes, note) {
				t.Errorf("%s: the results say %q, not %q", state, notes, note)
			}
		})
	}
}

// TestTooManyLost: a run counts with the largest number of lost frames, in all its windows
// together. With one more, it is rejected with advice.
func TestTooManyLost(t *testing.T) {
	for name, tc := range map[string]struct {
		lost   []uint64 // of windows of 95 frames each
		most   float64
		state  State
		reason string
	}{
		"none":           {[]uint64{0}, 0, Passed, ""},
		"as many as may": {[]uint64{5}, 0.05, Passed, ""},
		"one more": {[]uint64{6}, 0.05, Rejected,
			"the capture lost 6 of 101 measured frames, 5.9 %: more than 5 %; " +
				"a quieter machine or a smaller window: loses fewer, and --max-lost says how many may be"},
		"of two windows": {[]uint64{1, 9}, 0.05, Passed, ""},
		"none may be": {[]uint64{0, 1}, 0, Rejected,
			"the capture lost 1 of 191 measured frames, 0.5 %: more than 0 %; " +
				"a quieter machine or a smaller window: loses fewer, and --max-lost says how many may be"},
		"all may be": {[]uint64{5000}, 1, Passed, ""},
	} {
		var log bytes.Buffer
		r := &run{Options: Options{Test: sceneTest(), MaxLost: tc.most}, journal: newJournal(&log, untold{})}
		record, found := &Record{}, &runfolder.Found{}
		for _, n := range tc.lost {
			w := result.Window{Start: 0, End: 94, Results: []analyze.Result{{Measure: "fps", State: analyze.Bounded}}}
			w.Times.Lost = []result.Loss{{Frames: n / 2}, {Frames: n - n/2}}
			found.Results.Windows = append(found.Results.Windows, w)
		}
		r.judge(record, found)
		if record.State != tc.state || record.Reason != tc.reason {
			t.Errorf("%s: %s, %q", name, record.State, record.Reason)
		}
		if told := strings.Contains(log.String(), "the run does not count"); told != (tc.state == Rejected) {
			t.Errorf("%s: the log has %q", name, &log)
		}
	}
}
