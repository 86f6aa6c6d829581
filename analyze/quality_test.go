package analyze

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// TestQualityKnowsDamage: that pixels are destroyed is found by measuring, and told of the recording.
func TestQualityKnowsDamage(t *testing.T) {
	m := &ruin{glimmer(t, rand.New(rand.NewPCG(1, 1)), frame.BGR4, 60, time.Second/10), map[int]bool{21: true, 40: true}, 4}
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
