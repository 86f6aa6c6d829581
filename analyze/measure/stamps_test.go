package measure

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/eideticker/eideticker/capture/timeline"
)

// TestStamps adds numbers and times as signals have them, and those that only damaged files and
// long waits bring.
func TestStamps(t *testing.T) {
	wide := 0
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 31))
		var s stamps
		var want []stamp
		sequence, at := rng.Uint64(), timeline.Time(rng.Int64N(1<<60))
		for range 1 + rng.IntN(200) {
			now := stamp{sequence, timeline.Interval{Earliest: at, Latest: at + timeline.Time(rng.Int64N(20_000_000))}}
			switch seed % 8 {
			case 5:
				now.sampled.Latest += timeline.Time(rng.Int64N(math.MaxUint32))
			case 6:
				sequence += uint64(rng.Uint32())
			case 7:
				now.sampled.Latest = now.sampled.Earliest - timeline.Time(rng.IntN(2))
			}
			s.add(now.sequence, now.sampled)
			want = append(want, now)
			sequence, at = sequence+1+uint64(rng.IntN(2)), at+16_666_667
		}
		if s.wide != nil {
			wide++
		}
		for i := range want {
			if s.at(i) != want[i] {
				t.Fatalf("seed %d: stamp %d is %+v, want %+v", seed, i, s.at(i), want[i])
			}
		}
		if s.len() != len(want) {
			t.Errorf("seed %d: %d stamps, want %d", seed, s.len(), len(want))
		}
	}
	if wide == 0 || wide > 25 {
		t.Errorf("%d of 50 were wide", wide)
	}
}
