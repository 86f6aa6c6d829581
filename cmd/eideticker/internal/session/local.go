package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
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
	size := device.DisplayOptions{Width: localWidth, Height: localHeight}
	if w.Window.Width > 0 {
		size = device.DisplayOptions{Width: w.Window.Width, Height: w.Window.Height}
	}
	display, err := device.StartDisplay(ctx, size)
	if err != nil {
		return nil, err
	}
	s := &localStage{link: greenLink{to: w.Link}, ctx: ctx, name: browser, display: display}
	if s.painter, err = newPainter(display.Name()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if l.Input.Kind == device.InputX11 {
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
	name    string
	display *device.Display
	browser *device.Browser // nil before Launch
	painter *painter
	input   input.Driver
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
func (s *localStage) Launch(_ context.Context, address string) (timeline.Interval, error) {
	// Not the caller's context: the browser is to stay on the screen until the recording has ended.
	browser, err := device.StartBrowser(s.ctx, device.BrowserOptions{Display: s.display, Name: s.name, URL: address})
	if err != nil {
		return timeline.Interval{}, err
	}
	s.browser = browser
	return browser.Told(), nil
}

func (s *localStage) Load(ctx context.Context, address string) (timeline.Interval, error) {
	return s.link.follow(ctx, s.input, address)
}

// greenLink is the link that covers the green page, by which a browser without bars goes to the test's address: once, and nowhere else.
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
		return timeline.Interval{}, fmt.Errorf("the browser fills the screen and has no address bar: a test can go to one address there, and first of all: %w", errors.ErrUnsupported)
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
