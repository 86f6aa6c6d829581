package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/frame"
)

// run plays frames of these sequence numbers.
func run(l *frame.Layout, fails error, sequences ...uint64) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for n, s := range sequences {
			step := &frame.Step{Number: n, Image: flat(l, grey(n)), Meta: frame.Meta{Sequence: s}}
			if !yield(step, nil) {
				return
			}
		}
		if fails != nil {
			yield(nil, fails)
		}
	}
}

func upTo(from, to uint64) (s []uint64) {
	for ; from < to; from++ {
		s = append(s, from)
	}
	return s
}

// told writes a side of a pair map: frame numbers, "x" where missing, "(n)" where held.
func told(m pairMap, side int) string {
	var all []string
	for _, s := range m.Slots {
		switch {
		case s[side].Frame < 0:
			all = append(all, "x")
		case s[side].Held:
			all = append(all, fmt.Sprintf("(%d)", s[side].Frame))
		default:
			all = append(all, fmt.Sprint(s[side].Frame))
		}
	}
	return strings.Join(all, " ")
}

func TestPairLinesUp(t *testing.T) {
	l := layout(t, frame.BGR4, 64, 48)
	for _, tc := range []struct {
		name         string
		left, right  Side
		start, slots int
		wantL, wantR string
	}{
		{"alike",
			Side{Steps: run(l, nil, upTo(5, 9)...), Start: 1, Before: 1},
			Side{Steps: run(l, nil, upTo(90, 94)...), Start: 1, Before: 1},
			1, 4, "0 1 2 3", "0 1 2 3"},
		{"one begins and ends earlier",
			Side{Steps: run(l, nil, upTo(0, 5)...), Start: 3, Before: 3},
			Side{Steps: run(l, nil, upTo(0, 5)...), Start: 1, Before: 1},
			3, 7, "0 1 2 3 4 (4) (4)", "(0) (0) 0 1 2 3 4"},
		{"frames are missing",
			Side{Steps: run(l, nil, 10, 11, 14, 15), Start: 1, Before: 1},
			Side{Steps: run(l, nil, 0, 3, 4, 5), Start: 2, Before: 4},
			4, 9, "(0) (0) (0) 0 1 x x 2 3", "0 x x 1 2 3 (3) (3) (3)"},
		{"half the rate",
			Side{Steps: run(l, nil, upTo(0, 3)...), Start: 1, Before: 1, RateNum: 30, RateDen: 1},
			Side{Steps: run(l, nil, upTo(0, 5)...), Start: 2, Before: 2},
			2, 6, "0 0 1 1 2 2", "0 1 2 3 4 (4)"},
		{"twice the rate",
			Side{Steps: run(l, nil, upTo(0, 6)...), Start: 2, Before: 2, RateNum: 120, RateDen: 1},
			Side{Steps: run(l, nil, upTo(0, 3)...), Start: 0},
			1, 4, "0 2 4 (5)", "(0) 0 1 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.left.Layout, tc.right.Layout = l, l
			path := filepath.Join(t.TempDir(), "p.mp4")
			analyzetest.Check(t, WritePair(path, tc.left, tc.right, VideoOptions{}))
			b := analyzetest.Must(os.ReadFile(path + ".json"))(t)
			var m pairMap
			analyzetest.Check(t, json.Unmarshal(b, &m))
			if gotL, gotR := told(m, 0), told(m, 1); gotL != tc.wantL || gotR != tc.wantR || m.Start != tc.start ||
				len(m.Slots) != tc.slots {
				t.Errorf("left  %s, want %s\nright %s, want %s\nstart %d, want %d", gotL, tc.wantL, gotR, tc.wantR,
					m.Start, tc.start)
			}
			colours, size := centres(t, path)
			if len(colours) != tc.slots || size.X != m.Width || size.Y != m.Height {
				t.Errorf("%d slots of %v in the video, the map says %d of %dx%d", len(colours), size, tc.slots, m.Width,
					m.Height)
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
			if err != nil || !slices.Equal(left, []string{path, path + ".json"}) {
				t.Errorf("files %v (error %v)", left, err)
			}
		})
	}
}

func TestPairRefusals(t *testing.T) {
	l := layout(t, frame.BGR4, 64, 48)
	good := func() Side { return Side{Layout: l, Steps: run(l, nil, upTo(0, 5)...), Start: 2, Before: 2} }
	broken := errors.New("broken")
	for _, tc := range []struct {
		name  string
		right Side
		want  error
	}{
		{"nothing", Side{}, ErrPair},
		{"no frames", Side{Layout: l, Steps: run(l, nil)}, ErrPair},
		{"start elsewhere", Side{Layout: l, Steps: run(l, nil, upTo(0, 5)...), Start: 2, Before: 1}, ErrPair},
		{"start behind the end", Side{Layout: l, Steps: run(l, nil, upTo(0, 5)...), Start: 9, Before: 9}, ErrPair},
		{"far start", Side{Layout: l, Steps: run(l, nil, upTo(0, 5)...), Start: 2, Before: 1 << 60}, ErrPair},
		{"far frame", Side{Layout: l, Steps: run(l, nil, 0, 1<<50), Start: 0}, ErrPair},
		{"rate", Side{Layout: l, Steps: run(l, nil, upTo(0, 5)...), RateNum: -1, RateDen: 1}, ErrPair},
		{"another format", Side{Layout: l, Steps: run(layout(t, frame.BGR3, 64, 48), nil, upTo(0, 5)...)}, ErrPair},
		{"reading fails", Side{Layout: l, Steps: run(l, broken, upTo(0, 5)...), Start: 2, Before: 2}, broken},
		{"overlay", Side{Layout: l, Steps: run(l, nil, upTo(0, 5)...), Start: 2, Before: 2,
			Overlay: Overlay{First: 2, Last: 1}}, errOverlay},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := WritePair(filepath.Join(dir, "p.mp4"), good(), tc.right, VideoOptions{}); !errors.Is(err,
				tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("it leaves %v (error %v)", left, err)
			}
		})
	}
}
