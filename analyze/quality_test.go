package analyze

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// TestQualityKnowsDamage: that pixels are destroyed is found by measuring, and told of the
// recording.
func TestQualityKnowsDamage(t *testing.T) {
	m := &ruin{glimmer(t, rand.New(rand.NewPCG(1, 1)), frame.BGR4, 60, time.Second/10),
		map[int]bool{21: true, 40: true}, 4}
	found, err := Analyze(t.Context(), m, FramesWindow(m, 0, 60), Options{})
	if err != nil {
		t.Fatal(err)
	}
	bad := found.Unreadable()
	if want := []int{21, 22, 23, 40, 41, 42, 43}; !slices.Equal(bad, want) {
		t.Errorf("%v cannot be read, want %v", bad, want)
	}
	before := Quality(m, false)
	wantValue(t, before, "unreadable_frames", 0)
	produced, _ := before.Find("produced_frames")
	after := Quality(m, false, append(bad, bad...)...)
	wantValue(t, after, "unreadable_frames", 7)
	wantValue(t, after, "stored_frames", 53)
	wantValue(t, after, "produced_frames", produced.Value)
	if v, _ := after.Find("unreadable_frames"); !slices.Equal(v.Frames, bad) {
		t.Errorf("it names %v", v.Frames)
	}
	if !slices.Contains(after.Warnings, "7 frames were destroyed in the file") {
		t.Errorf("it says %q", after.Warnings)
	}
}

// TestQualityByHand: ten frames at 10 a second. One is 60 ms late, one is stamped within 8 ms, one
// is flagged, and two are lost before the seventh. The best beat is behind the other frames by the
// mean lateness, (60 + 4)/10 ms.
func TestQualityByHand(t *testing.T) {
	f, _ := frame.NewFormat(frame.BGR4, 16, 8)
	m := newFilm(t, f)
	m.period = 100 * time.Millisecond
	pix := make([]byte, m.layout.Size)
	for n := range 10 {
		lost := 0
		if n == 6 {
			lost = 2
		}
		m.shoot(pix, lost)
	}
	m.metas[3].Sampled = timeline.At(m.metas[3].Sampled.Mid().Add(60 * time.Millisecond))
	m.metas[5].Sampled.Latest = m.metas[5].Sampled.Latest.Add(8 * time.Millisecond)
	m.metas[8].Flags |= frame.FlagError
	m.events = []timeline.Event{
		{Source: timeline.WriteStallSource, Kind: timeline.WriteStallKind, Data: []byte(`{"waited_ns":250000000}`)},
		{Source: timeline.WriteStallSource, Kind: timeline.WriteStallKind, Data: []byte(`{"waited_ns":120000000}`)},
		{Source: timeline.WriteStallSource, Kind: timeline.WriteStallKind, Data: []byte(`"what"`)},
		{Source: "page", Kind: timeline.WriteStallKind, Data: []byte(`{"waited_ns":9}`)},
	}
	r := Quality(m, false)
	for name, want := range map[string]float64{
		"produced_frames": 12, "stored_frames": 10, "lost_frames": 2, "flagged_frames": 1, "unreadable_frames": 0,
		"stalls": 1, "segments": 1,
		"sampling_max": 8, "jitter_max": 53.6, "jitter_p50": 6.4, "jitter_p99": 53.6, "write_stalls": 3,
		"write_stall_max": 250,
	} {
		wantValue(t, r, name, want)
	}
	for name, want := range map[string][]int{"flagged_frames": {8}, "stalls": {3}} {
		if v, _ := r.Find(name); !slices.Equal(v.Frames, want) {
			t.Errorf("%s names %v, want %v", name, v.Frames, want)
		}
	}
	if len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0], "2 of 12 frames were lost: 2 ring full") {
		t.Errorf("it says %q", r.Warnings)
	}
	own := Quality(m, true)
	if _, ok := own.Find("jitter_max"); ok {
		t.Error("frames with times of their own are said to jitter")
	}
}
