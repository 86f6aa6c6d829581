package recorder

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

func frames(sequences ...uint64) []step {
	var all []step
	for _, s := range sequences {
		all = append(all, step{sequence: s})
	}
	return all
}

// Fault: The source skips sequence numbers
// Fault: The recorder cannot keep up
func TestHolesBecomeGaps(t *testing.T) {
	for _, tc := range []struct {
		name  string
		steps []step
		gaps  []frame.Gap
		lost  []Loss
		first uint64
		last  uint64
	}{
		{name: "none", steps: frames(0, 1, 2), last: 2},
		{name: "not from zero", steps: frames(7, 8), first: 7, last: 8},
		{
			name:  "the source says why",
			steps: []step{{sequence: 0}, {sequence: 4, missed: frame.SourceLate}},
			gaps:  []frame.Gap{{First: 1, Count: 3, Cause: frame.SourceLate}},
			lost:  []Loss{{frame.SourceLate, 3}}, last: 4,
		},
		{
			name:  "nobody says why",
			steps: frames(0, 2),
			gaps:  []frame.Gap{{First: 1, Count: 1, Cause: frame.DriverLost}},
			lost:  []Loss{{frame.DriverLost, 1}}, last: 2,
		},
		{
			name:  "the ring was full",
			steps: []step{{sequence: 0}, {sequence: 3, lose: 2}},
			gaps:  []frame.Gap{{First: 1, Count: 2, Cause: frame.RingFull}},
			lost:  []Loss{{frame.RingFull, 2}}, last: 3,
		},
		{
			name:  "the ring was full and the source late",
			steps: []step{{sequence: 0}, {sequence: 6, lose: 2, missed: frame.SourceLate}},
			gaps: []frame.Gap{{First: 1, Count: 2, Cause: frame.RingFull},
				{First: 3, Count: 3, Cause: frame.SourceLate}},
			lost: []Loss{{frame.RingFull, 2}, {frame.SourceLate, 3}}, last: 6,
		},
		{
			name:  "before the first frame",
			steps: []step{{sequence: 2, lose: 2}, {sequence: 3}},
			gaps:  []frame.Gap{{First: 0, Count: 2, Cause: frame.RingFull}},
			lost:  []Loss{{frame.RingFull, 2}}, last: 3,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sink := &fakeSink{}
			res, err := recordFake(t, t.Context(), &fakeSource{steps: tc.steps, clocked: true}, sink, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range sink.gaps {
				if !sink.gaps[i].At.Valid() {
					t.Errorf("gap %d is at %v", i, sink.gaps[i].At)
				}
				sink.gaps[i].At = timeline.Interval{}
			}
			if !reflect.DeepEqual(sink.gaps, tc.gaps) {
				t.Errorf("gaps %v, want %v", sink.gaps, tc.gaps)
			}
			if !reflect.DeepEqual(res.Lost, tc.lost) || res.First != tc.first || res.Last != tc.last ||
				res.Stored != uint64(len(tc.steps)) {
				t.Errorf("account %+v, want %d to %d and lost %v", res.Account, tc.first, tc.last, tc.lost)
			}
			if res.Ended != sourceEnded {
				t.Errorf("ended: %s", res.Ended)
			}
		})
	}
}

// TestLossesAfterTheLastFrame: the ring's last losses are missing, except frames due after the
// deadline.
//
// Fault: The recorder cannot keep up
func TestLossesAfterTheLastFrame(t *testing.T) {
	for duration, want := range map[time.Duration]Account{
		0:                     {First: 0, Last: 3, Total: 4, Stored: 2, Missing: 2, Lost: []Loss{{frame.RingFull, 2}}},
		30 * time.Millisecond: {First: 0, Last: 2, Total: 3, Stored: 2, Missing: 1, Lost: []Loss{{frame.RingFull, 1}}},
		20 * time.Millisecond: {First: 0, Last: 1, Total: 2, Stored: 2},
	} {
		src := &fakeSource{clocked: true, steps: frames(0, 1)}
		sink := &fakeSink{}
		r := recorderFor(t, src, sink, Options{Duration: duration})
		s := r.at
		if err := src.Run(t.Context(), s.ring, nil); err != nil {
			t.Fatal(err)
		}
		src.loseOne(s.ring)
		src.loseOne(s.ring)
		s.ring.Close(nil)
		if err := r.pump.run(s); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(sink.Close(), r.leave()); err != nil {
			t.Fatal(err)
		}
		res := r.result()
		if !reflect.DeepEqual(res.Account, want) || !res.balanced() {
			t.Errorf("%v: account %+v, want %+v", duration, res.Account, want)
		}
	}
}

func TestDurationEndsToTheFrame(t *testing.T) {
	sink := &fakeSink{}
	src := &fakeSource{steps: frames(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)}
	res, err := recordFake(t, t.Context(), src, sink, Options{Duration: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if res.Stored != 5 || res.Last != 4 || res.Ended != durationOver {
		t.Errorf("stored %d to %d, ended %s; want 5 frames, 0 to 4", res.Stored, res.Last, res.Ended)
	}
}

// TestDurationEndsInAHole: a machine that stalled ends with a frame after the deadline. Frames due
// before the deadline are missing, and no others.
func TestDurationEndsInAHole(t *testing.T) {
	for name, tc := range map[string]struct {
		fps      int64
		duration time.Duration
		last     uint64 // of the first frames, which come one after another
		late     uint64
		want     uint64 // the last that is missing
	}{
		"to the end":                      {100, 50 * time.Millisecond, 1, 5, 4},
		"beyond it":                       {100, 50 * time.Millisecond, 1, 90, 4},
		"none is missing":                 {100, 50 * time.Millisecond, 4, 90, 4},
		"part of a period more":           {100, 51 * time.Millisecond, 4, 90, 5},
		"period of no whole nanoseconds":  {60, 300 * time.Millisecond, 10, 90, 17},
		"the same, from where it is full": {60, 300 * time.Millisecond, 17, 90, 17},
		"an hour of it":                   {60, time.Hour, 10, 300_000, 215_999},
	} {
		src := &fakeSource{clocked: true, now: mode{width: 4, height: 4, fps: tc.fps}, pace: tc.fps}
		for n := range tc.last + 1 {
			src.steps = append(src.steps, step{sequence: n})
		}
		src.steps = append(src.steps, step{sequence: tc.late, missed: frame.SourceLate})
		res, err := recordFake(t, t.Context(), src, &fakeSink{}, Options{Duration: tc.duration})
		if err != nil || res.Ended != durationOver || res.Last != tc.want || res.Stored != tc.last+1 ||
			res.Missing != tc.want-tc.last {
			t.Errorf("%s: %v, ended %s, %+v; want the last to be %d", name, err, res.Ended, res.Account, tc.want)
		}
	}
}

// Fault: Ctrl-C or SIGTERM
func TestWhatIsInTheRingIsStoredAfterAnInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sink := &fakeSink{}
	src := &fakeSource{steps: []step{{sequence: 0}, {sequence: 1, wait: true}, {sequence: 2}}}
	res, err := recordFake(t, ctx, src, sink, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Stored != 3 || res.Ended != interrupted {
		t.Errorf("stored %d, ended %s; want 3, interrupted", res.Stored, res.Ended)
	}
}

// Fault: The disk is full, or a write fails
func TestWriteErrorEndsTheRecording(t *testing.T) {
	sink := &fakeSink{failAt: 3}
	src := &fakeSource{steps: append(frames(0, 1, 2, 3), step{sequence: 4, wait: true})}
	res, err := recordFake(t, t.Context(), src, sink, Options{})
	if !errors.Is(err, errDisk) {
		t.Fatalf("error %v, want that of the disk", err)
	}
	want := Account{First: 0, Last: 4, Total: 5, Stored: 2, Missing: 3, Lost: []Loss{{frame.Stopped, 3}}}
	if !reflect.DeepEqual(res.Account, want) || res.Ended != writeFailed {
		t.Errorf("account %+v, ended %s; want %+v", res.Account, res.Ended, want)
	}
}

// Fault: The source fails
func TestSourceErrorKeepsTheRecording(t *testing.T) {
	broken := errors.New("the cable is out")
	res, err := recordFake(t, t.Context(), &fakeSource{steps: frames(0, 1), fail: broken}, &fakeSink{}, Options{})
	if !errors.Is(err, broken) || res.Stored != 2 || res.Ended != sourceFailed {
		t.Errorf("error %v, stored %d, ended %s", err, res.Stored, res.Ended)
	}
}

// Fault: The driver flags damaged frames
func TestFlaggedFramesAreCounted(t *testing.T) {
	src := &fakeSource{clocked: true, steps: []step{
		{sequence: 0}, {sequence: 1, flags: frame.FlagError},
		{sequence: 4, flags: frame.FlagError | frame.FlagSignalLost}, {sequence: 5, flags: frame.FlagSignalLost},
	}}
	res, err := recordFake(t, t.Context(), src, &fakeSink{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := Account{First: 0, Last: 5, Total: 6, Stored: 4, Flagged: 2, Missing: 2, Lost: []Loss{{frame.DriverLost, 2}}}
	if !reflect.DeepEqual(res.Account, want) || !res.Clocked {
		t.Errorf("account %+v, clocked %v; want %+v", res.Account, res.Clocked, want)
	}
}

// Fault: The sequence numbers of a source decrease
func TestSequenceMustNotGoBack(t *testing.T) {
	_, err := recordFake(t, t.Context(), &fakeSource{steps: frames(4, 5, 5)}, &fakeSink{}, Options{})
	if err == nil {
		t.Error("a sequence number came twice and nobody complained")
	}
}

func TestEventsThatCannotBeStoredAreAnError(t *testing.T) {
	o := Options{Started: func(_ context.Context, emit func(timeline.Event)) error {
		emit(timeline.Event{Source: "test", Kind: "fine"})
		emit(timeline.Event{Source: "test"})
		return nil
	}}
	sink := &fakeSink{}
	_, err := recordFake(t, t.Context(), &fakeSource{steps: frames(0)}, sink, o)
	if err == nil || len(sink.events) != 2 {
		t.Errorf("error %v after %d events", err, len(sink.events))
	}
}

func TestStartedThatFailsEndsTheRecording(t *testing.T) {
	broken := errors.New("no browser")
	o := Options{Started: func(context.Context, func(timeline.Event)) error { return broken }}
	src := &fakeSource{steps: []step{{sequence: 0}, {sequence: 1, wait: true}}}
	if _, err := recordFake(t, t.Context(), src, &fakeSink{}, o); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// A file can wait: how full the ring is says nothing about losses, and must not cost compression.
func TestPressureIsForTheClock(t *testing.T) {
	for _, clocked := range []bool{true, false} {
		sink := &fakeSink{}
		if _, err := recordFake(t, t.Context(), &fakeSource{steps: frames(0, 1, 2), clocked: clocked}, sink,
			Options{}); err != nil {
			t.Fatal(err)
		}
		if got := sink.pressed > 0; got != clocked {
			t.Errorf("clocked %v: pressure told %d times", clocked, sink.pressed)
		}
	}
}

// handClock stands still until it is moved.
type handClock struct{ now atomic.Int64 }

func (c *handClock) Now() timeline.Time { return timeline.Time(c.now.Load()) }

// TestWriteStallsAreWrittenDown: a clocked source has 100 frames a second. Storing the third frame
// takes 35 ms, the fourth 10 ms.
func TestWriteStallsAreWrittenDown(t *testing.T) {
	for _, clocked := range []bool{true, false} {
		clock := &handClock{}
		took := map[int]time.Duration{3: 35 * time.Millisecond, 4: 10 * time.Millisecond}
		sink := &fakeSink{onWrite: func(call int) { clock.now.Add(int64(took[call])) }}
		src := &fakeSource{steps: frames(0, 1, 2, 3, 4), clocked: clocked}
		r := recorderFor(t, src, sink, Options{})
		r.clock = clock
		if _, err := r.record(t.Context(), src); err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, e := range sink.events {
			said = append(said, fmt.Sprintf("%s %s at %d ± %d: %s", e.Source, e.Kind, e.At, e.Uncertainty, e.Data))
		}
		want := []string{`record write-stall at 17500000 ± 17500000: {"waited_ns":35000000}`}
		if !clocked {
			want = nil
		}
		if !slices.Equal(said, want) {
			t.Errorf("clocked %v: %q, want %q", clocked, said, want)
		}
	}
}
