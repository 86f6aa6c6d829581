package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/netsim/site"
)

// TestMarkCodeIsRead holds what pages draw on their markers against what is looked for there.
func TestMarkCodeIsRead(t *testing.T) {
	for _, nonce := range []string{"", "abc", "0123456789"} {
		id, clock := site.MarkCode(nonce)
		for marker, low := range map[strip.Marker]uint16{strip.Green: site.MarkGreen, strip.Red: site.MarkRed} {
			if got, want := strip.MarkerCode(nonce, 7, marker), (strip.Code{ID: id, Clock: clock, Free: 7<<8 | low}); got != want {
				t.Errorf("nonce %q: %+v is looked for, %+v is drawn", nonce, got, want)
			}
		}
	}
}

func TestDemoPlaylistIsThere(t *testing.T) {
	if _, err := site.New(site.Options{Playlist: demoPlaylist(), Strip: strip.Spec()}); err != nil {
		t.Error(err)
	}
}

func TestDifference(t *testing.T) {
	for _, tc := range []struct{ a, b, want []int }{
		{nil, nil, nil},
		{[]int{1, 2, 3}, []int{1, 2, 3}, nil},
		{[]int{1, 3}, []int{2, 3, 4}, []int{1, 2, 4}},
		{nil, []int{7}, []int{7}},
	} {
		if got := difference(tc.a, tc.b); !slices.Equal(got, tc.want) {
			t.Errorf("%v and %v differ in %v, want %v", tc.a, tc.b, got, tc.want)
		}
	}
}

// TestReportHasWhatTheDemoChecks: the page of the demo shows the same three numbers as its table.
func TestReportHasWhatTheDemoChecks(t *testing.T) {
	said := 3.0
	page := demoPage{ClaimedFPS: 61, Checks: []demoCheck{
		{What: "torn frames", Unit: "frames", Measured: demoSpan{2, 2, 2}, Drawn: exactSpan(4), Claimed: &said, Frames: []int{7}, Note: "why", of: "tearing.torn_frames"},
		{What: "rows", Agrees: true, Claimed: &said},
	}}
	checks, claims := page.forReport()
	want := []report.Check{
		{What: "torn frames", Unit: "frames", Measured: report.Span{Value: 2, Low: 2, High: 2}, Drawn: report.Span{Value: 4, Low: 4, High: 4}, Claimed: &said, Frames: []int{7}, Note: "why"},
		{What: "rows", Agrees: true, Claimed: &said},
	}
	if !reflect.DeepEqual(checks, want) {
		t.Errorf("%+v, want %+v", checks, want)
	}
	if !maps.Equal(claims, map[string]float64{"fps.framerate": 61, "tearing.torn_frames": 3}) {
		t.Errorf("claims %v", claims)
	}
}

func TestHeldAt(t *testing.T) {
	s := &analyze.Series{Holds: true, Frames: []int{5, 9}, Values: []float64{1, 2}}
	for _, tc := range []struct {
		frame int
		holds bool
		want  float64
		ok    bool
	}{
		{4, true, 0, false}, {5, true, 1, true}, {8, true, 1, true}, {9, true, 2, true}, {99, true, 2, true},
		{8, false, 0, false}, {9, false, 2, true},
	} {
		s.Holds = tc.holds
		if got, ok := heldAt(s, tc.frame); got != tc.want || ok != tc.ok {
			t.Errorf("frame %d, holds %t: %v, %t", tc.frame, tc.holds, got, ok)
		}
	}
}

// views makes a truth of frames that show these pictures, whole (one id) or torn.
func views(rows ...[]int) *demoTruth {
	t := &demoTruth{}
	for n, ids := range rows {
		v := demoView{frame: 100 + n}
		for k := range v.ids {
			v.ids[k] = ids[min(k, len(ids)-1)]
		}
		t.views = append(t.views, v)
	}
	return t
}

func TestChangesOfTheStrip(t *testing.T) {
	d := views([]int{0}, []int{0}, []int{1, 0}, []int{1, 0}, []int{1}, []int{3})
	if got := d.changes(); !slices.Equal(got, []int{100, 102, 104, 105}) {
		t.Errorf("changes in %v", got)
	}
	if d.torn(&d.views[1]) || !d.torn(&d.views[2]) {
		t.Error("torn and whole frames are taken for each other")
	}
	d.views[3].ids[4] = unreadable
	if _, ok := d.views[3].whole(); ok || d.torn(&d.views[3]) {
		t.Error("a frame with a copy that cannot be read is taken for whole or torn")
	}
}

// TestVerdictNames holds the demo to failing where anything is not as it was drawn.
func TestVerdictNames(t *testing.T) {
	s := demoSummary{Verified: true, Pages: []demoPage{{Name: "load", Checks: []demoCheck{{What: "a", Agrees: true}, {What: "b"}}}}}
	if err := s.verdict(); err == nil || !slices.Equal(s.failed(), []string{"load: b"}) {
		t.Errorf("verdict %v, failed %q", err, s.failed())
	}
	s.Pages[0].Checks[1].Agrees = true
	if err := s.verdict(); err != nil {
		t.Error(err)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}
