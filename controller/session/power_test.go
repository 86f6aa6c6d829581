package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
)

// shelf is a device that appears some time after it was switched on. It records the calls.
type shelf struct {
	scene
	log   string
	power device.Power
	boots int // tries until it is there
}

func (s *shelf) describe() device.Description {
	return device.Description{Name: s.name, Power: s.power}
}

func (s *shelf) Open(ctx context.Context, w Wanted) (Stage, error) {
	if s.boots--; s.boots >= 0 {
		return nil, errors.New("it is still starting")
	}
	return s.scene.Open(ctx, w)
}

func newShelf(t *testing.T, boots int) *shelf {
	log := filepath.Join(t.TempDir(), "log")
	said := func(word string) []string { return []string{"sh", "-c", "echo " + word + " >> " + log} }
	return &shelf{scene: scene{name: "shelf", uri: brief}, log: log,
		power: device.Power{On: said("on"), Off: said("off")}, boots: boots}
}

func (s *shelf) switched(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(s.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

// TestRunsSwitchPower: a set switches its device as it was asked to, and waits until it is there.
func TestRunsSwitchPower(t *testing.T) {
	if testing.Short() {
		t.Skip("2 runs in real time")
	}
	t.Parallel()
	for use, want := range map[PowerUse]string{powerOn: "on off", powerCycle: "off on off on"} {
		t.Run(string(use), func(t *testing.T) {
			t.Parallel()
			s := newShelf(t, 2)
			d, err := WithPower(s, use)
			if err != nil {
				t.Fatal(err)
			}
			d.pause, d.again = time.Millisecond, time.Millisecond
			o := setOptions(t, Variant{Device: d})
			o.Repeat = 2
			set, err := RunSet(t.Context(), o)
			if err != nil || set.Counts()[Passed] != 2 {
				t.Errorf("%v, %v", set.Counts(), err)
			}
			if err := errors.Join(d.Close(), d.Close()); err != nil {
				t.Error(err)
			}
			if got := s.switched(t); got != want {
				t.Errorf("it was switched %s, want %s", got, want)
			}
		})
	}
}

// TestDeviceThatDoesNotStart: the wait for a device is limited, and its error is the device's own.
//
// Fault: A device does not come up after power-on
func TestDeviceThatDoesNotStart(t *testing.T) {
	d, err := WithPower(newShelf(t, 1<<30), powerOn)
	if err != nil {
		t.Fatal(err)
	}
	d.boot, d.again = 20*time.Millisecond, time.Millisecond
	record, _, err := Run(t.Context(), options(t, d))
	if err != nil || record.State != Failed ||
		!strings.Contains(record.Reason, "after its power was switched: it is still starting") {
		t.Errorf("%+v, %v", record, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestPowerThatCannotBe(t *testing.T) {
	if _, err := WithPower(&scene{name: "d"}, powerOn); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
	if _, err := WithPower(local{device.Local()}, powerOn); err == nil ||
		!strings.Contains(err.Error(), "device local cannot be switched") {
		t.Errorf("error %v", err)
	}
	if _, err := WithPower(newShelf(t, 0), powerOff); err == nil ||
		!strings.Contains(err.Error(), "must be on or cycle") {
		t.Errorf("error %v", err)
	}
}

// TestPowerOfADevice is what a daemon asks for.
func TestPowerOfADevice(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	all := devices(t, `phone: {source: "v4l2:/dev/video0", input: none, power: {command: {
  on: [sh, -c, "echo on >> `+log+`"], off: [sh, -c, "echo off >> `+log+`"]}}}
`)
	for _, use := range []PowerUse{powerOff, powerOn} {
		if release, err := all.Power(t.Context(), "phone", use); err != nil || release() != nil {
			t.Errorf("%s: %v", use, err)
		}
	}
	if b, err := os.ReadFile(log); err != nil || string(b) != "off\non\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := all.Power(t.Context(), "phone", "up"); err == nil ||
		!strings.Contains(err.Error(), "must be on, off or cycle") {
		t.Errorf("error %v", err)
	}
	if _, err := all.Power(t.Context(), "local", powerOn); err == nil ||
		!strings.Contains(err.Error(), "device local: no power entry for the device") {
		t.Errorf("error %v", err)
	}
	var unknown *device.UnknownError
	if _, err := all.Power(t.Context(), "tv", powerOn); !errors.As(err, &unknown) {
		t.Errorf("error %v", err)
	}
}
