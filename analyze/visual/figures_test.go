package visual

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/timeline"
)

const ms = timeline.Time(time.Millisecond)

func at(t timeline.Time) Moment { return Middle(timeline.At(t * ms)) }

func within(a, b timeline.Time) Moment {
	return Middle(timeline.Interval{Earliest: a * ms, Latest: b * ms})
}

func exactly(d time.Duration, point int) Elapsed {
	d *= time.Millisecond
	return Elapsed{d, d, d, point, true}
}

func TestFigures(t *testing.T) {
	never := Elapsed{}
	for _, tc := range []struct {
		name   string
		start  Start
		points []Point
		end    Moment
		want   Figures
	}{
		{
			// 100·1 + 100·0.5 + 200·0.1 = 170
			"exact times, a step up at a time", Start{T0: at(1000)},
			[]Point{{at(990), 0}, {at(1100), 0.5}, {at(1200), 0.9}, {at(1400), 1}}, at(9000),
			Figures{
				exactly(100, 1), exactly(400, 3),
				[4]Elapsed{exactly(200, 2), exactly(400, 3), exactly(400, 3), exactly(400, 3)},
				[4]Elapsed{exactly(200, 2), exactly(400, 3), exactly(400, 3), exactly(400, 3)},
				Index{170, 170, 170},
			},
		},
		{
			// 0.86 at 100 is crossed there, but 0.3 at 200 falls below, so 85 % is complete at 300;
			// 95 % at 500, as 0.9 at 400 falls below it too. 100·0.8 + 100·0.14 + 100·0.7 + 100·0 +
			// 100·0.1 = 174
			"a progress that goes back", Start{T0: at(0)},
			[]Point{{at(0), 0.2}, {at(100), 0.86}, {at(200), 0.3}, {at(300), 1}, {at(400), 0.9}, {at(500), 1}}, at(500),
			Figures{
				exactly(100, 1), exactly(500, 5),
				[4]Elapsed{exactly(300, 3), exactly(500, 5), exactly(500, 5), exactly(500, 5)},
				[4]Elapsed{exactly(100, 1), exactly(300, 3), exactly(300, 3), exactly(300, 3)},
				Index{174, 174, 174},
			},
		},
		{
			// Factors: T0 −(1 − 0) = −1, first point +0.5, second +0.5. value 0.5·110 + 0.5·210 − 5
			// = 155; low 0.5·100 + 0.5·200 − 10 = 140; high 0.5·120 + 0.5·220 − 0 = 170
			"every time is an interval", Start{T0: within(0, 10)},
			[]Point{{at(0), 0}, {within(100, 120), 0.5}, {within(200, 220), 1}}, at(900),
			Figures{
				Elapsed{105 * time.Millisecond, 90 * time.Millisecond, 120 * time.Millisecond, 1, true},
				Elapsed{205 * time.Millisecond, 190 * time.Millisecond, 220 * time.Millisecond, 2, true},
				[4]Elapsed{
					{205 * time.Millisecond, 190 * time.Millisecond, 220 * time.Millisecond, 2, true},
					{205 * time.Millisecond, 190 * time.Millisecond, 220 * time.Millisecond, 2, true},
					{205 * time.Millisecond, 190 * time.Millisecond, 220 * time.Millisecond, 2, true},
					{205 * time.Millisecond, 190 * time.Millisecond, 220 * time.Millisecond, 2, true},
				},
				[4]Elapsed{
					{205 * time.Millisecond, 190 * time.Millisecond, 220 * time.Millisecond, 2, true},
					{205 * time.Millisecond, 190 * time.Millisecond, 220 * time.Millisecond, 2, true},
					{205 * time.Millisecond, 190 * time.Millisecond, 220 * time.Millisecond, 2, true},
					{205 * time.Millisecond, 190 * time.Millisecond, 220 * time.Millisecond, 2, true},
				},
				Index{155, 140, 170},
			},
		},
		{
			// From its own time the first change is 0, exactly; the second point is 100 ± 20 from
			// it. The progress before plays no part: value 100·(1 − 0.5) = 50; factors −0.5 and
			// +0.5: low 0.5·(90 − 10) = 40, high 0.5·(110 + 10) = 60
			"counted from the first change", Start{FirstChange: true},
			[]Point{{at(0), 0}, {within(490, 510), 0.5}, {within(590, 610), 1}}, at(900),
			Figures{
				exactly(0, 1), Elapsed{100 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 2, true},
				[4]Elapsed{
					{100 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 2, true},
					{100 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 2, true},
					{100 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 2, true},
					{100 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 2, true},
				},
				[4]Elapsed{
					{100 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 2, true},
					{100 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 2, true},
					{100 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 2, true},
					{100 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 2, true},
				},
				Index{50, 40, 60},
			},
		},
		{
			// A similarity below 0 counts as it is: 100·1.5 + 100·0.25 = 175; never complete; the
			// end matters: 50·0.25
			"never complete, and negative at first", Start{T0: at(0)},
			[]Point{{at(0), -0.5}, {at(100), 0.75}, {at(200), 0.75}}, within(240, 260),
			Figures{
				exactly(100, 1), exactly(200, 2),
				[4]Elapsed{never, never, never, never}, [4]Elapsed{never, never, never, never},
				Index{187.5, 185, 190},
			},
		},
		{
			"nothing changes: complete from the start", Start{T0: at(7)},
			[]Point{{at(0), 1}}, at(900),
			Figures{
				never, never,
				[4]Elapsed{{Some: true}, {Some: true}, {Some: true}, {Some: true}},
				[4]Elapsed{{Some: true}, {Some: true}, {Some: true}, {Some: true}},
				Index{},
			},
		},
		{
			"17/20 is 85 %", Start{T0: at(0)},
			[]Point{{at(0), 0}, {at(10), 17.0 / 20}, {at(20), 19.0 / 20}, {at(30), 99.0 / 100}, {at(40), 1}}, at(40),
			Figures{
				exactly(10, 1), exactly(40, 4),
				[4]Elapsed{exactly(10, 1), exactly(20, 2), exactly(30, 3), exactly(40, 4)},
				[4]Elapsed{exactly(10, 1), exactly(20, 2), exactly(30, 3), exactly(40, 4)},
				Index{12.1, 12.1, 12.1}, // 10·(1 + 0.15 + 0.05 + 0.01)
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := analyzetest.Must(NewFigures(tc.start, tc.points, tc.end))(t)
			for _, d := range [...]float64{
				got.SpeedIndex.Value - tc.want.SpeedIndex.Value, got.SpeedIndex.Low - tc.want.SpeedIndex.Low,
				got.SpeedIndex.High - tc.want.SpeedIndex.High,
			} {
				if math.Abs(d) > 1e-9 {
					t.Errorf("Speed Index is %v, want %v", got.SpeedIndex, tc.want.SpeedIndex)
				}
			}
			got.SpeedIndex = tc.want.SpeedIndex
			if got != tc.want {
				t.Errorf("is  %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

func TestFiguresRefuse(t *testing.T) {
	for _, tc := range []struct {
		name   string
		start  Start
		points []Point
		end    Moment
	}{
		{"no points", Start{}, nil, at(9)},
		{"counting from a change that is not there", Start{FirstChange: true}, []Point{{at(1), 1}}, at(9)},
		{"not a number", Start{}, []Point{{at(1), math.NaN()}}, at(9)},
		{"over 1", Start{}, []Point{{at(1), 1.01}}, at(9)},
		{"below -1", Start{}, []Point{{at(1), math.Inf(-1)}}, at(9)},
		{"time goes back", Start{}, []Point{{at(1), 0}, {at(3), 0}, {at(2), 1}}, at(9)},
		{"before the start", Start{T0: at(5)}, []Point{{at(1), 0}, {at(2), 1}}, at(9)},
		{"after the end", Start{}, []Point{{at(1), 0}, {at(10), 1}}, at(9)},
		{"an interval the wrong way round", Start{}, []Point{{within(3, 1), 0}}, at(9)},
		{"a time that no clock shows", Start{}, []Point{{at(1), 0}}, Middle(timeline.At(1 << 62))},
		{"an end the wrong way round", Start{}, []Point{{at(1), 0}}, within(9, 8)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := NewFigures(tc.start, tc.points, tc.end); !errors.Is(err, ErrProgress) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// TestSpeedIndexLiesWithinItsBounds draws times from the intervals, and steps along them in the
// definition's own way.
func TestSpeedIndexLiesWithinItsBounds(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 10))
		fromChange := seed%2 == 0
		start := Start{T0: within(0, timeline.Time(rng.IntN(5))), FirstChange: fromChange}
		points := []Point{{start.T0, rng.Float64()}}
		for now := timeline.Time(5); len(points) < 2+rng.IntN(10); {
			now += timeline.Time(rng.IntN(40))
			wide := timeline.Time(rng.IntN(10))
			points = append(points, Point{within(now, now+wide), rng.Float64()*1.5 - 0.5})
			now += wide
		}
		end := points[len(points)-1].At
		f := analyzetest.Must(NewFigures(start, points, end))(t)
		for draw := range 20 {
			when := func(i Moment) float64 {
				w := rng.Float64()
				switch draw {
				case 0:
					w = 0.5
				case 1, 2:
					w = float64(draw - 1)
				}
				return float64(i.Earliest)/1e6 + w*float64(i.Width())/1e6
			}
			var times []float64
			for _, p := range points {
				times = append(times, when(p.At))
			}
			first, finish := 0, times[len(times)-1]
			times[0] = when(start.T0)
			if fromChange {
				first = 1
			}
			sum := 0.0
			for i := first; i < len(points); i++ {
				next := finish
				if i+1 < len(times) {
					next = times[i+1]
				}
				sum += (next - times[i]) * (1 - points[i].P)
			}
			if sum < f.SpeedIndex.Low-1e-6 || sum > f.SpeedIndex.High+1e-6 {
				t.Fatalf("seed %d: %v lies outside of %v", seed, sum, f.SpeedIndex)
			}
			if draw == 0 && math.Abs(sum-f.SpeedIndex.Value) > 1e-5 {
				t.Fatalf("seed %d: with midpoints the index is %v, want %v", seed, f.SpeedIndex.Value, sum)
			}
		}
	}
}

func FuzzFigures(f *testing.F) {
	f.Add(int64(0), int64(10), int64(5), 0.5, 1.0, false)
	f.Add(int64(-1<<62), int64(1<<62), int64(1<<62), -1.0, 1.0, true)
	f.Fuzz(func(t *testing.T, a, b, wide int64, p, q float64, change bool) {
		points := []Point{
			{Middle(timeline.At(timeline.Time(a))), p},
			{Middle(timeline.Interval{Earliest: timeline.Time(b), Latest: timeline.Time(b + wide)}), q},
		}
		got, err := NewFigures(Start{T0: points[0].At, FirstChange: change}, points, points[1].At)
		if err == nil && (math.IsNaN(got.SpeedIndex.Value) || got.SpeedIndex.Low > got.SpeedIndex.High) {
			t.Fatalf("index is %v", got.SpeedIndex)
		}
	})
}
