package certify

import (
	"fmt"
	"testing"
)

// truth has the true counts of the judged frames.
type truth struct{ duplicates, dropped int }

// truth counts frames between those of the first and of the last picture.
func (s *simulation) truth() (t truth) {
	first, last := -1, -1
	for i, d := range s.shown {
		if first < 0 && d.shows > 0 {
			first = i
		}
		if d.shows < s.Frames-1 {
			last = i
		}
	}
	seen := map[int]bool{}
	for i := first; i <= last; i++ {
		d := s.shown[i]
		seen[d.shows] = true
		if i > first && d.shows == s.shown[i-1].shows && d.there != d.shows {
			t.duplicates++
		}
	}
	missed := map[int]bool{}
	for i := first; i <= last; i++ {
		if p := s.shown[i].there; !seen[p] && p > s.shown[first].shows && p < s.shown[last].shows {
			missed[p] = true
		}
	}
	t.dropped = len(missed)
	return t
}

// TestRepeatsAreCounted makes every second to fifth frame repeat the previous one, like paths of a
// lower rate that are padded. With as many copies as frames, the first of the two decides which one
// is late. With exact times, the counts are exact. Otherwise the true value is within narrow
// bounds. The delay is always the same.
func TestRepeatsAreCounted(t *testing.T) {
	for _, free := range []bool{false, true} {
		for freeze := 2; freeze <= 5; freeze++ {
			t.Run(fmt.Sprintf("every %d, free %v", freeze, free), func(t *testing.T) {
				t.Parallel()
				s := simulation{Width: 640, Height: 360, Frames: 180, Freeze: freeze, Free: free}
				r := record(t, &s)
				want, got := s.truth(), r.Time
				high := got.Duplicates + got.OpenDuplicates
				if got.Duplicates > want.duplicates || high < want.duplicates {
					t.Errorf("%d to %d duplicates, want %d within", got.Duplicates, high, want.duplicates)
				}
				if kind := r.property(t, propertyDuplicates).Kind; (kind == exactFinding) != (got.OpenDuplicates == 0) {
					t.Errorf("%d are open, and the count is called %s", got.OpenDuplicates, kind)
				}
				if got.Dropped > want.dropped || got.Dropped+got.Unsampled < want.dropped {
					t.Errorf("%d to %d dropped, want %d within", got.Dropped, got.Dropped+got.Unsampled, want.dropped)
				}
				if open := max(got.OpenDuplicates, got.Unsampled); !free && open > 0 || open > s.Frames/freeze/4 {
					t.Errorf("%d duplicates and %d drops are left open", got.OpenDuplicates, got.Unsampled)
				}
				if f := r.property(t, propertyDelay); f.Verdict != Pass {
					t.Errorf("delay: %s", f.Came)
				}
				t.Logf("%+v %+v %+v", want, got, r.Delay)
			})
		}
	}
}
