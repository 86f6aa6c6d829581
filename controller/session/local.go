package session

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/webdriver"
	"github.com/eideticker/eideticker/controller/session/inspect"
)

// local is this machine, with a browser on a new virtual display for each run.
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
	s := &localStage{link: greenLink{to: w.Link}, ctx: ctx, wanted: w, name: browser, display: display,
		bar: l.AddressBar, barAt: barRegion(size)}
	if s.painter, err = newPainter(display.Name()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	switch l.Input.Kind {
	case device.InputWebdriver:
		s.page = &pageInput{}
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
	link    greenLink
	ctx     context.Context // browser and display end with it
	wanted  Wanted
	name    string // of the browser
	display *device.Display
	browser *device.Browser // nil before Launch
	painter *painter
	input   input.Driver
	page    *pageInput   // the input, if it is the browser's own; else nil
	side    inspect.Page // by which the page's claims are read; nil: they are not
	bar     device.AddressBar
	barAt   frame.Region      // changes when the address bar opens
	screen  controller.Screen // of the run; nil before watchBy
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

// Launch waits until the browser fills the screen. It returns the time of its start.
func (s *localStage) Launch(ctx context.Context, address string) (timeline.Interval, error) {
	// Not the caller's context: the browser stays on the screen until the recording has ended.
	w := &s.wanted
	o := device.BrowserOptions{Display: s.display, Name: s.name, Program: w.Program, URL: address,
		Bars:   w.Navigates && s.page == nil,
		Remote: s.page != nil, Inspect: w.Inspect || w.Vitals, Untrusted: w.Untrusted, Egress: w.Egress,
		Authority: w.Trust, Instead: w.Instead}
	switch {
	case w.Network != nil && w.Profile != nil:
		begin := w.Profile.Start(nil)
		o.Start = func(cmd *exec.Cmd) error { return w.Network.Link.Device.StartBy(cmd, begin) }
	case w.Network != nil:
		o.Start = w.Network.Link.Device.Start
	case w.Profile != nil:
		o.Start = w.Profile.Start(nil)
	}
	if w.Vitals {
		o.URL = "about:blank" // a script must be there before the page
	}
	running, end := context.WithCancelCause(s.ctx)
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	browser, err := device.StartBrowser(running, o)
	stop()
	if err != nil {
		return timeline.Interval{}, err
	}
	s.browser = browser
	if s.page != nil && !w.Inspect { // else the one session is another's
		if err := s.page.reach(ctx, browser); err != nil {
			return timeline.Interval{}, err
		}
	}
	if w.Vitals {
		if err := s.observe(ctx, address); err != nil {
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
	case s.wanted.Navigates:
		return typeAddress(ctx, device.Typed{Input: s.input, Bar: s.bar, Clock: timeline.Monotonic(), Opens: s.opens},
			address)
	}
	return s.link.follow(ctx, s.input, address)
}

// watchBy sets the screen on which the stage sees its browser.
func (s *localStage) watchBy(screen controller.Screen) { s.screen = screen }

const (
	// barLimit limits the wait for a change of the address bar. A bar that had the focus before may
	// look the same.
	barLimit = 10 * time.Second
	// calm is the stillness after which the next change is the bar's. calmLimit limits the wait for
	// it: a page may move forever.
	calm      = 500 * time.Millisecond
	calmLimit = 5 * time.Second
)

// opens reaches for the address bar and waits until it changes, as a user does. A browser
// with a busy page opens the bar later, and loses text that is typed before.
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
			// from here on: a bar without the focus cannot look the same
			late = time.AfterFunc(barLimit, func() { cancel(same) })
		}
		reached <- err
	}()
	_, _, seen := s.screen.Await(waiting, func() { close(looking) },
		controller.Condition{Kind: controller.Changed, Region: s.barAt, Since: timeline.Monotonic().Now()})
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

// barRegion returns a part of the address bars of browsers of this machine. Tabs, buttons, the page
// and a browser's messages about it are not in it. They may change before the bar opens.
func barRegion(screen device.DisplayOptions) frame.Region {
	const top, height = 44, 36
	if screen.Height < top+height {
		return frame.Region{} // all of it
	}
	return frame.Region{X: screen.Width / 4, Y: top, Width: screen.Width / 2, Height: height}
}

// typeAddress goes to an address with the address bar of a browser of this machine.
func typeAddress(ctx context.Context, t device.Typed, address string) (timeline.Interval, error) {
	asked, err := Address(address)
	if err != nil {
		return timeline.Interval{}, err
	}
	if t.Input == nil {
		return timeline.Interval{}, fmt.Errorf("it needs an input to go there: %w", errors.ErrUnsupported)
	}
	return t.Go(ctx, asked)
}

// greenLink is the link on the green page. A browser without an address bar follows it to the
// test's address, once.
type greenLink struct {
	to   string
	left bool
}

// follow goes to an address, if it is the link's target.
func (l *greenLink) follow(ctx context.Context, hand input.Driver, address string) (timeline.Interval, error) {
	asked, err := Address(address)
	if err != nil {
		return timeline.Interval{}, err
	}
	if to, err := Address(l.to); err != nil || to != asked || l.left {
		return timeline.Interval{},
			fmt.Errorf("the browser fills the screen and has no address bar: it only loads the test's address: %w",
				errors.ErrUnsupported)
	}
	l.left = true
	if hand == nil {
		return timeline.Interval{}, fmt.Errorf("it needs an input to go there: %w", errors.ErrUnsupported)
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

func (s *localStage) About() result.Environment {
	env := ofThisMachine()
	env[result.EnvDUT], env[result.EnvMachineShared] = "this machine", "yes"
	noteInput(env, s.input)
	if s.browser != nil {
		env[result.EnvBrowser] = s.browser.Name()
		if v := s.browser.Version(); v != "" {
			env[result.EnvBrowser] = v
		}
	}
	return env
}

func (s *localStage) Close() error {
	var errs []error
	if s.input != nil {
		errs = append(errs, s.input.Close())
	}
	if s.side != nil && s.page == nil { // else it is the input
		errs = append(errs, s.side.Close())
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

// pageInput is the input of a browser's page, by WebDriver BiDi. It fails before the browser runs.
type pageInput struct {
	driver *webdriver.Driver // nil before reach
}

// reachTimeout limits the time from a browser's window until it listens.
const reachTimeout = 30 * time.Second

// reach connects to a browser.
func (p *pageInput) reach(ctx context.Context, b *device.Browser) error {
	ctx, cancel := context.WithTimeoutCause(ctx, reachTimeout, fmt.Errorf("timeout after %v", reachTimeout))
	defer cancel()
	endpoint, err := b.Endpoint(ctx)
	if err != nil {
		return err
	}
	p.driver, err = webdriver.Open(ctx, endpoint)
	return err
}

var errNoPage = errors.New("webdriver: the browser has not been started")

// navigate loads an address. Keys of a page's input do not reach the browser's address bar.
func (p *pageInput) navigate(ctx context.Context, address string) (timeline.Interval, error) {
	asked, err := Address(address)
	if err != nil {
		return timeline.Interval{}, err
	}
	if p.driver == nil {
		return timeline.Interval{}, errNoPage
	}
	return p.driver.Navigate(ctx, asked)
}

// Do implements [input.Driver].
func (p *pageInput) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	if p.driver == nil {
		return timeline.Interval{}, errNoPage
	}
	return p.driver.Do(ctx, at, actions...)
}

// Release implements [input.Driver].
func (p *pageInput) Release(ctx context.Context) error {
	if p.driver == nil {
		return nil
	}
	return p.driver.Release(ctx)
}

// Info implements [input.Driver].
func (p *pageInput) Info() input.Info {
	if p.driver == nil {
		return webdriver.Info("")
	}
	return p.driver.Info()
}

// Close implements [input.Driver].
func (p *pageInput) Close() error {
	if p.driver == nil {
		return nil
	}
	return p.driver.Close()
}
