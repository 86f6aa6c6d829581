package recorder

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/synth"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// onlooker is a watcher of tests.
type onlooker struct {
	begun, ended int
	givenUp      int
	next         int
	behind       bool
	flush        func()
	frame        func(step *frame.Step)
}

func (o *onlooker) Begin(flush func(), _ func() float64)       { o.begun, o.flush = o.begun+1, flush }
func (o *onlooker) Frame(step *frame.Step, came timeline.Time) { o.frame(step) }
func (o *onlooker) GivenUp()                                   { o.givenUp++ }
func (o *onlooker) End(next int, behind bool) {
	o.ended, o.next, o.behind = o.ended+1, next, behind
}

// shown is a step of which nothing is shared.
type shown struct {
	number int
	meta   frame.Meta
	spans  []frame.Span
	pix    []byte
}

func pixels(m frame.Image) []byte {
	pix := make([]byte, m.Layout.Size)
	m.CopyTo(pix)
	return pix
}

func keep(s *frame.Step) shown {
	m := s.Meta
	m.Flags &^= frame.FlagGapBefore // which the writer finds
	return shown{s.Number, m, slices.Clone(s.Change.Spans), pixels(s.Image)}
}

// awaited is a source whose signal comes back when the watcher has seen all frames before.
type awaited struct {
	*fakeSource
	looked chan struct{} // once for each frame
	given  int
}

func (a *awaited) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	for _, st := range a.steps {
		if st.change != nil {
			break
		}
		a.given++
	}
	return a.fakeSource.Run(ctx, ring, events)
}

func (a *awaited) Renegotiate(ctx context.Context, events func(timeline.Event)) error {
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for ; a.given > 0; a.given-- {
		select {
		case <-a.looked:
		case <-late.C:
			return errors.New("the watcher does not see all frames")
		}
	}
	return a.fakeSource.Renegotiate(ctx, events)
}

// A watcher sees the same as a reader of the recording, through changes of the format, gaps and a
// duration.
func TestWatcherSeesWhatIsRecorded(t *testing.T) {
	scene := func(name, query string) capture.Source {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		src, err := synth.Open(name, q)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { src.Close() })
		return src
	}
	looked := make(chan struct{}, 300) // room for all frames of all cases
	for _, tc := range []struct {
		name   string
		src    capture.Source
		o      Options
		frames int
	}{
		{"formats that change, and gaps", &awaited{fakeSource: thereAndBack(), looked: looked}, Options{}, 64},
		{"a duration", &fakeSource{steps: run(5, 80, 0)}, Options{Duration: 300e6}, 30},
		{"a page", scene("page", "size=320x180&frames=90&markers=1"), Options{}, 150},
		{"the least ring", scene("web", "size=64x64&frames=40"), Options{RingBytes: 200 << 10}, 40},
		{"none", &fakeSource{}, Options{}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var seen []shown
			w := &onlooker{}
			w.frame = func(s *frame.Step) { seen = append(seen, keep(s)); w.flush(); looked <- struct{}{} }
			path := filepath.Join(t.TempDir(), "a.eid")
			tc.o.Watch = w
			res, err := Record(t.Context(), tc.src, path, tc.o)
			if err != nil || int(res.Stored) != tc.frames {
				t.Fatalf("%d frames, %v", res.Stored, err)
			}
			if w.begun != 1 || w.ended != 1 || w.behind || w.next != tc.frames || len(seen) != tc.frames {
				t.Fatalf("begun %d, ended %d, next %d, behind %v, %d seen", w.begun, w.ended, w.next, w.behind,
					len(seen))
			}
			r, err := recording.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for step, err := range r.Steps(0, r.Frames()) {
				if err != nil {
					t.Fatal(err)
				}
				got, want := seen[step.Number], keep(step)
				if got.number != want.number || got.meta != want.meta || !slices.Equal(got.spans, want.spans) ||
					!slices.Equal(got.pix, want.pix) {
					t.Fatalf("frame %d was shown as another: %+v %v, want %+v %v", step.Number, got.meta, got.spans,
						want.meta, want.spans)
				}
			}
		})
	}
}

// handOver is a clocked source that tells when it is over. It waits until the watcher has the first
// frame, and the pump each one. So only a pump that waits for its watcher delays it.
type handOver struct {
	*fakeSource
	looks, over chan struct{}
}

func (h handOver) Run(_ context.Context, ring *capture.Ring, _ func(timeline.Event)) error {
	defer close(h.over)
	for _, st := range h.steps {
		for end := time.Now().Add(time.Minute); ring.Stats().Readers[0].Unread > 0; time.Sleep(50 * time.Microsecond) {
			if time.Now().After(end) {
				return errors.New("the pump takes no frames")
			}
		}
		if slot, ok := ring.TryAcquire(); ok {
			slot.Commit(h.Info().Format.Size(), frame.Meta{Sequence: st.sequence,
				Sampled: timeline.At(h.due(st.sequence))})
		}
		<-h.looks
	}
	return nil
}

// A watcher that never comes back from its first frame costs no frame.
//
// Fault: The analysis beside a recording cannot keep up
// Fault: The machine is too busy to watch the recording
func TestSlowWatcherLosesNothing(t *testing.T) {
	looks, over := make(chan struct{}), make(chan struct{})
	src := handOver{&fakeSource{clocked: true, steps: run(0, 300, 0)}, looks, over}
	calls := 0
	w := &onlooker{frame: func(*frame.Step) {
		if calls++; calls == 1 {
			close(looks)
		}
		<-over
	}}
	path := filepath.Join(t.TempDir(), "a.eid")
	res, err := Record(t.Context(), src, path, Options{Watch: w, RingBytes: 64 << 12})
	if err != nil {
		t.Fatal(err)
	}
	if res.Stored != 300 {
		t.Errorf("%d frames were stored of 300: lost are %v", res.Stored, res.Lost)
	}
	if !w.behind || w.givenUp != 1 || calls != 1 || w.next != 1 {
		t.Errorf("behind %v after %d frames, told %d times, next %d", w.behind, calls, w.givenUp, w.next)
	}
	report, err := recording.Verify(t.Context(), path, nil)
	if err != nil || report.Checked != int(res.Stored) || len(report.Problems) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A signal that changes its format does not wait for a slow watcher. A failing disk returns every
// frame.
func TestWatcherAtTroubledEnds(t *testing.T) {
	t.Run("format change", func(t *testing.T) {
		shown, back := make(chan struct{}), make(chan struct{})
		src := &fakeSource{clocked: true, steps: slices.Concat(run(10, 14, 0), change(large), run(20, 25, 0))}
		w := &onlooker{frame: func(*frame.Step) { close(shown); <-back }}
		sink := &tellingSink{}
		sink.onWrite = func(call int) {
			if call == 2 { // the first was handed to the watcher
				<-shown
			}
		}
		r := recorderFor(t, src, sink, Options{Watch: w})
		sink.onSegment = func() { // the signal is there again
			go func() {
				for !r.watching.behind.Load() {
					runtime.Gosched()
				}
				close(back)
			}()
		}
		res, err := r.record(t.Context(), src)
		if err != nil || res.Stored != 9 || !w.behind || w.next != 1 {
			t.Errorf("%+v, %v; behind %v, next %d", res.Account, err, w.behind, w.next)
		}
	})
	t.Run("write error", func(t *testing.T) {
		src := &fakeSource{steps: run(0, 50, 0)}
		w := &onlooker{frame: func(*frame.Step) {}}
		sink := &tellingSink{}
		sink.failAt = 20
		r := recorderFor(t, src, sink, Options{Watch: w})
		_, err := r.record(t.Context(), src)
		if !errors.Is(err, errDisk) || w.behind || w.next != 19 {
			t.Errorf("%v; behind %v, next %d", err, w.behind, w.next)
		}
		if n := r.ring.Load().Stats().Leased(); n != 0 {
			t.Errorf("%d frames were not given back", n)
		}
	})
	t.Run("a sink that tells nothing", func(t *testing.T) {
		src := &fakeSource{steps: run(0, 5, 0)}
		w := &onlooker{}
		if _, err := recordFake(t, t.Context(), src, &fakeSink{}, Options{Watch: w}); err != nil || !w.behind ||
			w.begun != 0 || w.ended != 1 {
			t.Errorf("%v, %+v", err, w)
		}
	})
}

// tellingSink tells changes.
type tellingSink struct{ fakeSink }

func (s *tellingSink) Flush() {}

// WriteFrameChange says that each frame changes another row.
func (s *tellingSink) WriteFrameChange(pix []byte, m frame.Meta, o recording.Owner, c *frame.Change) error {
	c.Spans = append(c.Spans[:0], frame.Span{Row: int32(m.Sequence), End: 4})
	return s.WriteFrame(pix, m, o)
}

// hanging is a watcher that goes on when it is given up.
type hanging struct {
	*onlooker
	goOn func()
}

func (h hanging) GivenUp() { h.onlooker.GivenUp(); h.goOn() }

// returning comes back then.
type returning struct{ hanging }

func (returning) Returns() time.Duration { return time.Second }

// strides is a clock on which half a minute passes whenever it is read.
type strides struct{ reads atomic.Int64 }

func (s *strides) Now() timeline.Time {
	return timeline.Time(s.reads.Add(1)) * timeline.Time(30*time.Second)
}

// A watcher that need not see every frame is given up, and gets frames again when the ring has
// emptied. Others do not.
//
// Fault: The source of an idle device disappears
func TestWatcherComesBack(t *testing.T) {
	for _, returns := range []bool{true, false} {
		hang := make(chan struct{})
		var seen []int
		w := &onlooker{frame: func(s *frame.Step) {
			<-hang
			first := append([]int{-1}, seen...)[len(seen)] + 1 // that was not shown before
			if n := len(s.Change.Spans); n != s.Number+1-first || int(s.Change.Spans[0].Row) != first {
				t.Errorf("frame %d has the changes %v, want those since %d", s.Number, s.Change.Spans, first)
			}
			seen = append(seen, s.Number)
		}}
		h := hanging{w, sync.OnceFunc(func() { close(hang) })}
		var watcher Watcher = h
		if returns {
			watcher = returning{h}
		}
		src := &fakeSource{clocked: true, steps: run(0, 300, 0)}
		r := recorderFor(t, src, &tellingSink{}, Options{Watch: watcher, RingBytes: 1 << 18})
		r.clock = &strides{}
		res, err := r.record(t.Context(), src)
		if err != nil || res.Stored != 300 || w.givenUp == 0 || len(seen) == 300 {
			t.Fatalf("%+v, %v, given up %d times", res.Account, err, w.givenUp)
		}
		if n := r.ring.Load().Stats().Leased(); n != 0 {
			t.Errorf("%d frames were not given back", n)
		}
		// One that comes back may have been given up again at the end: the source does not wait for it.
		last := append([]int{-1}, seen...)[len(seen)]
		if cameBack := last+1 > len(seen); cameBack != returns || w.behind != (last != 299) {
			t.Errorf("comes back: %v; shown were %v, and it was behind in the end: %v", returns, seen, w.behind)
		}
	}
}
