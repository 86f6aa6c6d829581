package recorder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

var (
	small = mode{width: 4, height: 4, fps: 100}
	large = mode{width: 300, height: 70, fps: 50}
)

// run is frames with consecutive numbers, the first of them after a hole that is explained if there
// is one.
func run(from, to uint64, missed frame.Cause) []step {
	steps := []step{{sequence: from, missed: missed}}
	for s := from + 1; s < to; s++ {
		steps = append(steps, step{sequence: s})
	}
	return steps
}

func change(to mode) []step { return []step{{change: &to}} }

// thereAndBack goes from 4x4 to 300x70, is without a signal for a while, and comes back.
func thereAndBack() *fakeSource {
	return &fakeSource{clocked: true, steps: slices.Concat(
		run(10, 40, 0), change(large),
		run(45, 60, frame.FormatChange), run(61, 70, frame.DriverLost), change(small),
		run(90, 100, frame.SignalLost),
	)}
}

// Fault: The signal changes its mode
func TestFormatChangesBecomeSegments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.eid")
	res, err := Record(t.Context(), thereAndBack(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := Account{First: 10, Last: 99, Total: 90, Stored: 64, Missing: 26, Lost: []Loss{
		{frame.DriverLost, 1}, {frame.SignalLost, 20}, {frame.FormatChange, 5},
	}}
	if !reflect.DeepEqual(res.Account, want) || !res.balanced() {
		t.Errorf("account %+v, want %+v", res.Account, want)
	}
	segments := []Segment{
		{First: 0, Frames: 30, Period: capture.Rational{Num: 1, Den: 100}, Span: 290 * time.Millisecond},
		{First: 30, Frames: 24, Period: capture.Rational{Num: 1, Den: 50}, Span: 240 * time.Millisecond},
		{First: 54, Frames: 10, Period: capture.Rational{Num: 1, Den: 100}, Span: 90 * time.Millisecond},
	}
	for i, m := range []mode{small, large, small} {
		src := fakeSource{now: m}
		segments[i].Format, segments[i].FemtoPeriod = src.Info().Format, 1e13
	}
	if !reflect.DeepEqual(res.Segments, segments) {
		t.Errorf("segments %+v, want %+v", res.Segments, segments)
	}
	if res.Format != segments[0].Format || res.Ended != sourceEnded || res.Unique != 64 ||
		res.RawBytes != 30*16+24*21000+10*16 {
		t.Errorf("format %v, ended %s, %d unique, %d bytes of pixels", res.Format, res.Ended, res.Unique, res.RawBytes)
	}
	wantFile(t, path, res)
	wantGaps(t, path, []recording.Gap{
		{Before: 30, Gap: frame.Gap{First: 40, Count: 5, Cause: frame.FormatChange, At: between(39, 45)}},
		{Before: 45, Gap: frame.Gap{First: 60, Count: 1, Cause: frame.DriverLost, At: between(59, 61)}},
		{Before: 54, Gap: frame.Gap{First: 70, Count: 20, Cause: frame.SignalLost, At: between(69, 90)}},
	})
}

func between(from, to timeline.Time) timeline.Interval {
	return timeline.Interval{Earliest: from * tick, Latest: to * tick}
}

// wantFile holds a recording of a fake source against its result and the source's pixels.
func wantFile(t *testing.T, path string, res Result) {
	t.Helper()
	report, err := recording.Verify(t.Context(), path, nil)
	if err != nil || len(report.Problems) > 0 || !report.Complete || report.Checked != int(res.Stored) {
		t.Errorf("verify: %+v, %v", report, err)
	}
	kept, err := summarize(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(kept.Account, res.Account) || !reflect.DeepEqual(kept.Segments, res.Segments) {
		t.Errorf("the file says\n%+v %+v, the result\n%+v %+v", kept.Account, kept.Segments, res.Account, res.Segments)
	}
	if kept.Unique != res.Unique || kept.RawBytes != res.RawBytes || kept.Span != res.Span ||
		kept.Format != res.Format || kept.Clocked != res.Clocked {
		t.Errorf("the file says %+v, the result %+v", kept, res)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := r.Play(0, r.Frames())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for p.Next() {
		img, m := p.Image(), p.Meta()
		for _, row := range img.Rows {
			for _, b := range row {
				if b != byte(m.Sequence) {
					t.Fatalf("frame %d has a byte %d, want %d", p.Number(), b, byte(m.Sequence))
				}
			}
		}
	}
	if p.Err() != nil {
		t.Error(p.Err())
	}
}

func wantGaps(t *testing.T, path string, want []recording.Gap) {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := r.Gaps(); !reflect.DeepEqual(got, want) {
		t.Errorf("gaps %+v, want %+v", got, want)
	}
	for _, g := range want {
		if g.Before == r.Frames() {
			continue
		}
		m, err := r.Meta(g.Before)
		if err != nil || m.Flags&frame.FlagGapBefore == 0 {
			t.Errorf("frame %d after a gap has flags %q, %v", g.Before, m.Flags, err)
		}
	}
}

// What the ring lost belongs before the segment, the hole that the change made behind it.
func TestLossesBeforeAFormatChange(t *testing.T) {
	steps := slices.Concat(run(0, 3, 0), change(large), run(9, 11, 0))
	steps[3].lose = 2 // frames 3 and 4
	sink := &fakeSink{}
	res, err := recordFake(t, t.Context(), &fakeSource{clocked: true, steps: steps}, sink, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"segment", "frame", "frame", "frame", "gap", "segment", "gap", "frame", "frame"}; !slices.Equal(
		sink.order, want) {
		t.Errorf("the sink was told %q, want %q", sink.order, want)
	}
	if want := []Loss{{frame.RingFull, 2}, {frame.FormatChange, 4}}; !reflect.DeepEqual(res.Lost, want) {
		t.Errorf("lost %v, want %v", res.Lost, want)
	}
}

// A signal that changes again before its first frame leaves a segment without frames.
//
// Fault: The signal changes its mode
func TestFormatsWithoutFrames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.eid")
	src := &fakeSource{clocked: true, steps: slices.Concat(
		change(large), change(small), run(5, 8, frame.FormatChange), change(large), change(small),
		run(20, 24, frame.FormatChange), change(large))}
	res, err := Record(t.Context(), src, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var frames []int
	for _, s := range res.Segments {
		frames = append(frames, s.Frames)
	}
	if want := []int{0, 0, 3, 0, 4, 0}; !slices.Equal(frames, want) {
		t.Errorf("segments of %v frames, want %v", frames, want)
	}
	if want := (Account{First: 5, Last: 23, Total: 19, Stored: 7, Missing: 12,
		Lost: []Loss{{frame.FormatChange, 12}}}); !reflect.DeepEqual(res.Account, want) {
		t.Errorf("account %+v, want %+v", res.Account, want)
	}
	wantFile(t, path, res)
}

// Fault: No signal after a change of mode
func TestEndsWhileTheSignalIsGone(t *testing.T) {
	gone := mode{wait: true}
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sink := &fakeSink{onEvent: cancel} // the fake's Renegotiate tells one, and waits
		res, err := recordFake(t, ctx, &fakeSource{clocked: true, steps: slices.Concat(run(0, 3, 0), change(gone))},
			sink, Options{})
		if err != nil || res.Ended != interrupted || res.Stored != 3 || len(sink.formats) != 1 {
			t.Errorf("%v, ended %s, %d stored, formats %v", err, res.Ended, res.Stored, sink.formats)
		}
	})
	t.Run("duration over", func(t *testing.T) {
		res, err := recordFake(t, t.Context(),
			&fakeSource{clocked: true, steps: slices.Concat(run(0, 3, 0), change(gone))}, &fakeSink{},
			Options{Duration: time.Millisecond * 40})
		if err != nil || res.Ended != durationOver || res.Stored != 3 {
			t.Errorf("%v, ended %s, %d stored", err, res.Ended, res.Stored)
		}
	})
	t.Run("the source counts on", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.eid")
		src := &fakeSource{clocked: true, counted: &tail{last: 9, why: frame.SignalLost},
			steps: slices.Concat(run(0, 3, 0), change(gone))}
		res, err := Record(t.Context(), src, path, Options{Duration: 50 * time.Millisecond})
		// 5 ticks are 5 frames
		want := Account{First: 0, Last: 4, Total: 5, Stored: 3, Missing: 2, Lost: []Loss{{frame.SignalLost, 2}}}
		if err != nil || res.Ended != durationOver || !reflect.DeepEqual(res.Account, want) {
			t.Errorf("%v, ended %s, %+v, want %+v", err, res.Ended, res.Account, want)
		}
		wantFile(t, path, res)
	})
	t.Run("the driver dropped the last frames", func(t *testing.T) {
		src := &fakeSource{clocked: true, counted: &tail{last: 6, why: frame.NoCause},
			steps: append(run(0, 3, 0), step{sequence: 4, missed: frame.DriverLost})}
		res, err := recordFakeSource(t, src)
		want := []Loss{{frame.DriverLost, 3}}
		if err != nil || res.Last != 6 || !slices.Equal(res.Lost, want) || !res.balanced() {
			t.Errorf("%v, %+v, want a loss of %v", err, res.Account, want)
		}
	})
	t.Run("duration over in the second segment", func(t *testing.T) {
		src := &fakeSource{clocked: true,
			steps: slices.Concat(run(0, 3, 0), change(large), run(5, 50, frame.FormatChange))}
		res, err := recordFake(t, t.Context(), src, &fakeSink{}, Options{Duration: 100 * time.Millisecond})
		if err != nil || res.Ended != durationOver || res.Stored != 8 || res.Last != 9 {
			t.Errorf("%v, ended %s, %+v", err, res.Ended, res.Account)
		}
	})
	t.Run("the disk fails", func(t *testing.T) {
		src := &fakeSource{clocked: true, steps: slices.Concat(run(0, 3, 0), change(gone))}
		res, err := recordFake(t, t.Context(), src, &fakeSink{failEvents: true}, Options{})
		if !errors.Is(err, errDisk) || res.Ended != writeFailed || res.Stored != 3 {
			t.Errorf("%v, ended %s, %d stored", err, res.Ended, res.Stored)
		}
	})
	t.Run("no signal that can be recorded", func(t *testing.T) {
		refused := errors.New("out of range")
		res, err := recordFake(t, t.Context(),
			&fakeSource{clocked: true, steps: slices.Concat(run(0, 3, 0), change(mode{fail: refused}))}, &fakeSink{},
			Options{})
		if !errors.Is(err, refused) || res.Ended != sourceFailed || res.Stored != 3 {
			t.Errorf("%v, ended %s, %d stored", err, res.Ended, res.Stored)
		}
	})
	t.Run("the source cannot change", func(t *testing.T) {
		res, err := recordFakeSource(t,
			fixedSource{&fakeSource{clocked: true, steps: slices.Concat(run(0, 3, 0), change(large))}})
		if !errors.Is(err, capture.ErrFormatChanged) || res.Ended != sourceFailed || res.Stored != 3 {
			t.Errorf("%v, ended %s, %d stored", err, res.Ended, res.Stored)
		}
	})
}

// fixedSource hides Renegotiate.
type fixedSource struct{ capture.Source }

func recordFakeSource(t *testing.T, src capture.Source) (Result, error) {
	t.Helper()
	return Record(t.Context(), src, filepath.Join(t.TempDir(), "a.eid"), Options{})
}

// Fault: Disk full or write error after a change of mode
func TestWriteErrorAtAFormatChange(t *testing.T) {
	for _, tc := range []struct {
		name   string
		sink   *fakeSink
		stored uint64
		last   uint64
	}{
		{"when the format is told", &fakeSink{failSegment: 2}, 3, 2},
		{"at its first frame", &fakeSink{failAt: 4}, 3, 6},
		{"later", &fakeSink{failAt: 5}, 4, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := &fakeSource{clocked: true,
				steps: slices.Concat(run(0, 3, 0), change(large), run(5, 7, frame.FormatChange), change(small),
					run(9, 10, 0))}
			res, err := recordFake(t, t.Context(), src, tc.sink, Options{})
			if !errors.Is(err, errDisk) || res.Ended != writeFailed || res.Stored != tc.stored || res.Last != tc.last {
				t.Errorf("%v, ended %s, %+v", err, res.Ended, res.Account)
			}
			if len(src.steps) == 0 {
				t.Error("the source went on as if nothing had happened")
			}
		})
	}
}

// The memory of a ring is released before the next is mapped. A ring is never too small for its
// frames.
func TestOneRingAtATime(t *testing.T) {
	src := thereAndBack()
	sink := &fakeSink{}
	r := recorderFor(t, src, sink, Options{RingBytes: 16 << 10}) // four frames of the small mode
	var stages []*stage
	sink.onEvent = func() { stages = append(stages, r.at) } // in Renegotiate
	sink.onSegment = func() {
		if s := stages[len(stages)-1]; s.memory.Bytes() == nil {
			t.Error("the ring is gone while the sink may still look at it")
		}
	}
	if _, err := r.record(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	if len(stages) != 2 || stages[0] == stages[1] {
		t.Fatalf("%d stages", len(stages))
	}
	for i, s := range stages {
		if s.memory.Bytes() != nil {
			t.Errorf("the ring of stage %d was not given back", i)
		}
	}
	if n := stages[1].ring.Slots(); n < minSlots {
		t.Errorf("the large mode had %d slots", n)
	}
}

// Fault: The mode changes with `--keep-last`
func TestKeepLastAcrossFormatChanges(t *testing.T) {
	// Frames are 10 ms apart. The last 600 ms begin in the large mode; parts change at their first
	// frame after 600 ms each.
	steps := slices.Concat(
		run(0, 100, 0), change(large), run(110, 180, frame.FormatChange), change(small),
		run(200, 230, frame.SignalLost))
	for _, tc := range []struct {
		window        time.Duration
		first, stored uint64
		segments      []int
	}{
		{600 * time.Millisecond, 170, 40, []int{10, 30}},
		{250 * time.Millisecond, 205, 25, []int{25}},
		{time.Second, 130, 80, []int{50, 30}},
		{time.Minute, 0, 200, []int{100, 70, 30}},
	} {
		t.Run(fmt.Sprint(tc.window), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.eid")
			res, err := Record(t.Context(), &fakeSource{clocked: true, steps: slices.Clone(steps)}, path,
				Options{KeepLast: tc.window})
			if err != nil {
				t.Fatal(err)
			}
			var frames []int
			for _, s := range res.Segments {
				frames = append(frames, s.Frames)
			}
			if res.First != tc.first || res.Last != 229 || res.Stored != tc.stored ||
				!slices.Equal(frames, tc.segments) || !res.balanced() {
				t.Errorf("%+v in segments of %v frames, want %d from %d on in %v", res.Account, frames, tc.stored,
					tc.first, tc.segments)
			}
			wantFile(t, path, res)
			left, err := filepath.Glob(path + ".part-*")
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// Two formats that differ only in their rate are two segments, also in a copy.
func TestCopyKeepsSegments(t *testing.T) {
	dir := t.TempDir()
	faster := small
	faster.fps = 60
	src := &fakeSource{clocked: true, steps: slices.Concat(run(0, 10, 0), change(faster), run(12, 20, 0),
		change(faster), run(25, 30, 0))}
	if _, err := Record(t.Context(), src, filepath.Join(dir, "a.eid"), Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(filepath.Join(dir, "a.eid"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dst, err := recording.Create(filepath.Join(dir, "b.eid"), recording.Options{OwnClock: true})
	if err != nil {
		t.Fatal(err)
	}
	err = Copy(t.Context(), dst, []Range{{Reader: r, From: 5, To: r.Frames()}}, CopyOptions{})
	if err = errors.Join(err, dst.Close()); err != nil {
		t.Fatal(err)
	}
	kept, err := summarize(filepath.Join(dir, "b.eid"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range kept.Segments {
		got = append(got, fmt.Sprintf("%d frames at %d", s.Frames, s.Period.Den))
	}
	if want := []string{"5 frames at 100", "8 frames at 60", "5 frames at 60"}; !slices.Equal(got, want) {
		t.Errorf("segments %q, want %q", got, want)
	}
	wantFile(t, filepath.Join(dir, "b.eid"), kept)
}
