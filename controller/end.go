package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/suite"
)

// end waits for the content's end, and sees to it that red stands then.
func (r *run) end(ctx context.Context, started timeline.Time) error {
	red, err := r.contentEnd(ctx, started)
	if err != nil {
		return err
	}
	r.Log.Info("the content has ended")
	if red {
		return nil
	}
	if r.Painter == nil {
		return fmt.Errorf("the test ends without a red, and this device cannot show one: %w",
			errors.ErrUnsupported)
	}
	if err := r.Painter.Red(ctx); err != nil {
		return fmt.Errorf("show red: %w", err)
	}
	seen, err := r.await(ctx, redTimeout, Condition{Kind: Red, Region: r.played.Area})
	if err != nil {
		return fmt.Errorf("red was sent to the screen: %w", err)
	}
	r.Log.Info("red is there", "frame", seen.Frame)
	return nil
}

// contentEnd returns when the content has ended, and whether it drew its red.
func (r *run) contentEnd(ctx context.Context, started timeline.Time) (red bool, err error) {
	limit := r.timeLeft(ctx)
	isRed := Condition{Kind: Red, Region: r.played.Area}
	switch sync := r.Test.Sync; {
	case sync.Still > 0:
		return r.stillness(ctx, limit, isRed)
	case sync.Event != "":
		if err := r.happened(ctx, sync.Event); err != nil {
			return false, err
		}
		r.emit(Ended, timeline.At(r.Clock.Now()), nil)
		return false, nil
	case sync.Limit > 0:
		if err := r.pause(ctx, started.Add(sync.Limit).Sub(r.Clock.Now())); err != nil {
			return false, err
		}
		r.emit(Ended, timeline.At(r.Clock.Now()), nil)
		return false, nil
	}
	seen, err := r.await(ctx, limit, isRed)
	if err != nil {
		return false, err
	}
	r.emit(Ended, seen.At, nil)
	return true, nil
}

// BusyLimit limits the wait for a page that computes or draws after a stillness.
const BusyLimit = 15 * time.Second

const (
	// maxLate limits the delay with which a stillness is seen on a busy machine. The page may have
	// drawn since.
	maxLate = time.Second
	// drawing is a time in which a page draws that has just computed.
	drawing = 300 * time.Millisecond
	// caretWidth is the width of a caret's changes in pixels, as in marker.Blink.
	caretWidth = 8
)

// stillness waits until the page rests. It returns whether the content drew its red before.
func (r *run) stillness(ctx context.Context, limit time.Duration, isRed Condition) (red bool, err error) {
	still := Condition{Kind: Still, Region: r.played.Area, For: r.Test.Sync.Still}
	// A quarter of the time is left for a page that never rests.
	which, seen, restless, err := r.rest(ctx, limit, min(BusyLimit, limit/4), still, isRed)
	r.played.Restless = restless
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil && seen.Region != (frame.Region{}):
		return false, fmt.Errorf("%w; --end 20s, or end: 20s in a test file, ends it after a time", err)
	case err != nil:
		return false, err
	}
	r.played.Still = which == 0
	r.emit(Ended, seen.At, nil)
	return which == 1, nil
}

// rest waits until the picture is still and the page has nothing to compute or to draw. It also
// ends with another condition, and returns the index of the condition; still has 0. After the
// patience, a page that does not rest has ended with a stillness, and restless states why.
func (r *run) rest(ctx context.Context, limit, patience time.Duration, still Condition, others ...Condition) (
	which int, seen Seen, restless string, err error) {
	var last *Seen // stillness after which the page did not rest
	var until timeline.Time
	for {
		// Stillness before the content began, or while a step waited, does not count: a page that
		// begins late has not ended.
		still.Since = r.Clock.Now()
		which, seen, err = r.awaitAny(ctx, limit, append([]Condition{still}, others...)...)
		switch {
		case last != nil && errors.As(err, new(*UnseenError)): // it moves since
			return 0, *last, restless, nil
		case err != nil:
			return which, seen, restless, err
		case which != 0 || r.Busy == nil:
			return which, seen, "", nil
		}
		now := r.Clock.Now()
		if last == nil {
			until = now.Add(patience)
		}
		restless = r.restless(ctx, still.Region, now.Sub(seen.At.Latest.Add(still.For)))
		if limit = until.Sub(r.Clock.Now()); restless == "" || limit <= 0 {
			return 0, seen, restless, nil
		}
		stood := seen
		last = &stood
		r.Log.Info("the picture was still, but the page has not ended", "why", restless)
	}
}

// restless returns why a page has not ended though a region was still; "": it has. The stillness
// was seen late.
func (r *run) restless(ctx context.Context, region frame.Region, late time.Duration) (why string) {
	if busy := r.Busy(ctx); busy != "" {
		return busy + " computed"
	}
	if late > maxLate {
		return fmt.Sprintf("the machine was busy for %v", late.Round(time.Millisecond))
	}
	_, seen, err := r.awaitAny(ctx, 2*drawing, Condition{Kind: Still, Region: region, For: drawing,
		Since: r.Clock.Now()})
	if err != nil || seen.Region.Width > caretWidth {
		return "the picture changed"
	}
	return ""
}

// timeLeft is until the test's own limit.
func (r *run) timeLeft(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return time.Until(end) + time.Second // the limit's own words are better than ours
	}
	return suite.DefaultTimeout
}

// happened waits for an event of a kind, of a mark step or of somebody else.
func (r *run) happened(ctx context.Context, kind string) error {
	for !r.marked[kind] {
		select {
		case k, ok := <-r.Happened:
			if !ok {
				r.Happened = nil
			}
			r.mark(k)
		case <-ctx.Done():
			return fmt.Errorf("%w, while it was waited for the event %q", context.Cause(ctx), kind)
		}
	}
	return nil
}

func (r *run) mark(kind string) {
	if r.marked == nil {
		r.marked = map[string]bool{}
	}
	r.marked[kind] = true
}

// emit writes an event of the run itself into the recording.
func (r *run) emit(kind string, at timeline.Interval, data any) { r.record(event(kind, at, data)) }

func (r *run) record(e timeline.Event) {
	r.mark(e.Kind)
	r.Emit(e)
}

func event(kind string, at timeline.Interval, data any) timeline.Event {
	e := timeline.Event{At: at.Mid(), Uncertainty: at.Width() - at.Width()/2, Source: EventSource, Kind: kind}
	if data != nil {
		raw, err := json.Marshal(data)
		if err != nil {
			panic(fmt.Sprintf("data of event %s: %v", kind, err)) // texts and numbers
		}
		e.Data = raw
	}
	return e
}
