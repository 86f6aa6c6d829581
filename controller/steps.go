package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

// StepError says which step of a test failed.
type StepError struct {
	Line int
	Verb string
	Err  error
}

func (e *StepError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("step %s: %v", e.Verb, e.Err)
	}
	return fmt.Sprintf("step %s in line %d: %v", e.Verb, e.Line, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

func (r *run) steps(ctx context.Context, all []suite.Step) error {
	for _, s := range all {
		if err := r.step(ctx, s); err != nil {
			var inner *StepError
			if errors.As(err, &inner) {
				return err // of a loop: the step within it says more
			}
			return &StepError{s.Line, s.Verb(), err}
		}
	}
	return nil
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
		return r.begun(ctx)
	case suite.Load:
		first := !r.played.Began
		if err := r.load(ctx, a.URL); err != nil {
			return err
		}
		if first {
			return r.begun(ctx)
		}
		return nil
	case suite.Sleep:
		return r.pause(ctx, a.For)
	case suite.Mark:
		r.emit(a.Kind, timeline.At(r.Clock.Now()), nil)
		return nil
	case suite.Wait:
		return r.wait(ctx, a)
	case suite.Ping:
		return r.ping(ctx, a)
	case suite.Loop:
		return r.loop(ctx, a)
	}
	_, err := r.act(ctx, s, r.Clock.Now())
	return err
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
	seen, err := r.await(ctx, w.Timeout, c)
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
		asked, err := r.act(ctx, p.Do, r.Clock.Now())
		if err != nil {
			return err
		}
		next = asked.Earliest.Add(p.Every)
		if err := r.answer(ctx, asked, c, answer.Timeout); err != nil {
			return err
		}
	}
	return nil
}

// answer notes a ping and waits for its pong. One that does not come is a miss.
func (r *run) answer(ctx context.Context, asked timeline.Interval, c Condition, limit time.Duration) error {
	r.played.Pings++
	r.emit(Asked, asked, map[string]string{"expect": c.String()})
	c.Since = asked.Earliest
	seen, err := r.await(ctx, asked.Latest.Add(limit).Sub(r.Clock.Now()), c)
	var unseen *UnseenError
	switch {
	case errors.As(err, &unseen):
		r.played.Misses++
		r.Log.Warn("no answer", "waited_for", c.String(), "limit", limit)
		return nil
	case err != nil:
		return err
	}
	r.emit(Answered, seen.At, nil)
	return nil
}

// act does an input action, at once, and returns when the last of what a user would call the act was sent: the last press, touch or turn.
func (r *run) act(ctx context.Context, s suite.Step, start timeline.Time) (asked timeline.Interval, err error) {
	timed, err := r.gesture(s)
	if err != nil {
		return asked, err
	}
	if r.Input == nil {
		return asked, fmt.Errorf("the device has no input: %w", errors.ErrUnsupported)
	}
	info := r.Input.Info()
	err = input.Play(ctx, r.Input, start, timed, func(t input.Timed, sent timeline.Interval) {
		if presses(t.Actions) || asked == (timeline.Interval{}) {
			asked = sent
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
		return fmt.Errorf("lift what is held down: %w", err)
	}
	return nil
}
