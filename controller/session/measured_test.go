package session

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/fps"
	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/tearing"
	"github.com/eideticker/eideticker/capture/frame"
)

// TestAsAtFirst: settings that leave all open are those of before; what they say themselves stays,
// and then they are others.
func TestAsAtFirst(t *testing.T) {
	first := runfolder.Settings{
		Name: "ping", Measures: []string{"response"}, Markers: true, Nonce: "7", T0: "navigation", Begin: "gesture",
		Still:   time.Second,
		FPS:     fps.Options{Cadence: 30},
		Tearing: tearing.Options{Disjoint: true},
		Response: response.Options{Kinds: []string{"sent"}, Region: frame.Region{X: 1, Width: 20, Height: 30},
			Colour: &response.Colour{R: 1, G: 2, B: 255}, Limit: 3 * time.Second},
	}
	m := measuredBy(first)
	if err := m.check(); err != nil {
		t.Fatal(err)
	}
	e := &Earlier{measured: m}
	var again runfolder.Settings
	e.AsAtFirst(&again)
	want := first
	want.Name, want.Measures, want.Markers, want.Nonce = "", nil, false, ""
	if !reflect.DeepEqual(again, want) || !m.sameAs(again) || !m.sameAs(first) {
		t.Errorf("%+v, want %+v", again, want)
	}
	for name, change := range map[string]func(*runfolder.Settings){
		"ping":      func(s *runfolder.Settings) { s.Response.Kinds = []string{"ping"} },
		"answer":    func(s *runfolder.Settings) { s.Response.Region.Width = 5; s.Response.Region.Height = 5 },
		"answer is": func(s *runfolder.Settings) { s.Response.Colour = &response.Colour{} },
		"limit":     func(s *runfolder.Settings) { s.Response.Limit = time.Second },
		"delay":     func(s *runfolder.Settings) { s.OwnDelay = true },
		"scan-out":  func(s *runfolder.Settings) { s.OwnScanOut, s.Response.ScanOut = true, 5 },
		"t0":        func(s *runfolder.Settings) { s.T0 = "start" },
		"begin":     func(s *runfolder.Settings) { s.Begin = "other" },
		"still":     func(s *runfolder.Settings) { s.Still = 5 },
		"event":     func(s *runfolder.Settings) { s.EndEvent = "content-end" },
		"time":      func(s *runfolder.Settings) { s.Limit = 5 },
		"to red":    func(s *runfolder.Settings) { s.Markers = true },
		"frames":    func(s *runfolder.Settings) { s.To = 5 },
		"cadence":   func(s *runfolder.Settings) { s.FPS.Cadence = 60 },
		"images":    func(s *runfolder.Settings) { s.Tearing.Images = []int{1} },
		"checker":   func(s *runfolder.Settings) { s.Checkerboard.Colours = []uint32{1} },
		"cell":      func(s *runfolder.Settings) { s.Checkerboard.Cell = 8 },
		"variants":  func(s *runfolder.Settings) { s.Variants = []string{"pixel"} },
		"strip":     func(s *runfolder.Settings) { s.KeepStrip = true },
		"region":    func(s *runfolder.Settings) { s.Region = &frame.Region{Width: 5, Height: 5} },
		"masks":     func(s *runfolder.Settings) { s.Masks = []frame.Region{{Width: 5, Height: 5}} },
		"tolerance": func(s *runfolder.Settings) { s.Tolerance = 1 },
		"noise":     func(s *runfolder.Settings) { s.AutoTolerance = true },
		"pixels":    func(s *runfolder.Settings) { s.MinPixels = 1 },
		"pattern":   func(s *runfolder.Settings) { s.PatternTo = 1 },
	} {
		var s runfolder.Settings
		change(&s)
		e.AsAtFirst(&s)
		if m.sameAs(s) {
			t.Errorf("%s: it is measured as at first", name)
		}
		var set runfolder.Settings
		change(&set)
		if s.Response.Kinds == nil || set.Response.Kinds != nil && s.Response.Kinds[0] != "ping" || set.T0 != "" &&
			s.T0 != set.T0 || set.FPS.Cadence != 0 && s.FPS.Cadence != 60 || set.Response.Colour != nil &&
			*s.Response.Colour != *set.Response.Colour {
			t.Errorf("%s: what was asked for is %+v", name, s)
		}
		if ends := set.Still != 0 || set.EndEvent != "" || set.Limit != 0 || set.Markers || set.To != 0; ends &&
			(s.Still != set.Still || s.EndEvent != set.EndEvent) {
			t.Errorf("%s: it ends by %v, %q", name, s.Still, s.EndEvent)
		}
	}
	var none *Measured
	if none.sameAs(runfolder.Settings{}) {
		t.Error("of a run of before it is known how it was measured")
	}
	var s runfolder.Settings
	(&Earlier{}).AsAtFirst(&s)
	if !reflect.DeepEqual(s, runfolder.Settings{}) {
		t.Errorf("of a run of before: %+v", s)
	}
}

// TestMeasuredIsBounded: what no run writes is not measured by.
func TestMeasuredIsBounded(t *testing.T) {
	for name, m := range map[string]Measured{
		"a long begin":    {Begin: strings.Repeat("e", 301)},
		"a long event":    {EndEvent: strings.Repeat("e", 301)},
		"a long T0":       {T0: strings.Repeat("e", 301)},
		"no time":         {StillNS: -1},
		"an age":          {StillNS: math.MaxInt64},
		"no limit":        {Answer: Answer{LimitNS: -1}},
		"backwards":       {Cadence: -1},
		"too fast":        {Cadence: 1e9},
		"many kinds":      {Answer: Answer{Kinds: strings.Split(strings.Repeat("a,", 64), ",")}},
		"no kind":         {Answer: Answer{Kinds: []string{""}}},
		"half a region":   {Answer: Answer{Region: []int{1, 2}}},
		"an empty region": {Answer: Answer{Region: []int{1, 2, 0, 4}}},
		"a far region":    {Answer: Answer{Region: []int{1, 2, math.MaxInt, 4}}},
		"left of all":     {Answer: Answer{Region: []int{-1, 2, 3, 4}}},
		"a word":          {Answer: Answer{Colour: "#red"}},
		"a long colour":   {Answer: Answer{Colour: "#ff00ff00"}},
	} {
		if m.check() == nil {
			t.Errorf("%s: it is taken", name)
		}
		e := &Earlier{}
		if e.ofRecord(&Record{Measured: &m}); e.measured != nil || len(e.notes) != 1 {
			t.Errorf("%s: %+v, notes %q", name, e.measured, e.notes)
		}
	}
}
