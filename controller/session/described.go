package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/adb"
	"github.com/eideticker/eideticker/netsim/link"
)

// described is a device of its own, or a display of this machine that is there already.
type described struct{ device.Description }

func (d described) Name() string { return d.Description.Name }

// Host is the address of the interface by which the device is fed.
func (d described) Host() (string, error) {
	if d.Network == "" {
		return "", nil
	}
	if err := link.RestoreInterface(d.Network); err != nil { // of a run that was killed
		return "", fmt.Errorf("device %s: %w", d.Name(), err)
	}
	i, err := net.InterfaceByName(d.Network)
	if err != nil {
		return "", fmt.Errorf("device %s: network %s: %w", d.Name(), d.Network, err)
	}
	all, err := i.Addrs()
	if err != nil {
		return "", fmt.Errorf("device %s: network %s: %w", d.Name(), d.Network, err)
	}
	host, ok := reachable(all)
	if !ok {
		return "", fmt.Errorf("device %s: network %s has no address; is it up?", d.Name(), d.Network)
	}
	return host, nil
}

// reachable returns the address at which others find this machine: one of IPv4 before others, and
// none that is of a link alone, which no address bar takes.
func reachable(all []net.Addr) (host string, ok bool) {
	for _, a := range all {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || p.Addr().IsLinkLocalUnicast() {
			continue
		}
		if p.Addr().Is4() {
			return p.Addr().String(), true
		}
		if host == "" {
			host = p.Addr().String()
		}
	}
	return host, host != ""
}

// How long a device may take to say how it is, and to become ready for a run.
const (
	healthTimeout = 30 * time.Second
	readyTimeout  = 2 * time.Minute
)

func (d described) Open(ctx context.Context, w Wanted) (Stage, error) {
	browser, err := d.Browser(w.Browser)
	if err != nil {
		return nil, err
	}
	s := &describedStage{link: greenLink{to: w.Link}, ctx: ctx, device: d.Description, name: browser, goes: w.Navigates,
		wanted: w}
	limited, cancel := context.WithTimeoutCause(ctx, readyTimeout,
		fmt.Errorf("not ready within %v", readyTimeout))
	defer cancel()
	if err := s.open(limited); err != nil {
		return nil, errors.Join(fmt.Errorf("device %s: %w", d.Name(), err), s.Close())
	}
	return s, nil
}

// describedStage is such a device at work.
type describedStage struct {
	link    greenLink
	ctx     context.Context // a browser of this machine ends with it
	device  device.Description
	name    string // of the browser; "": the one that runs already
	input   input.Driver
	painter *painter
	android *device.Android // nil: not known by adb
	model   string
	program *device.Browser // of this machine; nil before Launch
	started bool            // an Android browser was started
	goes    bool            // the test goes to addresses
	wanted  Wanted
	server  adb.Server
	led     []func(context.Context) error // what takes away again the ways from the device to this machine
	health  device.Health                 // what an Android device has said of itself
}

func (s *describedStage) open(ctx context.Context) (err error) {
	if serial, ok := s.device.Android(); ok {
		found, err := s.server.Find(ctx, serial)
		if err != nil {
			return err
		}
		s.android = device.NewAndroid(found, s.device, timeline.Monotonic())
		if err := s.healthy(ctx); err != nil {
			return err
		}
		s.model = s.android.Model(ctx)
		if s.device.Network == "" { // pages are served where the device does not reach them
			for _, port := range s.wanted.Ports {
				remove, err := found.Reverse(ctx, port)
				if err != nil {
					return err
				}
				s.led = append(s.led, remove)
			}
		}
	}
	if s.input, err = openInput(ctx, s.device.Input); err != nil { // that it answers is seen here
		return err
	}
	if s.onDisplay() {
		s.painter, err = newPainter(s.device.Input.Target)
	}
	return err
}

func (s *describedStage) healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTimeout, fmt.Errorf("the device did not say within %v how it is",
		healthTimeout))
	defer cancel()
	var err error
	if s.health, err = s.android.Health(ctx); err != nil {
		return err
	}
	for _, f := range s.health {
		s.wanted.say("health", "device", s.device.Name, "says", f.Text, "refused", f.Refused)
	}
	if err := s.health.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	return nil
}

// ErrUnfit says that a device answers, and that a run on it would measure something else than it is
// meant to.
var ErrUnfit = errors.New("not fit for a run")

// intents says that the browser is one that intents reach.
func (s *describedStage) intents() bool {
	return s.android != nil && s.name != "" && s.name != device.Running
}

// onDisplay says that the device is a display of this machine.
func (s *describedStage) onDisplay() bool { return s.device.Input.Kind == device.InputX11 }

func (s *describedStage) Source() string { return s.device.Source }

func (s *describedStage) Input() input.Driver { return s.input }

func (s *describedStage) Painter() controller.Painter {
	if s.painter == nil {
		return nil
	}
	return s.painter
}

// Launch starts the browser, or, where the device has none that could be started from here, has the
// one that runs go to the address.
func (s *describedStage) Launch(ctx context.Context, address string) (timeline.Interval, error) {
	switch {
	case s.onDisplay() && s.name != device.Running:
		// Not the caller's context: the browser is to stay on the screen until the recording has
		// ended.
		browser, err := device.StartBrowser(s.ctx, device.BrowserOptions{On: s.device.Input.Target, Name: s.name,
			URL: address, Bars: s.goes, Untrusted: s.wanted.Untrusted, Egress: s.wanted.Egress})
		if err != nil {
			return timeline.Interval{}, err
		}
		s.program = browser
		return browser.Started(), nil
	case s.onDisplay() && s.wanted.Untrusted:
		return timeline.Interval{},
			fmt.Errorf("device %s has a browser of its own, which may read local files; untrusted tests need a virtual display: %w", s.device.Name, errors.ErrUnsupported)
	case s.intents():
		s.started = true
		return s.android.Start(ctx, s.name, address)
	}
	return s.typed(ctx, address)
}

func (s *describedStage) launched() *device.Browser { return s.program }

// Load goes to an address by an intent, or by hand. By hand it types a fixed time after it has
// reached for the address bar: what changes first on a screen that is not its own need not be the
// bar.
func (s *describedStage) Load(ctx context.Context, address string) (timeline.Interval, error) {
	if s.intents() {
		return s.android.View(ctx, s.name, address)
	}
	switch {
	case s.program != nil && s.goes:
		return typeAddress(ctx, device.Typed{Input: s.input, Bar: s.device.AddressBar, Clock: timeline.Monotonic()},
			address)
	case s.program != nil:
		return s.link.follow(ctx, s.input, address)
	}
	return s.typed(ctx, address)
}

func (s *describedStage) typed(ctx context.Context, address string) (timeline.Interval, error) {
	if s.input == nil {
		return timeline.Interval{},
			fmt.Errorf("device %s has neither a browser to start nor an input to type with: %w",
				s.device.Name, errors.ErrUnsupported)
	}
	t := device.Typed{Input: s.input, Bar: s.device.AddressBar, Touch: s.device.Input.Kind == device.InputADB,
		Clock: timeline.Monotonic()}
	return t.Go(ctx, address)
}

func (s *describedStage) Ended() <-chan struct{} {
	if s.program == nil {
		return nil // what is not ours does not tell
	}
	return s.program.Done()
}

func (s *describedStage) Err() error { return s.program.Err() }

func (s *describedStage) About() report.Environment {
	shared := "no"
	if s.onDisplay() || strings.HasPrefix(s.device.Source, "x11:") {
		shared = "yes"
	}
	env := report.Environment{report.EnvDUT: s.device.Name, report.EnvMachineShared: shared}
	noteInput(env, s.input)
	var said []string
	for _, f := range s.health {
		said = append(said, f.Text)
	}
	put(env, report.EnvHealth, strings.Join(said, "; "))
	if s.model != "" {
		env[report.EnvDUT] += ", " + s.model
	}
	if s.name != "" && s.name != device.Running {
		env[report.EnvBrowser] = s.name
	}
	switch {
	case s.program != nil && s.program.Version() != "":
		env[report.EnvBrowser] = s.program.Version()
	case s.android != nil && s.started:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), healthTimeout)
		defer cancel()
		if v := s.android.Version(ctx, s.name); v != "" {
			env[report.EnvBrowser] += " " + v
		}
	}
	return env
}

// Close ends what was started. A browser that was there before stays.
func (s *describedStage) Close() error {
	var errs []error
	if s.input != nil {
		errs = append(errs, s.input.Close())
	}
	if s.program != nil {
		errs = append(errs, s.program.Close())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), healthTimeout)
	defer cancel()
	if s.started {
		if err := s.android.Stop(ctx, s.name); !errors.Is(err, input.ErrGone) { // nothing can be ended on what is gone
			errs = append(errs, err)
		}
		s.started = false
	}
	for _, remove := range s.led {
		errs = append(errs, remove(ctx))
	}
	s.led = nil
	if s.painter != nil {
		s.painter.close()
		s.painter = nil
	}
	return errors.Join(errs...)
}
