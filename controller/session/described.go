package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/adb"
	"github.com/eideticker/eideticker/netsim/link"
)

// described is a device beside this machine, or an existing display of this machine.
type described struct{ device.Description }

func (d described) Name() string { return d.Description.Name }

// Host returns the address of the interface to which the device is connected.
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

// reachable returns the address of this machine for others. It prefers IPv4. Address bars accept no
// link-local address.
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

// Limits for a device to report its health, and to get ready for a run.
const (
	healthTimeout = 30 * time.Second
	readyTimeout  = 2 * time.Minute
)

func (d described) Open(ctx context.Context, w Wanted) (Stage, error) {
	browser := w.Browser
	if w.Program == "" {
		var err error
		if browser, err = d.Browser(w.Browser); err != nil {
			return nil, err
		}
	}
	s := &describedStage{link: greenLink{to: w.Link}, ctx: ctx, device: d.Description, name: browser, wanted: w}
	if w.Program != "" {
		if err := s.install(ctx); err != nil {
			return nil, fmt.Errorf("device %s: %w", d.Name(), err)
		}
	}
	limited, cancel := context.WithTimeoutCause(ctx, readyTimeout,
		fmt.Errorf("not ready within %v", readyTimeout))
	defer cancel()
	if err := s.open(limited); err != nil {
		return nil, errors.Join(fmt.Errorf("device %s: %w", d.Name(), err), s.Close())
	}
	return s, nil
}

// describedStage is such a device during a run.
type describedStage struct {
	link    greenLink
	ctx     context.Context // a browser of this machine ends with it
	device  device.Description
	name    string // of the browser; "": the running one
	input   input.Driver
	painter *painter
	android *device.Android // nil: not an Android device
	model   string
	program *device.Browser // of this machine; nil before Launch
	started bool            // an Android browser was started
	wanted  Wanted
	server  adb.Server
	ports   []func(context.Context) error // remove the ports that lead from the device to this machine
	health  device.Health                 // of an Android device
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
		if s.device.Network == "" { // the device cannot reach the loopback
			for _, port := range s.wanted.Ports {
				remove, err := found.Reverse(ctx, port)
				if err != nil {
					return err
				}
				s.ports = append(s.ports, remove)
			}
		}
	}
	if s.input, err = openInput(ctx, s.device.Input); err != nil { // fails if it does not answer
		return err
	}
	if s.onDisplay() {
		s.painter, err = newPainter(s.device.Input.Target)
	}
	return err
}

// install installs the build of an Android device.
func (s *describedStage) install(ctx context.Context) error {
	serial, _ := s.device.Android()
	found, err := s.server.Find(ctx, serial)
	if err != nil {
		return err
	}
	s.wanted.say("install", "device", s.device.Name, "app", s.name, "apk", s.wanted.Program)
	err = device.NewAndroid(found, s.device, nil).Install(ctx, s.name, s.wanted.Program)
	if errors.Is(err, device.ErrAPK) {
		return buildError{err}
	}
	return inLab(err)
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
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	return nil
}

// errUnfit is the error of a device that answers, but whose state would distort a run.
var errUnfit = errors.New("not fit for a run")

// intents reports if intents reach the browser.
func (s *describedStage) intents() bool {
	return s.android != nil && s.name != "" && s.name != device.Running
}

// onDisplay reports if the device is a display of this machine.
func (s *describedStage) onDisplay() bool { return s.device.Input.Kind == device.InputX11 }

func (s *describedStage) Source() string { return s.device.Source }

func (s *describedStage) Input() input.Driver { return s.input }

func (s *describedStage) Painter() controller.Painter {
	if s.painter == nil {
		return nil
	}
	return s.painter
}

// Launch starts the browser. If it cannot be started from here, the running one goes to the
// address.
func (s *describedStage) Launch(ctx context.Context, address string) (timeline.Interval, error) {
	switch {
	case s.onDisplay() && s.name != device.Running:
		// Not the caller's context: the browser stays on the screen until the recording has ended.
		browser, err := device.StartBrowser(s.ctx, device.BrowserOptions{On: s.device.Input.Target, Name: s.name,
			URL: address, Bars: s.wanted.Navigates, Inspect: s.wanted.Inspect, Untrusted: s.wanted.Untrusted,
			Egress: s.wanted.Egress})
		if err != nil {
			return timeline.Interval{}, err
		}
		s.program = browser
		return browser.Started(), nil
	case s.onDisplay() && s.wanted.Untrusted:
		return timeline.Interval{},
			fmt.Errorf("device %s has a browser of its own, which may read local files; untrusted tests need a "+
				"virtual display: %w", s.device.Name, errors.ErrUnsupported)
	case s.intents():
		s.started = true
		return s.android.Start(ctx, s.name, address)
	}
	return s.typed(ctx, address)
}

func (s *describedStage) launched() *device.Browser { return s.program }

// Load goes to an address with an intent or with input. On a screen of another device, the first
// change need not be the address bar. So input waits a fixed time after it reached for the bar.
func (s *describedStage) Load(ctx context.Context, address string) (timeline.Interval, error) {
	if s.intents() {
		return s.android.View(ctx, s.name, address)
	}
	switch {
	case s.program != nil && s.wanted.Navigates:
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
		return nil // unknown
	}
	return s.program.Done()
}

func (s *describedStage) Err() error { return s.program.Err() }

func (s *describedStage) About() result.Environment {
	shared := "no"
	if s.onDisplay() || strings.HasPrefix(s.device.Source, "x11:") {
		shared = "yes"
	}
	env := result.Environment{result.EnvDUT: s.device.Name, result.EnvMachineShared: shared}
	noteInput(env, s.input)
	var said []string
	for _, f := range s.health {
		said = append(said, f.Text)
	}
	put(env, result.EnvHealth, strings.Join(said, "; "))
	if s.model != "" {
		env[result.EnvDUT] += ", " + s.model
	}
	if s.name != "" && s.name != device.Running {
		env[result.EnvBrowser] = s.name
	}
	switch {
	case s.program != nil && s.program.Version() != "":
		env[result.EnvBrowser] = s.program.Version()
	case s.android != nil && s.started:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), healthTimeout)
		defer cancel()
		if v := s.android.Version(ctx, s.name); v != "" {
			env[result.EnvBrowser] += " " + v
		}
	}
	return env
}

// Close ends all that was started. A browser that was running before stays.
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
		if err := s.android.Stop(ctx, s.name); !errors.Is(err, input.ErrGone) { // the device is gone
			errs = append(errs, err)
		}
		s.started = false
	}
	for _, remove := range s.ports {
		errs = append(errs, remove(ctx))
	}
	s.ports = nil
	if s.painter != nil {
		s.painter.close()
		s.painter = nil
	}
	return errors.Join(errs...)
}
