package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/profile"
)

// prepared is a device with its network and its pages, ready for a run. Its owner calls Close, also
// after an error of prepare. What Close ends may be read after it.
type prepared struct {
	network     *runNetwork // nil: the device's own
	figures     *Network    // of the network, also of one that was refused; nil: the device's own
	pages       *pages
	egress      *device.EgressPolicy // of the browser; nil: all
	profile     *profile.Session     // of the browser's activity; nil: none
	stage       Stage
	source      capture.Source
	environment result.Environment
	closers     []func() error
}

// Close ends all parts, the last one first. It is idempotent.
func (p *prepared) Close() (err error) {
	for _, end := range slices.Backward(p.closers) {
		err = errors.Join(err, end())
	}
	p.closers = nil
	return err
}

func (p *prepared) onClose(end func() error) { p.closers = append(p.closers, end) }

// prepare opens the test's network and serves its pages. Then it opens the device and the source of
// its screen. The result is never nil.
func (r *run) prepare(ctx context.Context) (p *prepared, err error) {
	p = &prepared{}
	local := r.live(ctx)
	on := Variant{Device: r.Device, Browser: r.Browser, Program: r.BrowserProgram, Build: r.BrowserBuild, Site: r.Site}
	archive, err := check(r.Test, local != nil, on)
	if err != nil {
		return p, err
	}
	if r.vitals() && r.Untrusted {
		return p, ErrUntrustedVitals
	}
	if err := r.checkUntrusted(); err != nil {
		return p, err
	}
	r.phase("getting the device ready")
	var listen listening
	if r.Test.Network.Given() {
		if p.network, p.figures, err = r.openNetwork(ctx, archive, local); err != nil {
			return p, err
		}
		p.onClose(p.network.Close)
		if err := r.forward(ctx, p.network, local); err != nil {
			return p, err
		}
		listen = onNetwork(p.network.Network)
	} else {
		host, err := pagesHost(r.Device)
		if err != nil {
			return p, err
		}
		listen = onHost(host)
	}
	listen.plan, listen.site, listen.sites = r.plan, r.Site, r.sites
	if p.pages, err = servePages(ctx, r.Test, archive, local, r.Dir, listen); err != nil {
		return p, err
	}
	p.onClose(p.pages.close)
	if p.pages.keys != nil && p.figures != nil {
		p.figures.KeyLog = KeyLogFile
	}
	if r.Untrusted && !r.AllowLoopback && p.network == nil { // a network of its own has no services but the pages
		p.egress = &device.EgressPolicy{Pages: p.pages.served}
	}
	if p.profile, err = r.openProfile(ctx, p, false); err != nil {
		return p, err
	}
	if p.stage, err = r.Device.Open(ctx, r.wanted(p)); err != nil {
		return p, err
	}
	p.onClose(func() error {
		err := p.stage.Close()
		r.log.Info("the device is as it was")
		return err
	})
	if p.network != nil {
		if err := r.joined(ctx, p.network); err != nil {
			return p, err
		}
	}
	if p.source, err = recorder.OpenSource(ctx, p.stage.Source()); err != nil {
		return p, err
	}
	p.onClose(p.source.Close)
	if p.profile == nil {
		if p.profile, err = r.openProfile(ctx, p, true); err != nil {
			return p, err
		}
	}
	p.pages.drawMessages(p.source.Info(), r.form)
	p.environment = ofRig()
	maps.Copy(p.environment, p.stage.About())
	put(p.environment, result.EnvBuild, r.BrowserBuild)
	if p.figures != nil {
		p.environment[result.EnvNetwork] = p.figures.String()
	}
	r.log.Info("ready", "device", r.Device.Name(), "source", p.source.Info().URI)
	return p, nil
}

func (r *run) wanted(p *prepared) Wanted {
	w := Wanted{Browser: r.Browser, Program: r.BrowserProgram, Window: r.Test.Window,
		Link: p.pages.address, Navigates: navigates(r.Test.Steps),
		Instead: p.pages.instead, Ports: p.pages.ports, Untrusted: r.Untrusted, Inspect: r.inspect,
		Vitals: r.vitals(), Egress: p.egress, Profile: p.profile,
		Trust: p.pages.trusted(), Log: r.log}
	if p.network != nil {
		w.Network = p.network.Network
	}
	return w
}

// joinTimeout limits how long a device takes to notice its network and to get an address.
const joinTimeout = 2 * time.Minute

// joined waits until the device is on the run's network.
func (r *run) joined(ctx context.Context, n *runNetwork) error {
	limit := cmp.Or(r.join, joinTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("timeout after %v", limit))
	defer cancel()
	lease, err := n.Await(ctx)
	if err != nil {
		return err
	}
	r.log.Info("on the network", "address", lease.Address.String(), "mac", lease.MAC, "name", lease.Name)
	return nil
}

// inputInfo returns the properties of a stage's input; nil: it has none.
func inputInfo(s Stage) *input.Info {
	driver := s.Input()
	if driver == nil {
		return nil
	}
	info := driver.Info()
	return &info
}
