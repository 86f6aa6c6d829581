//go:build linux && rigvm

package uinput

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
	"github.com/eideticker/eideticker/controller/input/internal/hosttest"
)

// create makes the devices, and what the host has of them.
func create(t *testing.T, o options) (d *driver, keyboard, mouse, touch *hosttest.Device) {
	t.Helper()
	o.Width, o.Height = 1000, 500
	d, err := newDriver(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	k, m, f := d.nodes()
	return d, hosttest.Open(t, k), hosttest.Open(t, m), hosttest.Open(t, f)
}

func TestKeys(t *testing.T) {
	d, keyboard, _, _ := create(t, options{})
	hosttest.Keys(t, d, keyboard)
	hosttest.Text(t, d, keyboard)
}

// TestStamps: the time that the kernel gives to an event lies within the interval that Do returns.
func TestStamps(t *testing.T) {
	d, keyboard, _, _ := create(t, options{})
	for range 200 {
		for _, a := range []input.Action{input.KeyDown{Key: "f"}, input.KeyUp{Key: "f"}} {
			sent := hosttest.Do(t, d, a)
			const grain = 1000 // nanoseconds of the kernel's stamp, cut off
			if at := keyboard.Next(); at < sent.Earliest-grain || at > sent.Latest {
				t.Errorf("sent within %v, and the kernel says %d", sent, at)
			}
		}
	}
}

func TestMouse(t *testing.T) {
	t.Run("absolute", func(t *testing.T) { testMouse(t, options{}, 1) })
	t.Run("relative", func(t *testing.T) { testMouse(t, options{Relative: true}, 2) })
}

func testMouse(t *testing.T, o options, reports int) {
	d, _, mouse, _ := create(t, o)
	for i, at := range []input.Move{{X: 10, Y: 20}, {X: 999, Y: 499}, {X: 1, Y: 1}} {
		hosttest.Do(t, d, at)
		for range reports {
			mouse.Next()
		}
		if i == 0 && o.Relative {
			clear(mouse.Rel)
			mouse.Rel[evdev.RelX], mouse.Rel[evdev.RelY] = 10, 20 // the way into the corner is longer than the screen
		}
		x, y := mouse.Abs[evdev.AbsX], mouse.Abs[evdev.AbsY]
		if o.Relative {
			x, y = mouse.Rel[evdev.RelX], mouse.Rel[evdev.RelY]
			reports = 1
		}
		if x != int32(at.X) || y != int32(at.Y) {
			t.Errorf("%v: at %d,%d", at, x, y)
		}
	}
	for b := input.Left; b <= input.Forward; b++ {
		hosttest.Do(t, d, input.ButtonDown{Button: b})
		mouse.Next()
		mouse.Did(evdev.Key, buttons[b], 1)
		hosttest.Do(t, d, input.ButtonUp{Button: b})
		mouse.Next()
		mouse.Did(evdev.Key, buttons[b], 0)
	}
	hosttest.Do(t, d, input.Wheel{X: 2, Y: -3})
	mouse.Next()
	mouse.Did(evdev.Rel, evdev.RelWheel, 3)
	mouse.Did(evdev.Rel, evdev.RelWheelHiRes, 360)
	mouse.Did(evdev.Rel, evdev.RelHWheel, 2)
	mouse.Did(evdev.Rel, evdev.RelHWheelHiRes, 240)
}

// TestTouch: ten fingers come down, move and go, each time in one report.
func TestTouch(t *testing.T) {
	d, _, _, touch := create(t, options{})
	for round := range 3 {
		var down, move, up []input.Action
		for f := range input.MaxFingers {
			x, y := float64(f*50), float64(f*20+round)
			down = append(down, input.TouchDown{Finger: f, X: x, Y: y})
			move = append(move, input.TouchMove{Finger: f, X: x + 100, Y: y + 100})
			up = append(up, input.TouchUp{Finger: f})
		}
		hosttest.Do(t, d, down...)
		touch.Next()
		touch.Did(evdev.Key, evdev.BtnTouch, 1)
		hosttest.Do(t, d, move...)
		touch.Next()
		ids := map[int32]bool{}
		for f, c := range touch.Slots {
			ids[c.ID] = true
			if !c.Down || c.X != int32(f*50+100) || c.Y != int32(f*20+round+100) {
				t.Errorf("round %d, finger %d: %+v", round, f, c)
			}
		}
		if len(ids) != input.MaxFingers {
			t.Errorf("the fingers have the numbers %v", ids)
		}
		hosttest.Do(t, d, up...)
		touch.Next()
		touch.Did(evdev.Key, evdev.BtnTouch, 0)
		if n := touch.Fingers(); n != 0 {
			t.Errorf("%d fingers are left", n)
		}
	}
}

func TestReplay(t *testing.T) {
	d, _, _, touch := create(t, options{})
	hosttest.Replay(t, d, touch, 8*time.Millisecond)
}

// TestTogether: keys, a button and a finger that are given together go to their devices, and
// Release lifts them all.
func TestTogether(t *testing.T) {
	d, keyboard, mouse, touch := create(t, options{})
	hosttest.Do(t, d, input.KeyDown{Key: "ControlLeft"}, input.KeyDown{Key: "F"}, input.ButtonDown{Button: input.Left},
		input.TouchDown{Finger: 4, X: 1, Y: 1})
	for len(keyboard.Keys) < 3 || len(mouse.Keys) < 1 || touch.Fingers() < 1 {
		for _, dev := range []*hosttest.Device{keyboard, mouse, touch} {
			if dev != keyboard || len(keyboard.Keys) < 3 {
				if len(dev.Keys) == 0 || dev == keyboard {
					dev.Next()
				}
			}
		}
	}
	if err := d.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	for len(keyboard.Keys) > 0 {
		keyboard.Next()
	}
	mouse.Next()
	touch.Next()
	if len(mouse.Keys) > 0 || touch.Fingers() > 0 {
		t.Errorf("after the release: %v, %d fingers", mouse.Keys, touch.Fingers())
	}
}

// cut is a context that ends by itself when it has been asked some times.
type cut struct {
	context.Context
	asks int
}

func (c *cut) Err() error {
	if c.asks--; c.asks < 0 {
		return context.Canceled
	}
	return nil
}

// TestCutText: text that is given up in its middle leaves no key pressed behind Release.
func TestCutText(t *testing.T) {
	for asks := 2; asks < 20; asks += 5 {
		d, keyboard, _, _ := create(t, options{})
		_, err := d.Do(&cut{t.Context(), asks}, timeline.Monotonic().Now(), input.Text{Text: "ABCDEFGHIJ"})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%d: %v", asks, err)
		}
		if err := d.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		// A last press marks the end of the earlier events.
		end, _ := input.Key("F12").Codes()
		hosttest.Do(t, d, input.KeyDown{Key: "F12"})
		for !keyboard.Keys[end.Evdev] {
			keyboard.Next()
		}
		if len(keyboard.Keys) != 1 {
			t.Errorf("cut after %d: %v are pressed", asks, keyboard.Keys)
		}
	}
}

// TestGone: with the driver its devices go. A driver that is closed says so.
func TestGone(t *testing.T) {
	d, keyboard, _, _ := create(t, options{})
	hosttest.Do(t, d, input.KeyDown{Key: "a"})
	keyboard.Next()
	node, _, _ := d.nodes()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	var err error
	for err == nil {
		_, err = keyboard.Try()
	}
	if !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if _, err := os.Stat(node); err == nil {
		t.Errorf("%s is still there", node)
	}
	if _, err := d.Do(t.Context(), 0, input.KeyDown{Key: "a"}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// TestCycles: ten drivers, one after the other, leave nothing open.
func TestCycles(t *testing.T) {
	before := open(t)
	for range 10 {
		d, err := newDriver(t.Context(), options{Width: 10, Height: 10})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if now := open(t); now != before {
		t.Errorf("%d files are open, were %d", now, before)
	}
}

func open(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// nodes returns the nodes of keyboard, mouse and touch screen, below /dev/input.
func (d *driver) nodes() (keyboard, mouse, touch string) {
	return d.keyboard.path, d.mouse.path, d.touch.path
}
