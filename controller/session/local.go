package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/webdriver"
	"github.com/eideticker/eideticker/controller/session/testnet"
)

// local is this machine: a virtual display for each run, and a browser on it.
type local struct{ device.Description }

const (
	localWidth, localHeight = 1280, 720 // more starves two cores of Chromium
	localFPS                = 60
)

func (l local) Name() string { return l.Description.Name }

func (l local) Open(ctx context.Context, w Wanted) (Stage, error) {
	browser, err := l.Browser(w.Browser)
	if err != nil {
		return nil, err
	}
	if browser == "" && l.Input.Kind == device.InputWebdriver {
		browser = "firefox"
	}
	size := device.DisplayOptions{Width: localWidth, Height: localHeight}
	if w.Window.Width > 0 {
		size = device.DisplayOptions{Width: w.Window.Width, Height: w.Window.Height}
	}
	display, err := device.StartDisplay(ctx, size)
	if err != nil {
		return nil, err
	}
	s := &localStage{link: greenLink{to: w.Link}, ctx: ctx, name: browser, display: display, goes: w.Navigates,
		bar: l.AddressBar, network: w.Network, trust: w.Trust, untrusted: w.Untrusted, egress: w.Egress}
	if s.painter, err = newPainter(display.Name()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	switch l.Input.Kind {
	case device.InputWebdriver:
		s.page = &pageHand{}
		s.input = s.page
		return s, nil
	case device.InputX11:
		l.Input.Target = display.Name()
	}
	if s.input, err = openInput(ctx, l.Input); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// localStage is a virtual display with a browser.
type localStage struct {
	link      greenLink
	ctx       context.Context // browser and display end with it
	name      string
	display   *device.Display
	browser   *device.Browser // nil before Launch
	painter   *painter
	input     input.Driver
	page      *pageHand // the input, where that is of the browser itself; else nil
	goes      bool      // the test goes to addresses
	bar       device.AddressBar
	screen    controller.Screen    // that the run sees; nil: none yet
	network   *testnet.Network     // that the browser is in; nil: this machine's
	trust     *device.Authority    // of the servers there; nil: nobody of ours
	untrusted bool                 // the test is somebody else's
	egress    *device.EgressPolicy // all that it reaches of the network; nil: what this machine does
}

func (s *localStage) Source() string {
	return fmt.Sprintf("x11:%s?fps=%d&cursor=0", s.display.Name(), localFPS)
}

func (s *localStage) Input() input.Driver { return s.input }

func (s *localStage) Painter() controller.Painter {
	if s.painter == nil {
		return nil
	}
	return s.painter
}

// Launch returns when the browser fills the screen, and when it was told to start.
func (s *localStage) Launch(ctx context.Context, address string) (timeline.Interval, error) {
	// Not the caller's context: the browser is to stay on the screen until the recording has ended.
	o := device.BrowserOptions{Display: s.display, Name: s.name, URL: address, Bars: s.goes &&
		s.page == nil, Remote: s.page != nil, Untrusted: s.untrusted, Egress: s.egress, Authority: s.trust}
	if s.network != nil {
		o.Start = s.network.Link.Device.Start
	}
	browser, err := device.StartBrowser(s.ctx, o)
	if err != nil {
		return timeline.Interval{}, err
	}
	s.browser = browser
	if s.page != nil {
		if err := s.page.reach(ctx, browser); err != nil {
			return timeline.Interval{}, err
		}
	}
	return browser.Started(), nil
}

func (s *localStage) launched() *device.Browser { return s.browser }

func (s *localStage) Load(ctx context.Context, address string) (timeline.Interval, error) {
	switch {
	case s.page != nil:
		return s.page.navigate(ctx, address)
	case s.goes:
		return typeAddress(ctx, device.Typed{Input: s.input, Bar: s.bar, Clock: timeline.Monotonic(), Opens: s.opens},
			address)
	}
	return s.link.follow(ctx, s.input, address)
}

// watchBy has the stage see what its browser does.
func (s *localStage) watchBy(screen controller.Screen) { s.screen = screen }

const (
	// barLimit is how long it is waited for that the address bar shows that it was reached: it may
	// have been reached before, and look the same.
	barLimit = 10 * time.Second
	// calm is how long nothing changes on a screen whose next change is the bar's, and calmLimit
	// how long that is waited for: a page may move for ever.
	calm      = 500 * time.Millisecond
	calmLimit = 5 * time.Second
)

// opens reaches the address bar and waits until something on the screen has changed, as a user
// does: a browser whose page is busy opens it later, and loses what is typed before.
func (s *localStage) opens(ctx context.Context, reach func(context.Context) error) error {
	if s.screen == nil {
		return reach(ctx)
	}
	moves := errors.New("the screen is never still")
	settling, end := context.WithTimeoutCause(ctx, calmLimit, moves)
	defer end()
	_, _, err := s.screen.Await(settling, nil, controller.Condition{Kind: controller.Still, For: calm,
		Since: timeline.Monotonic().Now()})
	if err != nil && !errors.Is(err, moves) {
		return err
	}
	same := errors.New("the address bar looks as before")
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	looking, reached := make(chan struct{}), make(chan error, 1)
	var late *time.Timer
	go func() { // ends with its message
		select {
		case <-looking:
		case <-waiting.Done():
			reached <- nil
			return
		}
		err := reach(ctx)
		if err != nil {
			cancel(err)
		} else {
			// from here on: what was not reached cannot look the same
			late = time.AfterFunc(barLimit, func() { cancel(same) })
		}
		reached <- err
	}()
	_, _, seen := s.screen.Await(waiting, func() { close(looking) },
		controller.Condition{Kind: controller.Changed, Since: timeline.Monotonic().Now()})
	if seen != nil {
		cancel(seen)
	}
	err = <-reached
	if late != nil {
		late.Stop()
	}
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	if errors.Is(seen, same) {
		return nil
	}
	return seen
}

// typeAddress goes to an address by the bar of a browser of this machine.
func typeAddress(ctx context.Context, t device.Typed, address string) (timeline.Interval, error) {
	asked, err := Address(address)
	if err != nil {
		return timeline.Interval{}, err
	}
	if t.Input == nil {
		return timeline.Interval{}, fmt.Errorf("there is no input to go there with: %w", errors.ErrUnsupported)
	}
	return t.Go(ctx, asked)
}

// greenLink is the link that covers the green page, by which a browser without bars goes to the
// test's address: once, and nowhere else.
type greenLink struct {
	to   string
	left bool
}

// follow goes to an address, if it is that of the link.
func (l *greenLink) follow(ctx context.Context, hand input.Driver, address string) (timeline.Interval, error) {
	asked, err := Address(address)
	if err != nil {
		return timeline.Interval{}, err
	}
	if to, err := Address(l.to); err != nil || to != asked || l.left {
		return timeline.Interval{},
			fmt.Errorf("the browser fills the screen and has no address bar: it only loads the test's address: %w", errors.ErrUnsupported)
	}
	l.left = true
	if hand == nil {
		return timeline.Interval{}, fmt.Errorf("there is no input to go there with: %w", errors.ErrUnsupported)
	}
	press := []input.Action{input.ButtonDown{Button: input.Left}}
	release := []input.Action{input.ButtonUp{Button: input.Left}}
	var all timeline.Interval
	for i, actions := range [][]input.Action{{input.Move{X: 1, Y: 1}}, press, release} {
		sent, err := hand.Do(ctx, 0, actions...)
		if err != nil {
			return all, err
		}
		if i == 1 {
			all.Earliest = sent.Earliest
		}
		all.Latest = sent.Latest
	}
	return all, nil
}

func (s *localStage) Ended() <-chan struct{} {
	if s.browser == nil {
		return nil
	}
	return s.browser.Done()
}

func (s *localStage) Err() error { return s.browser.Err() }

func (s *localStage) About() report.Environment {
	env := ofThisMachine()
	env[report.EnvDUT], env[report.EnvMachineShared] = "this machine", "yes"
	noteInput(env, s.input)
	if s.browser != nil {
		env[report.EnvBrowser] = s.browser.Name()
		if v := s.browser.Version(); v != "" {
			env[report.EnvBrowser] = v
		}
	}
	return env
}

func (s *localStage) Close() error {
	var errs []error
	if s.input != nil {
		errs = append(errs, s.input.Close())
	}
	if s.browser != nil {
		errs = append(errs, s.browser.Close())
	}
	if s.painter != nil {
		s.painter.close()
		s.painter = nil // a connection cannot be closed twice
	}
	return errors.Join(append(errs, s.display.Close())...)
}

// pageHand gives input to the page of a browser, by WebDriver BiDi. There is nobody to give it to
// before the browser runs.
type pageHand struct {
	driver *webdriver.Driver // nil before reach
}

// reachTimeout is how long a browser whose window is there may take until it listens.
const reachTimeout = 30 * time.Second

// reach connects to a browser that has been started.
func (h *pageHand) reach(ctx context.Context, b *device.Browser) error {
	ctx, cancel := context.WithTimeoutCause(ctx, reachTimeout, fmt.Errorf("timeout after %v", reachTimeout))
	defer cancel()
	endpoint, err := b.Endpoint(ctx)
	if err != nil {
		return err
	}
	h.driver, err = webdriver.Open(ctx, endpoint)
	return err
}

var errNoPage = errors.New("webdriver: the browser has not been started")

// navigate has the page go to an address: keys that are given to a page do not reach the browser's
// address bar.
func (h *pageHand) navigate(ctx context.Context, address string) (timeline.Interval, error) {
	asked, err := Address(address)
	if err != nil {
		return timeline.Interval{}, err
	}
	if h.driver == nil {
		return timeline.Interval{}, errNoPage
	}
	return h.driver.Navigate(ctx, asked)
}

// Do is as [input.Driver] has it.
func (h *pageHand) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	if h.driver == nil {
		return timeline.Interval{}, errNoPage
	}
	return h.driver.Do(ctx, at, actions...)
}

// Release is as [input.Driver] has it.
func (h *pageHand) Release(ctx context.Context) error {
	if h.driver == nil {
		return nil
	}
	return h.driver.Release(ctx)
}

// Info is as [input.Driver] has it.
func (h *pageHand) Info() input.Info {
	if h.driver == nil {
		return webdriver.Info("")
	}
	return h.driver.Info()
}

// Close is as [input.Driver] has it.
func (h *pageHand) Close() error {
	if h.driver == nil {
		return nil
	}
	return h.driver.Close()
}
