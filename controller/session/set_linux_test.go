package session

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
)

// canvas is a device without a browser. It paints its display when the run asks for it. So runs
// wait for their frames, and not for a scene in real time.
type canvas struct {
	scene
	display string
}

func newCanvas(t *testing.T) *canvas {
	t.Helper()
	display, err := device.StartDisplay(t.Context(), device.DisplayOptions{Width: 96, Height: 64})
	if missing := (*device.MissingError)(nil); errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { display.Close() })
	return &canvas{scene{name: "d", uri: "x11:" + display.Name() + "?fps=60&cursor=0"}, display.Name()}
}

func canvasOptions(t *testing.T, variants ...Variant) SetOptions {
	o := setOptions(t, variants...)
	o.Test.Sync = suite.Sync{Limit: 100 * time.Millisecond}
	o.Test.Measures = append(o.Test.Measures, quality.Name) // also of content that a busy machine saw once
	o.NoPictures = true
	return o
}

func (c *canvas) Open(ctx context.Context, w Wanted) (Stage, error) {
	p, err := newPainter(c.display)
	if err != nil {
		return nil, err
	}
	s, err := c.scene.Open(ctx, w)
	return &canvasStage{s, p}, err
}

type canvasStage struct {
	Stage
	painter *painter
}

func (s *canvasStage) Launch(ctx context.Context, _ string) (timeline.Interval, error) {
	return timeline.At(timeline.Monotonic().Now()), s.painter.Green(ctx)
}

func (s *canvasStage) Load(context.Context, string) (timeline.Interval, error) {
	return timeline.At(timeline.Monotonic().Now()), s.painter.fill(0x4080c0)
}

func (s *canvasStage) Painter() controller.Painter { return s.painter }
func (s *canvasStage) Close() error {
	s.painter.close()
	return s.Stage.Close()
}

func TestSet(t *testing.T) {
	t.Parallel()
	d := newCanvas(t)
	o := canvasOptions(t, Variant{Device: d, Browser: "a"}, Variant{Device: d, Browser: "b"})
	o.WarmUp = 1
	set, err := RunSet(t.Context(), o)
	if err != nil || len(set.Made) != 8 {
		t.Fatalf("%d runs, %v", len(set.Made), err)
	}
	for i := range 4 {
		block := []string{d.opened[2*i], d.opened[2*i+1]}
		slices.Sort(block)
		if !slices.Equal(block, []string{"a", "b"}) {
			t.Errorf("block %d has %v", i, block)
		}
	}
	for _, name := range []string{"d-a/run-01", "d-b/run-03", "d-a/warm-up/run-01", SetFile} {
		if _, err := os.Stat(filepath.Join(o.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	if n := set.Counts()[Passed]; n != 6 || len(set.Of(0)) != 3 || len(set.Of(1)) != 3 {
		t.Errorf("%d runs count", n)
	}
}

// TestSetIsDecided: variants with tests of their own take turns. The set ends at the look that
// decides, and set.json has the looks.
func TestSetIsDecided(t *testing.T) {
	t.Parallel()
	d := newCanvas(t)
	o := canvasOptions(t, Variant{Device: d, Called: "base"}, Variant{Device: d, Called: "new"})
	own := *o.Test
	own.Name = "other"
	o.Variants[1].Test = &own
	o.Repeat, o.Looks = 5, []int{1, 2, 5}
	var asked []int
	o.Decided = func(s *Set) bool {
		asked = append(asked, len(s.Of(0)))
		return len(asked) == 2
	}
	set, err := RunSet(t.Context(), o)
	if err != nil || len(set.Made) != 4 || !slices.Equal(asked, []int{1, 2}) {
		t.Fatalf("%d runs, asked after %v, %v", len(set.Made), asked, err)
	}
	for _, m := range set.Made {
		if want := []string{o.Test.Name, "other"}[m.Variant]; m.Record.Test != want {
			t.Errorf("%s is of test %s, not %s", m.Dir, m.Record.Test, want)
		}
	}
	raw, err := os.ReadFile(filepath.Join(o.Dir, SetFile))
	var written setJSON
	if err != nil || json.Unmarshal(raw, &written) != nil || !slices.Equal(written.Looks, o.Looks) ||
		!slices.Equal(written.Variants, []string{"base", "new"}) {
		t.Errorf("%s, %v", raw, err)
	}
}

// TestRetries: whatever is lost is too much here, and every run is said to have lost something.
//
// Fault: Too many lost frames, a busy machine, or a browser that ignored the navigation
func TestRetries(t *testing.T) {
	t.Parallel()
	d := newCanvas(t)
	o := canvasOptions(t, Variant{Device: d, Browser: ""})
	o.Repeat, o.Retries, o.MaxLost = 2, 3, -1
	set, err := RunSet(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, m := range set.Made {
		if m.Record.State != Rejected {
			t.Errorf("%s is %s: %s", m.Dir, m.Record.State, m.Record.Reason)
		}
		dirs = append(dirs, m.Dir)
	}
	if want := []string{"rejected/run-01.1", "rejected/run-01.2", "rejected/run-01.3", "rejected/run-01.4",
		"rejected/run-02.1"}; !slices.Equal(dirs, want) {
		t.Errorf("runs %q, want %q", dirs, want)
	}
}

// TestRejectedNextToEarlier: rejected runs of an earlier command stay. New ones get the next
// number.
//
// Fault: Too many lost frames, a busy machine, or a browser that ignored the navigation
func TestRejectedNextToEarlier(t *testing.T) {
	t.Parallel()
	o := canvasOptions(t, Variant{Device: newCanvas(t), Browser: ""})
	o.Repeat, o.Retries, o.MaxLost = 1, 1, -1
	earlier := filepath.Join(o.Dir+"-rejected", "run-01.1", "log.txt")
	if err := os.MkdirAll(filepath.Dir(earlier), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(earlier, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := RunSet(t.Context(), o)
	if err != nil || len(set.Made) != 2 || set.Made[0].Dir != filepath.Join("..", "set-rejected", "run-01.2") ||
		set.Made[1].Dir != "." {
		t.Fatalf("%d runs, %v", len(set.Made), err)
	}
	for _, file := range []string{earlier, filepath.Join(o.Dir, set.Made[0].Dir, RecordFile),
		filepath.Join(o.Dir, RecordFile)} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}

func TestUntilFail(t *testing.T) {
	t.Parallel()
	d := newCanvas(t)
	o := canvasOptions(t, Variant{Device: d, Browser: ""})
	o.UntilFail, o.Repeat = true, 1
	n := 0
	o.Ran = func(m *Made) {
		if n++; n == 2 {
			d.uri = "synth:nothing"
		}
	}
	set, err := RunSet(t.Context(), o)
	if err != nil || len(set.Made) != 3 || set.Counts()[Failed] != 1 ||
		set.Made[2].Dir != filepath.Join("failed", "run-03.1") {
		t.Errorf("%d runs, %v", len(set.Made), err)
	}
}
