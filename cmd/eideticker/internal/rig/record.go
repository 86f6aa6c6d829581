package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// Options say how to record. The zero value records until the source or the context ends.
type Options struct {
	// Duration ends the recording: the first frame that was on the screen that long after the first one is not
	// stored any more. 0 is without end.
	Duration time.Duration
	// RingBytes is the memory between source and recorder; 0 chooses, see ringSize.
	RingBytes int64
	// KeepLast records in a circle and keeps only the last frames of that time. 0 keeps all.
	KeepLast time.Duration
	Force    bool   // overwrite an existing file
	NoDirect bool   // write through the page cache
	Program  string // name and version of the program, for the file's header
	// Metadata is stored beside what the source tells of itself.
	Metadata []capture.Metadata

	// Started is called once, before the first frame, in a goroutine that Record waits for. With emit it may add events
	// until ctx ends, which is when the source does. Nil is nothing.
	Started func(ctx context.Context, emit func(timeline.Event)) error
	// Progress is told several times a second how far the recording is. Nil is nobody.
	Progress func(Progress)
}

// Progress is how far a recording is.
type Progress struct {
	Frames, Missing uint64
	Bytes           int64   // written
	RingFill        float64 // 0 to 1
}

// Reason says why a recording ended.
type Reason string

const (
	SourceEnded  Reason = "source ended"
	Interrupted  Reason = "interrupted"
	DurationOver Reason = "duration over"
	SourceFailed Reason = "source failed"
	WriteFailed  Reason = "write failed"
)

// Result is what a recording came to.
type Result struct {
	Path   string
	Format frame.Format
	Ended  Reason
	Account
	Unique   uint64        // stored frames that differ from the one before
	RawBytes int64         // of the stored frames' pixels, as they came
	Bytes    int64         // written for them
	Span     time.Duration // from the first stored frame to the last
	Elapsed  time.Duration // on the rig's clock
	Direct   bool          // the page cache was passed by
	// DirectNote says why not.
	DirectNote string

	RingSlots, RingBytes, RingHighWater int
	RingNote                            string // what the system did not give, such as huge pages
}

// Record writes what src delivers to a file at path until the context ends, the source does, or the
// options say so. On an error the result is valid too, as far as it got: what was written stays and is closed.
func Record(ctx context.Context, src capture.Source, path string, o Options) (Result, error) {
	info := src.Info()
	layout, err := frame.NewLayout(info.Format)
	if err != nil {
		return Result{}, fmt.Errorf("record %s: %w", info.URI, err)
	}
	memory, ring, err := newRing(info, layout.Size, o.RingBytes)
	if err != nil {
		return Result{}, err
	}
	out, err := openSink(path, info, o)
	if err != nil {
		return Result{}, errors.Join(err, memory.Close())
	}
	r := newRecorder(info, layout, ring, out, o)
	res, err := r.record(ctx, src, path)
	if n := ring.Stats().Leased(); n > 0 {
		// The memory is leaked: giving it back would end the process at the next look at it.
		return res, errors.Join(err, fmt.Errorf("record %s: %d frames were not given back to the ring", path, n))
	}
	if noHuge := memory.HugePagesError(); noHuge != nil {
		res.RingNote = noHuge.Error()
	}
	if st, statErr := os.Stat(path); statErr == nil {
		res.Bytes = st.Size()
	}
	err = errors.Join(err, memory.Close())
	if keep, ok := out.(*rolling); ok {
		return keep.finish(res, err)
	}
	return res, err
}

func newRecorder(info capture.Info, layout *frame.Layout, ring *capture.Ring, out sink, o Options) *recorder {
	return &recorder{
		info: info, options: o, ring: ring, reader: ring.NewReader(ringbuf.Lossless), out: out,
		clock: timeline.Monotonic(), frameBytes: int64(layout.Size),
	}
}

// record does it all, from the first metadata to closing the sink.
func (r *recorder) record(ctx context.Context, src capture.Source, path string) (Result, error) {
	started := r.clock.Now()
	err := r.begin()
	if err == nil {
		err = r.run(ctx, src)
	}
	closeErr := r.out.Close()
	if closeErr != nil { // what was taken is not all on disk
		r.pump.failed = true
		r.conclude(WriteFailed)
	}
	err = errors.Join(err, closeErr)
	res := r.result(path)
	res.Elapsed = r.clock.Now().Sub(started)
	return res, errors.Join(err, r.check(&res))
}

// recorder is one recording while it runs.
type recorder struct {
	info       capture.Info
	options    Options
	ring       *capture.Ring
	reader     *ringbuf.Reader[frame.Meta]
	out        sink
	clock      timeline.Clock
	frameBytes int64

	pump     pump
	eventErr atomic.Pointer[error]  // the first event that could not be stored
	ended    atomic.Pointer[Reason] // the first reason
}

// begin writes what stands before the first frame.
func (r *recorder) begin() error {
	for _, list := range [][]capture.Metadata{r.info.Metadata, r.options.Metadata} {
		for _, m := range list {
			if err := r.out.Metadata(m.Name, m.Value); err != nil {
				return fmt.Errorf("store metadata %s: %w", m.Name, err)
			}
		}
	}
	uri, err := json.Marshal(map[string]any{"uri": r.info.URI, "clocked": r.info.Clocked})
	if err != nil {
		return err
	}
	if err := r.out.Metadata("record.source", uri); err != nil {
		return fmt.Errorf("store metadata: %w", err)
	}
	return r.out.Segment(r.info.Format, r.info.Period.Num, r.info.Period.Den)
}

// run has the source and the pump at work until both are done.
func (r *recorder) run(ctx context.Context, src capture.Source) error {
	sourceCtx, stop := context.WithCancel(ctx)
	defer stop()
	var beside errgroup.Group // everything but the pump
	beside.Go(func() error {
		err := runSource(r.info, func() error { return src.Run(sourceCtx, r.ring, r.emit) })
		switch {
		case err != nil:
			r.end(SourceFailed)
		case ctx.Err() != nil:
			r.end(Interrupted)
		default:
			r.end(SourceEnded)
		}
		stop()
		r.ring.Close(nil)
		return err
	})
	if r.options.Started != nil {
		beside.Go(func() error {
			err := r.options.Started(sourceCtx, r.emit)
			if err != nil {
				stop()
			}
			return err
		})
	}
	if r.options.Progress != nil || r.limited() {
		beside.Go(func() error { r.watch(sourceCtx, stop); return nil })
	}
	r.pump = pump{recorder: r, stop: stop}
	writeErr := r.pump.run()
	err := beside.Wait()
	if failed := r.eventErr.Load(); failed != nil && writeErr == nil {
		err = errors.Join(err, *failed)
	}
	return errors.Join(writeErr, err)
}

// limited reports whether a recording by the clock has an end by the clock: a source whose signal is
// gone delivers no frame whose time could end it.
func (r *recorder) limited() bool { return r.options.Duration > 0 && r.info.Clocked }

// watch tells progress, and ends a recording that gets no more frames after its duration.
func (r *recorder) watch(ctx context.Context, stop func()) {
	var over <-chan time.Time
	if r.limited() {
		const grace = time.Second // the frames themselves end it to the frame
		timer := time.NewTimer(r.options.Duration + grace)
		defer timer.Stop()
		over = timer.C
	}
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-over:
			r.end(DurationOver)
			stop()
			return
		case <-ticker.C:
			if r.options.Progress != nil {
				st := r.out.Stats()
				r.options.Progress(Progress{Frames: st.Frames, Missing: st.Missing, Bytes: st.BytesOut, RingFill: r.ring.Fill()})
			}
		}
	}
}

// emit stores an event. It may be called from any goroutine.
func (r *recorder) emit(e timeline.Event) {
	if err := r.out.Event(e); err != nil {
		err = fmt.Errorf("store event %q of %s: %w", e.Kind, e.Source, err)
		r.eventErr.CompareAndSwap(nil, &err)
	}
}

// end notes why the recording ends; the first reason counts.
func (r *recorder) end(why Reason) { r.ended.CompareAndSwap(nil, &why) }

// conclude notes why the recording ends, as the pump finds: that counts more than how the source came to its end.
func (r *recorder) conclude(why Reason) { r.ended.Store(&why) }

// result sums up. The sink is closed by now.
func (r *recorder) result(path string) Result {
	st := r.out.Stats()
	res := Result{
		Path: path, Format: r.info.Format, Ended: SourceEnded,
		Account: r.pump.account.settle(st.Frames, st.Missing, r.pump.failed),
		Unique:  st.Unique, RawBytes: int64(st.Frames) * r.frameBytes, Bytes: st.BytesOut,
		Span:   r.pump.last.Sampled.Mid().Sub(r.pump.first.Sampled.Mid()),
		Direct: st.Direct, DirectNote: st.DirectNote,
		RingSlots: r.ring.Slots(), RingBytes: r.ring.Slots() * r.ring.SlotSize(), RingHighWater: r.ring.Stats().HighWater,
	}
	if why := r.ended.Load(); why != nil {
		res.Ended = *why
	}
	if _, circle := r.out.(*rolling); r.pump.failed && !circle {
		// What the writer took before its disk failed is not what the disk kept.
		if kept, err := Summarize(path); err == nil {
			res.Account = r.pump.account.settle(kept.Stored, 0, true)
			res.Unique, res.RawBytes, res.Span = kept.Unique, int64(kept.Stored)*r.frameBytes, kept.Span
		}
	}
	return res
}

// check holds the account against the writer's own counting.
func (r *recorder) check(res *Result) error {
	if res.Balanced() {
		return nil
	}
	return fmt.Errorf("record %s: %d frames stored and %d missing do not make %d…%d: this is a bug of the program", res.Path, res.Stored, res.Missing, res.First, res.Last)
}
