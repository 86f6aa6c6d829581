package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/suite"
)

// EventSource is the source of a run's own events; the kinds are those that follow, and those of
// the test's mark steps.
const (
	EventSource = "controller"

	Navigation = "navigation" // the command that goes to an address
	Launching  = "launch"     // the command that starts the browser
	Asked      = "ping"       // an action whose answer is waited for
	Answered   = "pong"       // the answer, as it was seen while recording; measures find it anew
	GreenSeen  = "green"      // the content's area is known
	Began      = "begin"      // the content began, as it was seen while recording
	Ended      = "end"        // the content ended
)

// Setup is one run of a test.
type Setup struct {
	Test    *suite.Test
	Browser Browser
	Painter Painter      // nil where nothing but pages can be shown
	Input   input.Driver // nil where the device has none
	Screen  Screen
	Clock   timeline.Clock
	Emit    func(timeline.Event) // takes events for the recording
	Log     *slog.Logger

	// Address is where the test's page or URL is, and Own says that it draws its green itself.
	// Before any other, GreenAddress is shown: a page of the rig that is green, and waits to be
	// left.
	Address      string
	Own          bool
	GreenAddress string
	Size         frame.Region // the screen; its X and Y are 0
	// Random spreads pings and chooses among recordings. It is seeded by whoever wants the same
	// again.
	Random *rand.Rand
	// Happened brings the kinds of events that others emit, for tests that end with one. Nil: none
	// come.
	Happened <-chan string
	// Gestures reads what a test's replay and script steps name; nil: such steps are refused.
	Gestures Gestures
	// ChangeLink changes the link of the device and returns its new conditions as text; nil: the
	// device has no link of the run's own.
	ChangeLink func(suite.Link) (string, error)
	// Busy returns the name of a thread of the browser that computes; "": none does.
	// Nil: it is unknown.
	Busy func(context.Context) string
	// StepsEnded is called after the last step; nil: nobody waits for it.
	StepsEnded func()
}

// Gestures turns recordings of a hand, and scripts, into actions.
type Gestures interface {
	Recorded(file string, area frame.Region) ([]input.Timed, error)
	Script(text string, area frame.Region) ([]input.Timed, error)
}

// Played is the result of a run. Its known parts are valid on an error too.
type Played struct {
	Area    frame.Region // of the content
	Began   bool         // the content was seen to begin
	Ended   bool         // and to end as the test says
	Pings   int
	Misses  int       // of Pings, as it was seen while recording
	Answers []Answers // what counts as an answer, of each ping step
	Still   bool      // the end was a stillness
	// Restless states what the page did after a stillness of a step or of the end; "": nothing.
	Restless string
}

// Answers is what counts as an answer to pings, in pixels of the screen.
type Answers struct {
	Region  frame.Region
	Colour  *suite.Colour // nil: any change
	Timeout time.Duration
}

// Limits of what does not belong to the test's own time.
const (
	greenTimeout = 90 * time.Second // a browser that starts on a busy machine
	greenHeld    = 500 * time.Millisecond
	redTimeout   = 15 * time.Second
	// toldTimeout bounds the time to start the browser, or to go to an address, with everything
	// that this needs.
	toldTimeout = 5 * time.Minute
	// The recording ends after red stood for redTail and in redFrames. A marker needs three frames.
	redTail   = 300 * time.Millisecond
	redFrames = 5
)

// Run runs a test. It returns when red stands, or when the run has failed.
func Run(ctx context.Context, s Setup) (Played, error) {
	r := &run{Setup: s}
	if err := r.check(); err != nil {
		return r.played, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.fail = cancel
	err := r.play(ctx)
	cancel(nil)
	return r.played, errors.Join(err, r.guards.Wait(), r.release())
}

// run is one at work.
type run struct {
	Setup
	played  Played
	guards  errgroup.Group
	fail    context.CancelCauseFunc
	marked  map[string]bool // kinds of events that were seen
	pointer [2]float64      // where the pointer was put last
}

func (r *run) play(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	// If a test ends after a time, the limit for endless tests must not cut it short.
	limit := r.Test.Sync.Limit + r.limit()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the test did not end within %v", limit))
	defer cancel()
	started := r.Clock.Now()
	if err := r.steps(ctx, r.Test.Steps); err != nil {
		return err
	}
	if r.StepsEnded != nil {
		r.StepsEnded()
	}
	if err := r.end(ctx, started); err != nil {
		return err
	}
	r.played.Ended = true
	return r.redStands(ctx)
}

// redStands returns when the recording has enough of the red. A slow screen needs more time for it.
// A red that goes early does not fail the run, nor does a recording that ends. The analysis judges
// the frames.
func (r *run) redStands(ctx context.Context) error {
	err := r.pause(ctx, redTail)
	if err == nil {
		_, err = r.await(ctx, redTimeout, Condition{Kind: Red, Region: r.played.Area, Frames: redFrames})
	}
	if cause := context.Cause(ctx); cause == nil || errors.Is(cause, context.Canceled) {
		if err != nil {
			r.Log.Warn("red did not stand", "error", err)
		}
		return nil
	}
	return err
}

// limit is how long the test itself may take.
func (r *run) limit() time.Duration {
	if r.Test.Timeout == 0 {
		return suite.DefaultTimeout
	}
	return r.Test.Timeout
}

// begin runs until the content's first change. If the test's own steps begin the content, it runs
// until a held green.
func (r *run) begin(ctx context.Context) error {
	switch {
	case r.launches():
		if err := r.Painter.Green(ctx); err != nil {
			return fmt.Errorf("make the screen green before the browser starts: %w", err)
		}
		return r.green(ctx)
	case r.Own:
		if err := r.launch(ctx, r.Address); err != nil {
			return err
		}
		if err := r.green(ctx); err != nil {
			return err
		}
	default:
		if err := r.launch(ctx, r.GreenAddress); err != nil {
			return err
		}
		if err := r.green(ctx); err != nil {
			return err
		}
		if err := r.pause(ctx, greenHeld); err != nil {
			return err
		}
		if r.loads() {
			return nil // the steps load the content
		}
		if err := r.load(ctx, r.Address); err != nil {
			return err
		}
	}
	return r.begun(ctx, 0)
}

// launches says that the test starts the browser itself; it then is not there before.
func (r *run) launches() bool {
	if len(r.Test.Steps) == 0 {
		return false
	}
	_, ok := r.Test.Steps[0].Action.(suite.Launch)
	return ok
}

// loads says that the test has no address of its own, since its steps go to one.
func (r *run) loads() bool { return r.Address == "" || r.Address == "about:blank" }

func (r *run) launch(ctx context.Context, address string) error {
	r.Log.Info("start the browser", "address", address)
	at, err := tell(ctx, "start", address, r.Browser.Launch)
	if err != nil {
		return fmt.Errorf("start the browser: %w", err)
	}
	r.emit(Launching, at, map[string]string{"address": address})
	r.guards.Go(func() error {
		select {
		case <-r.Browser.Ended():
			r.fail(fmt.Errorf("the browser ended in the middle of the run: %w", r.Browser.Err()))
		case <-ctx.Done():
		}
		return nil
	})
	return nil
}

func (r *run) load(ctx context.Context, address string) error {
	r.Log.Info("load", "address", address)
	at, err := tell(ctx, "load", address, r.Browser.Load)
	if err != nil {
		return fmt.Errorf("load %s: %w", address, err)
	}
	r.emit(Navigation, at, map[string]string{"address": address})
	return nil
}

// tell tells the browser something, for a limited time.
func tell(ctx context.Context, what, address string, how func(context.Context, string) (timeline.Interval,
	error)) (timeline.Interval, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, toldTimeout,
		fmt.Errorf("the device did not take within %v what it was told: %s %s", toldTimeout, what, address))
	defer cancel()
	at, err := how(ctx, address)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return at, err
}

// green waits until a green is held, and takes its box for the content's area.
func (r *run) green(ctx context.Context) error {
	seen, err := r.await(ctx, greenTimeout, Condition{Kind: Green})
	if err != nil {
		return fmt.Errorf("%w: %s", err, "is the right screen captured, and does the page draw its markers?")
	}
	r.played.Area = seen.Region
	r.Log.Info("green is held", "area", seen.Region.String(), "frame", seen.Frame)
	r.emit(GreenSeen, seen.At, map[string]string{"area": seen.Region.String()})
	area := r.area()
	return r.Test.Within(r.Size.Width-area.X, r.Size.Height-area.Y)
}

// begun waits until the green is gone in a frame from a time on.
func (r *run) begun(ctx context.Context, since timeline.Time) error {
	seen, err := r.await(ctx, r.limit(), Condition{Kind: NoGreen, Region: r.played.Area, Since: since})
	if err != nil {
		return err
	}
	r.played.Began = true
	r.Log.Info("the content begins", "frame", seen.Frame)
	r.emit(Began, seen.At, nil)
	return nil
}

// await waits for one condition, for a limited time.
func (r *run) await(ctx context.Context, limit time.Duration, c Condition) (Seen, error) {
	_, seen, err := r.awaitAny(ctx, limit, c)
	return seen, err
}

func (r *run) awaitAny(ctx context.Context, limit time.Duration, any ...Condition) (int, Seen, error) {
	limited, cancel := context.WithTimeoutCause(ctx, limit, errNotSeen)
	defer cancel()
	which, seen, err := r.Screen.Await(limited, nil, any...)
	if err == nil {
		return which, seen, nil
	}
	waited := conditions(any)
	if seen.Region != (frame.Region{}) {
		waited += fmt.Sprintf("; frame %d changed last, in %v", seen.Frame, seen.Region)
	}
	if ctx.Err() != nil {
		return 0, seen, fmt.Errorf("%w, while it was waited for %s", context.Cause(ctx), waited)
	}
	if errors.Is(err, errNotSeen) {
		return 0, seen, &UnseenError{Waited: waited, For: limit}
	}
	return 0, seen, err
}

var errNotSeen = errors.New("not seen")

// UnseenError means that the awaited condition did not appear.
type UnseenError struct {
	Waited string
	For    time.Duration
}

func (e *UnseenError) Error() string { return fmt.Sprintf("waited %v for %s", e.For, e.Waited) }

func conditions(any []Condition) (text string) {
	for i, c := range any {
		if i > 0 {
			text += ", or "
		}
		text += c.String()
	}
	return text
}

// pause waits for some time on the clock.
func (r *run) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctxError(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctxError(ctx)
	}
}

func ctxError(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
