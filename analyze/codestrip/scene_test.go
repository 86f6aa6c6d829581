package codestrip_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/codestrip"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/internal/filmtest"
	"github.com/eideticker/eideticker/analyze/measure"
)

// TestStripScene measures the scene whose faults are scripted: exactly what it tells where nothing
// is lost, and around that where captured frames are.
func TestStripScene(t *testing.T) {
	wide := 0
	for seed := range analyzetest.Seeds(uint64(200)) {
		rng := rand.New(rand.NewPCG(seed, 6))
		cycles := 1 + seed%2
		query := fmt.Sprintf("size=200x42&seed=%d&frames=%d&format=%s", seed, 96*cycles,
			[]string{"BGR4", "NV12", "YUYV"}[seed%3])
		var lost func(uint64) bool
		if seed%4 == 3 {
			lost = func(n uint64) bool { return n > 0 && n < 96*cycles-1 && rng.IntN(25) == 0 }
		}
		m, truth := filmtest.Scene(t, "strip", query, lost)
		w := measure.FramesWindow(m, 0, len(m.Metas))
		r := filmtest.One(t, m, w, analyze.Options{MinShare: []int{0, 1, 7}[rng.IntN(3)]}, "strip")
		story, times := truth.Strip, float64(cycles)
		want := map[string]float64{
			"drawn":        times * float64(story.Drawn),
			"unseen":       times * float64(len(story.Unseen)),
			"distinct_ids": times * float64(int(story.Drawn)-len(story.Unseen)),
			"repeated":     times * float64(len(story.Repeated)),
			"out_of_order": times * float64(len(story.OutOfOrder)),
			"runts":        times * float64(len(story.Runts)),
			"unreadable":   0,
		}
		for name, x := range want {
			v, ok := r.Find(name)
			switch {
			case !ok:
				t.Fatalf("seed %d: there is no %s", seed, name)
			case lost == nil && (v.Value != x || v.State != measure.Exact):
				t.Fatalf("seed %d: %s is %+v, the scene has %v", seed, name, v, x)
			case x < v.Low || x > v.High:
				t.Fatalf("seed %d: %s is %+v with frames lost, the scene has %v", seed, name, v, x)
			}
			if v.State == measure.Bounded {
				wide++
			}
		}
		if v, ok := r.Find("clock_rate"); !ok || v.Value < 0.9 || v.Value > 1.1 {
			t.Errorf("seed %d: the clock's rate is %+v", seed, v)
		}
		var d codestrip.Detail
		if err := json.Unmarshal(r.Detail, &d); err != nil || d.Page != int(story.Page) || d.Foreign != 0 {
			t.Errorf("seed %d: %+v, %v", seed, d, err)
		}
		if f := filmtest.One(t, m, w, analyze.Options{}, "fps"); lost == nil {
			filmtest.WantValue(t, f, "dropped_frames", want["unseen"])
			filmtest.WantValue(t, f, "drawn_frames", want["drawn"])
		}
	}
	if wide == 0 {
		t.Error("no bounds were tried")
	}
}
