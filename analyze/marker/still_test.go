package marker

import (
	"context"
	"errors"
	"image"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// timed is a reel at 100 frames a second, whose stamps are known to a millisecond.
type timed struct{ *reel }

func (r timed) Changes(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for step, err := range r.reel.Changes(from, to) {
			if err == nil {
				at := timeline.Time(step.Meta.Sequence) * 10e6
				step.Meta.Sampled = timeline.Interval{Earliest: at, Latest: at + 1e6}
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

// blinks is a reel in which one pixel blinks at some frames, and one in a corner at others.
func blinks(t *testing.T, seq []uint64, pixel, corner map[uint64]bool) timed {
	t.Helper()
	f := analyzetest.Must(frame.NewFormat(frame.BGR4, 40, 30))(t)
	l := analyzetest.Must(frame.NewLayout(f))(t)
	return timed{&reel{layout: l, size: l.Size, seq: seq, render: func(n int, pix []byte) {
		clear(pix)
		for i := range n + 1 {
			if pixel[uint64(i)] {
				pix[l.Rows[20].Offset+80]++
			}
			if corner[uint64(i)] {
				pix[0]++
			}
		}
	}}}
}

func TestFindStill(t *testing.T) {
	upTo := func(n int, lost ...uint64) (seq []uint64) {
		for s := range uint64(n) {
			missing := false
			for _, l := range lost {
				missing = missing || s == l
			}
			if !missing {
				seq = append(seq, s)
			}
		}
		return seq
	}
	at := func(n ...uint64) map[uint64]bool {
		m := map[uint64]bool{}
		for _, i := range n {
			m[i] = true
		}
		return m
	}
	const period = 10e12 // femtoseconds
	for _, tc := range []struct {
		name          string
		seq           []uint64
		from          int
		pixel, corner map[uint64]bool
		o             StillOptions
		want          Still
		err           string
	}{
		{"nothing ever changes", upTo(50), 3, nil, nil, StillOptions{For: 100 * time.Millisecond, FemtoPeriod: period},
			Still{End: 3, Seen: 13, For: 100 * time.Millisecond}, ""},
		{"after the last change", upTo(50), 0, at(2, 7, 8), nil,
			StillOptions{For: 100 * time.Millisecond, FemtoPeriod: period},
			Still{End: 8, Seen: 18, For: 100 * time.Millisecond}, ""},
		{"in the first pause that is long enough", upTo(50), 0, at(2, 11, 25), nil,
			StillOptions{For: 95 * time.Millisecond, FemtoPeriod: period},
			Still{End: 11, Seen: 21, For: 100 * time.Millisecond}, ""},
		{"a pause that is a frame too short", upTo(50), 0, at(10, 20), nil,
			StillOptions{For: 100 * time.Millisecond, FemtoPeriod: period},
			Still{End: 20, Seen: 30, For: 100 * time.Millisecond}, ""},
		{"lost frames were not seen", upTo(50, 12, 13, 14), 0, at(10), nil,
			StillOptions{For: 100 * time.Millisecond, FemtoPeriod: period},
			Still{End: 10, Seen: 20, For: 100 * time.Millisecond, Lost: 3}, ""},
		{"a change in a lost frame shows after it", upTo(50, 12, 13), 0, at(10, 13), nil,
			StillOptions{For: 100 * time.Millisecond, FemtoPeriod: period},
			Still{End: 12, Seen: 22, For: 100 * time.Millisecond}, ""},
		{"without a period", upTo(50), 0, at(8), nil, StillOptions{For: 100 * time.Millisecond},
			Still{End: 8, Seen: 19, For: 109 * time.Millisecond}, ""},
		{"without a period, frames lost", upTo(50, 12, 13), 0, at(8), nil, StillOptions{For: 100 * time.Millisecond},
			Still{End: 8, Seen: 20, For: 108 * time.Millisecond, Lost: 2}, ""},
		{"a caret elsewhere", upTo(50), 0, at(8), at(9, 14, 20, 30, 40),
			StillOptions{For: 100 * time.Millisecond, FemtoPeriod: period, Region: image.Rect(0, 10, 40, 30)},
			Still{End: 8, Seen: 18, For: 100 * time.Millisecond}, ""},
		{"a mask", upTo(50), 0, at(8), at(9, 14, 20, 30, 40),
			StillOptions{For: 100 * time.Millisecond, FemtoPeriod: period,
				Ignore: []image.Rectangle{image.Rect(0, 0, 2, 2)}},
			Still{End: 8, Seen: 18, For: 100 * time.Millisecond}, ""},
		{"never", upTo(50), 0, at(8, 16, 24, 32, 40, 48), nil,
			StillOptions{For: 100 * time.Millisecond, FemtoPeriod: period}, Still{},
			"the longest stillness is 70ms from frame 0 on"},
		{"no time", upTo(5), 0, nil, nil, StillOptions{}, Still{}, "still for some time"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := blinks(t, tc.seq, tc.pixel, tc.corner)
			got, err := FindStill(t.Context(), r, tc.from, len(tc.seq), tc.o)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || tc.o.For > 0 &&
					!errors.Is(err, errNeverStill) {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
			if r.images > 0 {
				t.Errorf("%d images were asked for", r.images)
			}
		})
	}
}

// TestFindStillCaret: a caret that blinks does not end a stillness. Other narrow changes do.
func TestFindStillCaret(t *testing.T) {
	type change struct {
		at     int
		x, w   int
		height int
	}
	caret := func(at ...int) (all []change) {
		for _, n := range at {
			all = append(all, change{n, 20, 1, 8})
		}
		return all
	}
	page := change{8, 0, 40, 4}
	every := func(n int, of func(i int) change) (all []change) {
		for i := n; i < 200; i += n {
			c := of(i / n)
			c.at = i
			all = append(all, c)
		}
		return all
	}
	for _, tc := range []struct {
		name    string
		changes []change
		lost    int
		want    Still // For: 0 if it is never still
	}{
		{"blinks", append(caret(33, 58, 83, 108, 133), page), 0, Still{End: 8, Seen: 68, For: 600 * time.Millisecond}},
		{"blinks when it is long enough", append(caret(38, 68, 98), page), 0,
			Still{End: 8, Seen: 68, For: 600 * time.Millisecond}},
		{"blinks while a frame is lost", append(caret(33, 58, 83, 108, 133), page), 45,
			Still{End: 8, Seen: 69, For: 600 * time.Millisecond, Lost: 1}},
		{"comes and stays", append(caret(33), page), 0, Still{End: 33, Seen: 93, For: 600 * time.Millisecond}},
		{"blinks before a change, too", append(caret(33, 58, 90, 115, 140), page, change{65, 0, 40, 4}), 0,
			Still{End: 65, Seen: 125, For: 600 * time.Millisecond}},
		{"blinks too quickly", every(15, func(int) change { return change{x: 20, w: 1, height: 8} }), 0, Still{}},
		{"is wide", every(30, func(int) change { return change{x: 20, w: 8, height: 20} }), 0, Still{}},
		{"is wide for its height", every(30, func(int) change { return change{x: 20, w: 3, height: 8} }), 0, Still{}},
		{"moves", every(30, func(i int) change { return change{x: 20 + i, w: 1, height: 8} }), 0, Still{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := blinks(t, nil, nil, nil)
			for n := range uint64(200) {
				if n == 0 || n != uint64(tc.lost) {
					r.seq = append(r.seq, n)
				}
			}
			r.render = func(n int, pix []byte) {
				clear(pix)
				for _, c := range tc.changes {
					if c.at > int(r.seq[n]) {
						continue
					}
					for y := range c.height {
						row := pix[r.layout.Rows[y].Offset:]
						for x := c.x; x < c.x+c.w; x++ {
							row[4*x] ^= 1
						}
					}
				}
			}
			got, err := FindStill(t.Context(), r, 0, len(r.seq),
				StillOptions{For: 600 * time.Millisecond, FemtoPeriod: 10e12})
			if tc.lost > 0 {
				got.Seen++ // a number within the recording
			}
			if got != tc.want || errors.Is(err, errNeverStill) != (tc.want.For == 0) {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

// stopping calls stop before it yields the frame of a number.
type stopping struct {
	timed
	at   int
	stop func()
	read int // the last frame that was yielded
}

func (s *stopping) Changes(from, to int) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for step, err := range s.timed.Changes(from, to) {
			if s.read = step.Number; s.read == s.at {
				s.stop()
			}
			if !yield(step, err) {
				return
			}
		}
	}
}

func TestFindStillStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	seq := make([]uint64, 50)
	for i := range seq {
		seq[i] = uint64(i)
	}
	s := &stopping{timed: blinks(t, seq, nil, nil), at: 4, stop: cancel}
	if _, err := FindStill(ctx, s, 0, len(seq), StillOptions{For: time.Hour}); !errors.Is(err, context.Canceled) ||
		s.read != s.at {
		t.Errorf("frame %d was the last, want %d; error %v", s.read, s.at, err)
	}
}

func TestPeriods(t *testing.T) {
	for _, tc := range []struct {
		n    uint64
		p    int64
		want time.Duration
	}{
		{0, 1e12, 0}, {1, 999_999, 0}, {1, 1_000_000, 1}, {60, 16_683_333_333_333, 1_000_999_999},
		{math.MaxUint64, 1e18, math.MaxInt64}, {1 << 40, 1e13, math.MaxInt64}, {1 << 30, 1 << 30, 1 << 60 / 1_000_000},
	} {
		if got := periods(tc.n, tc.p); got != tc.want {
			t.Errorf("%d periods of %d fs: %d, want %d", tc.n, tc.p, got, tc.want)
		}
	}
}
