package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

// stepError says which step of a test failed.
type stepError struct {
	Line int
	Verb string
	Err  error
}

func (e *stepError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("step %s: %v", e.Verb, e.Err)
	}
	return fmt.Sprintf("step %s in line %d: %v", e.Verb, e.Line, e.Err)
}

func (e *stepError) Unwrap() error { return e.Err }

func (r *run) steps(ctx context.Context, all []suite.Step) error {
	for i := 0; i < len(all); i++ {
		s := all[i]
		err := error(nil)
		if w, ok := changeAfter(all, i); ok {
			err = r.actAndWait(ctx, s, w)
			i++
		} else {
			err = r.step(ctx, s)
		}
		if err != nil {
			var inner *stepError
			if errors.As(err, &inner) {
				return err // of a loop: the step within it says more
			}
			return &stepError{s.Line, s.Verb(), err}
		}
	}
	return nil
}

// changeAfter returns the wait for a change that follows an input. The change may come before the
// input has ended, so it is awaited from the input on.
func changeAfter(all []suite.Step, i int) (suite.Wait, bool) {
	if i+1 >= len(all) || !needsInput(all[i:i+1]) {
		return suite.Wait{}, false
	}
	switch all[i].Action.(type) {
	case suite.Ping, suite.Loop:
		return suite.Wait{}, false
	}
	w, ok := all[i+1].Action.(suite.Wait)
	return w, ok && w.Change != nil
}

func (r *run) actAndWait(ctx context.Context, s suite.Step, w suite.Wait) error {
	c := Condition{Kind: Changed, Region: r.place(*w.Change)}
	_, _, err := r.respond(ctx, s, c, w.Timeout)
	var unseen *UnseenError
	if w.Optional && errors.As(err, &unseen) {
		return nil
	}
	return err
}

// step does one step.
func (r *run) step(ctx context.Context, s suite.Step) error {
	if err := ctxError(ctx); err != nil {
		return err
	}
	switch a := s.Action.(type) {
	case suite.Launch:
		if err := r.launch(ctx, r.Address); err != nil {
			return err
		}
		return r.begun(ctx, 0)
	case suite.Load:
		first := !r.played.Began
		if err := r.load(ctx, a.URL); err != nil {
			return err
		}
		if first {
			return r.begun(ctx, r.Clock.Now()) // what an address bar shows while it is typed into may cover the green
		}
		return nil
	case suite.Sleep:
		return r.pause(ctx, a.For)
	case suite.Mark:
		r.emit(a.Kind, timeline.At(r.Clock.Now()), nil)
		return nil
	case suite.Link:
		return r.changeLink(a)
	case suite.Wait:
		return r.wait(ctx, a)
	case suite.Ping:
		return r.ping(ctx, a)
	case suite.Loop:
		return r.loop(ctx, a)
	}
	return r.act(ctx, s)
}

// LinkChanged is the kind of the event of a changed link.
const LinkChanged = "network"

// LinkEvent returns the event of a changed link. by is the client that changed it; "": the test.
func LinkEvent(at timeline.Interval, conditions, by string) timeline.Event {
	return event(LinkChanged, at, struct {
		Conditions string `json:"conditions"`
		By         string `json:"by,omitempty"`
	}{conditions, by})
}

func (r *run) changeLink(l suite.Link) error {
	if r.ChangeLink == nil {
		return fmt.Errorf("the device has no network of the run's own: %w", errors.ErrUnsupported)
	}
	before := r.Clock.Now()
	now, err := r.ChangeLink(l)
	if err != nil {
		return err
	}
	r.record(LinkEvent(timeline.Interval{Earliest: before, Latest: r.Clock.Now()}, now, ""))
	return nil
}

func (r *run) loop(ctx context.Context, l suite.Loop) error {
	started := r.Clock.Now()
	for i := range l.Times {
		due := started.Add(time.Duration(i) * l.Every)
		if err := r.pause(ctx, due.Sub(r.Clock.Now())); err != nil {
			return err
		}
		if err := r.steps(ctx, l.Steps); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for pixels.
func (r *run) wait(ctx context.Context, w suite.Wait) error {
	since := r.Clock.Now()
	var c Condition
	switch {
	case w.Change != nil:
		c = Condition{Kind: Changed, Region: r.place(*w.Change), Since: since}
	case w.Colour != nil:
		c = Condition{Kind: Filled, Region: r.place(w.In), Colour: *w.Colour, Since: since}
	default:
		c = Condition{Kind: Still, Region: r.place(w.In), For: w.Still, Since: since}
	}
	var seen Seen
	var err error
	if w.Rest {
		var restless string
		_, seen, restless, err = r.rest(ctx, w.Timeout, BusyLimit, c)
		r.played.Restless = cmp.Or(r.played.Restless, restless)
	} else {
		seen, err = r.await(ctx, w.Timeout, c)
	}
	var unseen *UnseenError
	if w.Optional && errors.As(err, &unseen) {
		r.Log.Info("not seen", "what", c.String())
		return nil
	}
	if err != nil {
		return err
	}
	r.Log.Debug("seen", "what", c.String(), "frame", seen.Frame)
	return nil
}

// ping does something several times, and waits for the answer to each.
func (r *run) ping(ctx context.Context, p suite.Ping) error {
	answer := Answers{Colour: p.Expect.Colour, Timeout: p.Expect.Timeout}
	c := Condition{Kind: Changed, Region: r.place(p.Expect.In)}
	if p.Expect.Colour != nil {
		c.Kind, c.Colour = Filled, *p.Expect.Colour
	} else if p.Expect.Change != nil {
		c.Region = r.place(*p.Expect.Change)
	}
	answer.Region = c.Region
	r.played.Answers = append(r.played.Answers, answer)
	next := r.Clock.Now()
	for range p.Times {
		due := max(next, r.Clock.Now()).Add(time.Duration(r.Random.Int64N(int64(p.Spread) + 1)))
		if err := r.pause(ctx, due.Sub(r.Clock.Now())); err != nil {
			return err
		}
		asked, err := r.pingOnce(ctx, p.Do, c, answer.Timeout)
		if err != nil {
			return err
		}
		next = asked.Earliest.Add(p.Every)
	}
	return nil
}

// pingOnce asks and waits for the answer. One that does not come is a miss.
func (r *run) pingOnce(ctx context.Context, do suite.Step, c Condition, limit time.Duration) (timeline.Interval,
	error) {
	asked, seen, err := r.respond(ctx, do, c, limit)
	var unseen *UnseenError
	if err != nil && !errors.As(err, &unseen) {
		return asked, err
	}
	r.played.Pings++
	r.emit(Asked, asked, map[string]string{"expect": c.String()})
	if unseen != nil {
		r.played.Misses++
		r.Log.Warn("no answer", "waited_for", c.String(), "limit", limit)
		return asked, nil
	}
	r.emit(Answered, seen.At, nil)
	return asked, nil
}

// respond executes an input action and waits for its effect, from just before the action's last
// press on. The effect may come before the action has ended.
func (r *run) respond(ctx context.Context, s suite.Step, c Condition, limit time.Duration) (asked timeline.Interval,
	seen Seen, err error) {
	timed, err := r.prepare(s)
	if err != nil {
		return asked, seen, err
	}
	at := lastPress(timed)
	start := r.Clock.Now()
	if _, err := r.do(ctx, start, timed[:at]); err != nil {
		return asked, seen, err
	}
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	looking, acted := make(chan struct{}), make(chan error, 1)
	var late *time.Timer
	go func() { // ends with its message
		select {
		case <-looking:
		case <-waiting.Done():
			acted <- nil
			return
		}
		// Not the context that ends with the wait: an action that has begun is completed.
		var err error
		if asked, err = r.do(ctx, start, timed[at:]); err != nil {
			cancel(err)
		} else {
			late = time.AfterFunc(asked.Latest.Add(limit).Sub(r.Clock.Now()), func() { cancel(errNotSeen) })
		}
		acted <- err
	}()
	c.Since = r.Clock.Now()
	_, seen, waitErr := r.Screen.Await(waiting, func() { close(looking) }, c)
	if waitErr != nil {
		cancel(waitErr)
	}
	err = <-acted
	if late != nil {
		late.Stop()
	}
	switch {
	case err != nil:
		return asked, seen, err
	case ctx.Err() != nil:
		return asked, seen, fmt.Errorf("%w, while it was waited for %s", context.Cause(ctx), c)
	case errors.Is(waitErr, errNotSeen):
		return asked, seen, &UnseenError{Waited: c.String(), For: limit}
	}
	return asked, seen, waitErr
}

// lastPress returns where the last press, touch or turn is; 0 where there is none, as in what moves
// the pointer alone.
func lastPress(timed []input.Timed) int {
	for i := len(timed) - 1; i >= 0; i-- {
		if presses(timed[i].Actions) {
			return i
		}
	}
	return 0
}

// prepare makes the actions of an input step.
func (r *run) prepare(s suite.Step) ([]input.Timed, error) {
	if r.Input == nil {
		return nil, fmt.Errorf("the device has no input: %w", errors.ErrUnsupported)
	}
	return r.gesture(s)
}

// act does an input action, at once.
func (r *run) act(ctx context.Context, s suite.Step) error {
	timed, err := r.prepare(s)
	if err == nil {
		_, err = r.do(ctx, r.Clock.Now(), timed)
	}
	return err
}

// do does actions and returns when what a user would call the act was sent: the last press, touch
// or turn, or the last of all where there is none.
func (r *run) do(ctx context.Context, start timeline.Time, timed []input.Timed) (asked timeline.Interval, err error) {
	info, pressed := r.Input.Info(), false
	err = input.Play(ctx, r.Input, start, timed, func(t input.Timed, sent timeline.Interval) {
		if presses(t.Actions) || !pressed {
			asked, pressed = sent, presses(t.Actions)
		}
		r.Emit(input.Event(info, sent, t.Actions...))
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return asked, err
}

// presses reports whether actions begin something, rather than end or go on with it.
func presses(actions []input.Action) bool {
	for _, a := range actions {
		switch a.(type) {
		case input.KeyDown, input.ButtonDown, input.TouchDown, input.Wheel, input.Text:
			return true
		}
	}
	return false
}

// area is what places are counted in.
func (r *run) area() frame.Region {
	if r.Test.Places == suite.Screen || r.played.Area == (frame.Region{}) {
		return r.Size
	}
	return r.played.Area
}

// place moves a region of the content to where it is on the screen; zero is all of the content.
func (r *run) place(in frame.Region) frame.Region {
	area := r.area()
	if in == (frame.Region{}) {
		return area
	}
	in.X += area.X
	in.Y += area.Y
	return in
}

// release lifts what the test left held down.
func (r *run) release() error {
	if r.Input == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := r.Input.Release(ctx); err != nil && !errors.Is(err, input.ErrGone) {
		return fmt.Errorf("lift held keys and fingers: %w", err)
	}
	return nil
}
