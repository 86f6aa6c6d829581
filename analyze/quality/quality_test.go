package quality_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestQualityKnowsDamage: that pixels are destroyed is found by measuring, and told of the
// recording.
func TestQualityKnowsDamage(t *testing.T) {
	m := filmtest.Damage(filmtest.Glimmer(t, rand.New(rand.NewPCG(1, 1)), frame.BGR4, 60, time.Second/10),
		map[int]bool{21: true, 40: true}, 4)
	found := analyzetest.Must(analyze.Analyze(t.Context(), m, measure.FramesWindow(m, 0, 60), analyze.Options{}))(t)
	bad := found.Unreadable()
	if want := []int{21, 22, 23, 40, 41, 42, 43}; !slices.Equal(bad, want) {
		t.Errorf("%v cannot be read, want %v", bad, want)
	}
	before := quality.Of(m, false)
	filmtest.WantValue(t, before, "unreadable_frames", 0)
	produced, _ := before.Find("produced_frames")
	after := quality.Of(m, false, append(bad, bad...)...)
	filmtest.WantValue(t, after, "unreadable_frames", 7)
	filmtest.WantValue(t, after, "stored_frames", 53)
	filmtest.WantValue(t, after, "produced_frames", produced.Value)
	if v, _ := after.Find("unreadable_frames"); !slices.Equal(v.Frames, bad) {
		t.Errorf("it names %v", v.Frames)
	}
	if !slices.Contains(after.Warnings, "7 frames were destroyed in the file") {
		t.Errorf("it says %q", after.Warnings)
	}
}

// TestQualityByHand: ten frames at 10 a second. One is 60 ms late, one is stamped within 8 ms, and
// one is flagged. Two are lost before the seventh. The best beat is behind the other frames by the
// mean lateness, (60 + 4)/10 ms.
func TestQualityByHand(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 16, 8)
	m := filmtest.New(t, f)
	m.Period = 100 * time.Millisecond
	pix := make([]byte, m.Layout.Size)
	for n := range 10 {
		lost := 0
		if n == 6 {
			lost = 2
		}
		m.Shoot(pix, lost)
	}
	m.Metas[3].Sampled = timeline.At(m.Metas[3].Sampled.Mid().Add(60 * time.Millisecond))
	m.Metas[5].Sampled.Latest = m.Metas[5].Sampled.Latest.Add(8 * time.Millisecond)
	m.Metas[8].Flags |= frame.FlagError
	m.Log = []timeline.Event{
		{Source: timeline.WriteStallSource, Kind: timeline.WriteStallKind, Data: []byte(`{"waited_ns":250000000}`)},
		{Source: timeline.WriteStallSource, Kind: timeline.WriteStallKind, Data: []byte(`{"waited_ns":120000000}`)},
		{Source: timeline.WriteStallSource, Kind: timeline.WriteStallKind, Data: []byte(`"what"`)},
		{Source: "page", Kind: timeline.WriteStallKind, Data: []byte(`{"waited_ns":9}`)},
	}
	r := quality.Of(m, false)
	for name, want := range map[string]float64{
		"produced_frames": 12, "stored_frames": 10, "lost_frames": 2, "flagged_frames": 1, "unreadable_frames": 0,
		"stalls": 1, "segments": 1,
		"sampling_max": 8, "jitter_max": 53.6, "jitter_p50": 6.4, "jitter_p99": 53.6, "write_stalls": 3,
		"write_stall_max": 250,
	} {
		filmtest.WantValue(t, r, name, want)
	}
	for name, want := range map[string][]int{"flagged_frames": {8}, "stalls": {3}} {
		if v, _ := r.Find(name); !slices.Equal(v.Frames, want) {
			t.Errorf("%s names %v, want %v", name, v.Frames, want)
		}
	}
	if len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0], "2 of 12 frames were lost: 2 ring full") {
		t.Errorf("it says %q", r.Warnings)
	}
	own := quality.Of(m, true)
	if _, ok := own.Find("jitter_max"); ok {
		t.Error("frames with times of their own are said to jitter")
	}
}
