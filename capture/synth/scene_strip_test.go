package synth

import (
	"fmt"
	"slices"
	"testing"
)

// TestStripTellsItsFaults counts faults in what each frame of a cycle shows, and holds the lists
// against that.
func TestStripTellsItsFaults(t *testing.T) {
	kinds := map[string]int{}
	for seed := range 60 {
		s := open(t, "strip", fmt.Sprintf("size=200x42&seed=%d&markers=1", seed))
		truth := s.Truth()
		if truth.Strip == nil {
			t.Fatal("no strip is drawn")
		}
		whole, part := map[uint32]bool{}, map[uint32]bool{}
		var repeated, backward []uint64
		var last, newest uint32
		for n := truth.Content.First; n < truth.Content.First+truth.Cycle.Frames; n++ {
			f, ok := truth.StripAt(n)
			if !ok || len(f.Rows) != len(f.IDs)-1 || !slices.IsSorted(f.Rows) {
				t.Fatalf("frame %d shows %+v", n, f)
			}
			now := (f.IDs[0] - truth.Strip.First) % stripIDs // counted from the first, no id wraps
			if n == truth.Content.First && now != 0 {
				t.Fatalf("the first frame shows id %d, not %d", f.IDs[0], truth.Strip.First)
			}
			if len(f.IDs) == 1 {
				whole[now] = true
			}
			for _, id := range f.IDs {
				part[(id-truth.Strip.First)%stripIDs] = true
			}
			if n > truth.Content.First && len(f.IDs) == 1 && now == last {
				repeated = append(repeated, n)
			}
			if n > truth.Content.First && now < last {
				backward = append(backward, n)
			}
			last, newest = now, max(newest, now)
		}
		var unseen, runts []uint32
		for id := range truth.Strip.Drawn {
			switch at := (truth.Strip.First + id) % stripIDs; {
			case !part[id]:
				unseen = append(unseen, at)
			case !whole[id]:
				runts = append(runts, at)
			}
		}
		if newest != truth.Strip.Drawn-1 || !slices.Equal(unseen, truth.Strip.Unseen) ||
			!slices.Equal(runts, truth.Strip.Runts) ||
			!slices.Equal(repeated, truth.Strip.Repeated) || !slices.Equal(backward, truth.Strip.OutOfOrder) {
			t.Fatalf("seed %d: to id %d, unseen %v, runts %v, repeated %v, out of order %v; the truth says %+v", seed,
				newest, unseen, runts, repeated, backward, truth.Strip)
		}
		for name, n := range map[string]int{"unseen": len(unseen), "runts": len(runts), "repeated": len(repeated),
			"out of order": len(backward)} {
			kinds[name] += n
		}
		again, _ := truth.StripAt(truth.Content.First + truth.Cycle.Frames)
		if (again.IDs[0]-truth.Strip.First)%stripIDs != truth.Strip.Drawn {
			t.Errorf("seed %d: the second cycle begins with id %d", seed, again.IDs[0])
		}
	}
	for name, n := range kinds {
		if n < 60 {
			t.Errorf("%s: %d times in 60 seeds", name, n)
		}
	}
}

// TestStripFits: where no strip fits, the truth has none.
func TestStripFits(t *testing.T) {
	for query, want := range map[string]bool{
		"size=1920x1080": true, "size=1280x720&format=NV12": true, "size=192x34": true, "size=200x42&format=NV12": true,
		"size=191x42": false, "size=200x20": false, "size=300x180&format=NV12": false, "size=300x180": true,
		"size=200x40&format=YU12": false,
	} {
		s := open(t, "strip", query)
		truth := s.Truth()
		if got := truth.Strip != nil; got != want {
			t.Errorf("%s: a strip is told %v, want %v", query, got, want)
		}
		if _, ok := truth.StripAt(5); ok != want {
			t.Errorf("%s: frame 5 shows a strip: %v", query, ok)
		}
	}
}
