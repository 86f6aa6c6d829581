// Package daemontest makes rigs for tests: devices whose screens show scripted scenes, a test that
// plays one, and a store in a folder of the test's.
package daemontest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing/fstest"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// Sources of scenes. Brief is a run of some seconds. Green, content and red last over a second
// each. A machine that stalls delays them, so a run misses none. Endless shows content for as long
// as it is recorded. Stuck never turns red.
const (
	Brief   = "synth:page?size=96x64&fps=20&frames=24&markers=1&pace=steady"
	endless = "synth:strip?size=160x90&fps=60&pace=realtime"
	Stuck   = "synth:page?size=96x64&fps=20&frames=100000&markers=1&pace=steady"
)

// Device is one whose screen shows a scene, whatever is done to it.
type Device struct {
	About device.Description
	Scene string // that runs see; the description's source is there without one
	Fail  error  // of getting ready for a run

	mu   sync.Mutex
	hold chan struct{} // runs wait for it, if it is there
	last session.Wanted

	crash error // of the browser, when a run has begun
}

// New returns a device by name that shows Brief to runs, and endless without.
func New(name string) *Device {
	return &Device{About: device.Description{Name: name, Source: endless,
		Input: device.Input{Kind: device.InputX11, Target: ":0"}, Browsers: []string{"one", "two"}}, Scene: Brief}
}

// Hold has runs wait before they begin, until the function that it returns is called.
func (d *Device) Hold() (free func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hold := make(chan struct{})
	d.hold = hold
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.hold = nil
		close(hold)
	})
}

// Wanted is what the latest run has asked for.
func (d *Device) Wanted() session.Wanted {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// Name implements session.Device.
func (d *Device) Name() string { return d.About.Name }

// Open implements session.Device.
func (d *Device) Open(ctx context.Context, w session.Wanted) (session.Stage, error) {
	d.mu.Lock()
	d.last = w
	hold, fail := d.hold, d.Fail
	d.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if fail != nil {
		return nil, fail
	}
	return stage{d}, nil
}

// Break has runs fail, or no longer for nil.
func (d *Device) Break(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Fail = err
}

// Crash has the browser of runs crash, or no longer for nil.
func (d *Device) Crash(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crash = err
}

type stage struct{ device *Device }

func (s stage) Launch(context.Context, string) (timeline.Interval, error) {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	return timeline.At(timeline.Monotonic().Now()), s.device.crash
}

func (stage) Load(context.Context, string) (timeline.Interval, error) {
	return timeline.Interval{}, errors.ErrUnsupported
}
func (stage) Ended() <-chan struct{}      { return nil }
func (stage) Err() error                  { return nil }
func (s stage) Source() string            { return s.device.Scene }
func (stage) Input() input.Driver         { return nil }
func (stage) Painter() controller.Painter { return nil }
func (s stage) About() result.Environment { return result.Environment{result.EnvDUT: s.device.Name()} }
func (stage) Close() error                { return nil }

// Devices are those of a rig.
type Devices []*Device

// Find implements daemon.Devices.
func (d Devices) Find(name string) (session.Device, error) {
	for _, one := range d {
		if one.Name() == name {
			return one, nil
		}
	}
	return nil, fmt.Errorf("unknown device %.80q", name)
}

// Descriptions implements daemon.Devices.
func (d Devices) Descriptions() (all []device.Description) {
	for _, one := range d {
		all = append(all, one.About)
	}
	return all
}

// testSuite has a test that plays a scene, and one of the same scene with its own limits.
func testSuite() []suite.Source {
	const played = "about: Plays a scene\nurl: http://scene.example/\nsync: markers\nmeasures: [fps]\ntimeout: 2m\n"
	return []suite.Source{suite.Standard(), {Name: "scenes", FS: fstest.MapFS{
		"scene.yaml": {Data: []byte("name: scene\n" + played)},
		"judged.yaml": {Data: []byte(
			"name: judged\nprimary: fps.unique_frames\nthresholds: {fps.unique_frames: 37%}\n" + played)},
	}}}
}
