package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/timeline"
)

// recorder is one recording while it runs. Frames come through its stage; when the signal changes
// its format, that stage is over and the next one begins. The pump, the account and the sink go on
// through all of them.
type recorder struct {
	path    string
	options Options
	share   int   // among how many recordings the memory is shared
	host    *Host // what the system gave the program; nil: nothing was asked for
	out     sink
	clock   timeline.Clock

	at       *stage                       // the one that frames come through; nil between two
	ring     atomic.Pointer[capture.Ring] // its ring, for whoever tells progress
	segments []Segment                    // of the stages that are over
	fullest  ringUse
	pump     pump
	watching *watch // nil: nobody

	stop       context.CancelFunc // ends the source and all that goes on beside it
	sourceOver func(err error)    // to be told when no more frames come

	eventErr atomic.Pointer[error]  // the first event that could not be stored
	ended    atomic.Pointer[Reason] // the first reason
	notes    notes
}

func newRecorder(path string, o Options) *recorder {
	r := &recorder{path: path, options: o, share: 1, clock: timeline.Monotonic(), stop: func() {},
		sourceOver: func(error) {}}
	r.pump.recorder = r
	return r
}

// record does it all, from the first metadata to closing the sink. The first stage is there.
func (r *recorder) record(ctx context.Context, src capture.Source) (Result, error) {
	started := r.clock.Now()
	r.watching = newWatch(r.options.Watch, r.out, r.danger)
	clocked := r.at.info.Clocked
	err := r.begin()
	if err == nil {
		err = r.run(ctx, src)
	}
	if a := &r.pump.account; a.any {
		r.out.Expect(a.first, a.next-1, r.pump.lastCame)
	}
	closeErr := r.out.Close()
	if closeErr != nil { // some taken frames are not on disk
		r.failed()
	}
	err = errors.Join(err, closeErr, r.leave()) // the sink has given back what it held of the ring
	r.watching.end()
	res := r.result()
	res.Clocked, res.Elapsed = clocked, r.clock.Now().Sub(started)
	return res, errors.Join(err, r.check(&res))
}

// begin writes the records before the first frame.
func (r *recorder) begin() error {
	if err := r.describe(); err != nil {
		r.failed()
		return err
	}
	return nil
}

func (r *recorder) describe() error {
	info := r.at.info
	for _, list := range [][]capture.Metadata{info.Metadata, r.options.Metadata} {
		for _, m := range list {
			if err := r.out.Metadata(m.Name, m.Value); err != nil {
				return fmt.Errorf("store metadata %s: %w", m.Name, err)
			}
		}
	}
	about, err := json.Marshal(sourceMetadata{info.URI, info.Clocked})
	if err != nil {
		return err
	}
	if err := r.out.Metadata(sourceMetadataName, about); err != nil {
		return fmt.Errorf("store metadata: %w", err)
	}
	return r.out.Segment(info.Format, info.Period.Num, info.Period.Den)
}

// sourceMetadata is what every recording says of its source.
type sourceMetadata struct {
	URI     string `json:"uri"`
	Clocked bool   `json:"clocked"`
}

const sourceMetadataName = "record.source"

// run runs the source, the pump and the goroutines beside them until all are done.
func (r *recorder) run(ctx context.Context, src capture.Source) error {
	sourceCtx, stop := context.WithCancel(ctx)
	defer stop()
	r.stop = stop
	r.sourceOver = func(err error) {
		switch {
		case err != nil:
			r.end(sourceFailed)
		case ctx.Err() != nil:
			r.end(interrupted)
		default:
			r.end(sourceEnded)
		}
		stop() // goroutines beside the source end with it, not when the last frame is written
	}
	var beside errgroup.Group
	if r.options.Started != nil {
		beside.Go(func() error {
			err := r.options.Started(sourceCtx, r.emit)
			if err != nil {
				stop()
			}
			return err
		})
	}
	if limited := r.limited(); r.options.Progress != nil || limited || r.watching != nil {
		beside.Go(func() error { r.watch(sourceCtx, limited); return nil })
	}
	writeErr, sourceErr := r.stages(sourceCtx, src)
	r.sourceOver(sourceErr)
	if counter, ok := src.(capture.Counter); ok && writeErr == nil {
		if writeErr = r.pump.ending(counter.Counted()); writeErr != nil {
			r.failed()
		}
	}
	err := errors.Join(sourceErr, beside.Wait())
	if failed := r.eventErr.Load(); failed != nil && writeErr == nil {
		err = errors.Join(err, *failed)
	}
	return errors.Join(writeErr, err)
}

// stages runs the source until it is done for good: once, and once more for every format that its
// signal changes to.
func (r *recorder) stages(ctx context.Context, src capture.Source) (writeErr, sourceErr error) {
	for {
		writeErr, sourceErr = r.at.run(ctx, src, &r.pump)
		again, can := src.(capture.Renegotiator)
		if !can || !errors.Is(sourceErr, capture.ErrFormatChanged) {
			return writeErr, sourceErr
		}
		if writeErr != nil || ctx.Err() != nil {
			return writeErr, nil // a simultaneous change of format is not an error
		}
		// No frame can come now. What ends the recording ends this too: Ctrl-C, or watch when the
		// duration is over.
		if err := again.Renegotiate(ctx, r.emit); err != nil || ctx.Err() != nil {
			return nil, capture.UnlessEnded(ctx, err)
		}
		if writeErr, sourceErr = r.change(src.Info()); writeErr != nil || sourceErr != nil {
			return writeErr, sourceErr
		}
	}
}

// change begins the next segment. The sink then returns the last frames of the old ring. The old
// memory is unmapped before the new ring's is mapped, since both together may not fit.
func (r *recorder) change(info capture.Info) (writeErr, err error) {
	if _, err := frameBytes(info); err != nil {
		return nil, err
	}
	if err := r.out.Segment(info.Format, info.Period.Num, info.Period.Den); err != nil {
		r.failed()
		return fmt.Errorf("store format: %w", err), nil
	}
	r.at.watchPump.wait(true)
	if err := r.leave(); err != nil {
		return nil, err
	}
	return nil, r.enter(info)
}

// failed notes that the sink cannot go on.
func (r *recorder) failed() {
	r.pump.failed = true
	r.conclude(writeFailed)
}

// limited reports whether a recording by the clock has an end by the clock: a source whose signal
// is gone delivers no frame whose time could end it.
func (r *recorder) limited() bool { return r.options.Duration > 0 && r.at.info.Clocked }

// danger is how near a source on the clock is to losing frames, from 0 to 1. Any goroutine may ask.
func (r *recorder) danger() float64 {
	if l := r.watching.at.Load(); l != nil && l.clocked {
		return l.ring.Fill()
	}
	return 0
}

// watch tells progress, and ends a recording that gets no more frames after its duration.
func (r *recorder) watch(ctx context.Context, limited bool) {
	// The frames themselves end it to the frame. Looks are counted, and not the time: a machine
	// that stood still has frames to come.
	const grace = 4
	late := 0
	began := time.Now()
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	last, worked := r.clock.Now(), int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if limited && time.Since(began) >= r.options.Duration {
				late++
			}
			if late > grace {
				r.end(durationOver)
				r.stop()
				return
			}
			r.watching.guard()
			if r.options.Progress != nil {
				st := r.out.Stats()
				now, all := r.clock.Now(), r.pump.worked.Load()
				r.options.Progress(Progress{
					Frames: st.Frames, Missing: st.Missing, Bytes: st.BytesOut, RingFill: r.ring.Load().Fill(),
					Encoding: min(1, float64(all-worked)/float64(max(1, now.Sub(last)))),
				})
				last, worked = now, all
			}
		}
	}
}

// emit stores an event. It may be called from any goroutine. If the sink fails, rather than the
// event, the recording ends. Without a signal, a frame might never find the failure.
func (r *recorder) emit(e timeline.Event) {
	err := r.out.Event(e)
	if err == nil {
		return
	}
	if e.Validate() == nil {
		r.conclude(writeFailed)
		r.stop()
	}
	err = fmt.Errorf("store event %q of %s: %w", e.Kind, e.Source, err)
	r.eventErr.CompareAndSwap(nil, &err)
}

// end notes why the recording ends; the first reason counts.
func (r *recorder) end(why Reason) { r.ended.CompareAndSwap(nil, &why) }

// conclude notes why the recording ends, as the pump finds: that counts more than how the source
// came to its end.
func (r *recorder) conclude(why Reason) { r.ended.Store(&why) }

// result sums up. The sink is closed by now, and the last stage left.
func (r *recorder) result() Result {
	st := r.out.Stats()
	res := Result{
		Path: r.path, Ended: sourceEnded, Segments: r.segments, Format: r.segments[0].Format,
		Account: r.pump.account.settle(st.Frames, r.pump.account.flagged, r.pump.failed),
		Unique:  st.Unique, RawBytes: st.BytesIn, Bytes: st.BytesOut,
		Span:   r.pump.last.Sampled.Mid().Sub(r.pump.first.Sampled.Mid()),
		Direct: st.Direct, DirectNote: st.DirectNote,
		RingSlots: r.fullest.slots, RingBytes: r.fullest.bytes, RingHighWater: r.fullest.highWater,
		Notes: r.notes.all(),
	}
	if why := r.ended.Load(); why != nil {
		res.Ended = *why
	}
	if _, circle := r.out.(*rolling); r.pump.failed && !circle {
		// What the writer took before its disk failed is not what the disk kept.
		if kept, err := summarize(r.path); err == nil {
			res.keep(kept)
			if a := r.pump.account.settle(kept.Stored, kept.Flagged, true); a.Total != kept.Total {
				res.Account = a // there was no room to say so in the file
			}
		}
	}
	return res
}

// keep copies the counts of the frames that a file holds into the result.
func (res *Result) keep(kept Result) {
	res.Account, res.Span, res.Segments = kept.Account, kept.Span, kept.Segments
	res.Unique, res.RawBytes = kept.Unique, kept.RawBytes
	if len(kept.Segments) > 0 {
		res.Format = kept.Format
	}
}

// check holds the account against the writer's own counting.
func (r *recorder) check(res *Result) error {
	if res.balanced() {
		return nil
	}
	return fmt.Errorf("record %s: %d frames stored and %d missing do not make %d…%d: this is a bug of the program",
		res.Path, res.Stored, res.Missing, res.First, res.Last)
}

// notes are remarks for the user, one about each thing however many stages have it to say. Any
// goroutine may add one.
type notes struct {
	mu   sync.Mutex
	list []note
}

type note struct{ about, text string }

// add keeps an error as the note about a thing, unless there is one.
func (n *notes) add(about string, err error) {
	if err == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.ContainsFunc(n.list, func(o note) bool { return o.about == about }) {
		n.list = append(n.list, note{about, err.Error()})
	}
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for _, note := range n.list {
		all = append(all, note.text)
	}
	return all
}
