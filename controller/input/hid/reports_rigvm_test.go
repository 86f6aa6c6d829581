//go:build linux && rigvm

package hid

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
	"github.com/eideticker/eideticker/controller/input/internal/hosttest"
)

// only plugs in the named devices.
func only(change func(*driverOptions)) driverOptions {
	o := options()
	o.Keyboard, o.Mouse, o.Touch = noKeyboard, pointingNone, false
	change(&o)
	return o
}

func TestKeyboard(t *testing.T) {
	for name, rollover := range map[string]rollover{"boot": boot, "full": full} {
		t.Run(name, func(t *testing.T) {
			d := plugIn(t, only(func(o *driverOptions) { o.Keyboard = rollover }))
			host := hosts(t, 1)[0]
			hosttest.Keys(t, d, host)
			hosttest.Text(t, d, host)
			var all []input.Action
			for k := 'a'; k < 'a'+bootKeys; k++ {
				all = append(all, input.KeyDown{Key: input.Key(k)})
			}
			hosttest.Do(t, d, all...)
			for len(host.Keys) < bootKeys { // the kernel makes more than one of a report that is long
				host.Next()
			}
			_, err := d.Do(t.Context(), 0, input.KeyDown{Key: "x"})
			if rollover == boot && !errors.Is(err, errors.ErrUnsupported) || rollover == full && err != nil {
				t.Errorf("one more: %v", err)
			}
			if err := d.Release(t.Context()); err != nil {
				t.Error(err)
			}
			for len(host.Keys) > 0 {
				host.Next()
			}
		})
	}
}

func TestMouse(t *testing.T) {
	for name, pointing := range map[string]pointing{"absolute": pointingAbsolute, "relative": pointingRelative} {
		t.Run(name, func(t *testing.T) {
			d := plugIn(t, only(func(o *driverOptions) { o.Mouse = pointing }))
			host := hosts(t, 1)[0]
			if pointing == pointingAbsolute {
				// A button that is pressed before there is a place moves the pointer nowhere.
				hosttest.Do(t, d, input.ButtonDown{Button: input.Right})
				host.Next()
				if len(host.Abs) > 0 {
					t.Errorf("a button puts the pointer at %v", host.Abs)
				}
				hosttest.Do(t, d, input.ButtonUp{Button: input.Right})
				host.Next()
				testPlaces(t, d, host)
			} else {
				testWays(t, d, host)
			}
			testButtons(t, d, host)
		})
	}
}

func testPlaces(t *testing.T, d *driver, host *hosttest.Device) {
	for _, at := range []input.Move{{X: 10, Y: 20}, {X: 999, Y: 499}, {X: 1, Y: 1}} {
		hosttest.Do(t, d, at)
		host.Next()
		x, y := host.Abs[evdev.AbsX]*1000/(maxPlace+1), host.Abs[evdev.AbsY]*500/(maxPlace+1)
		if x != int32(at.X) || y != int32(at.Y) {
			t.Errorf("%v: at %d,%d", at, x, y)
		}
	}
}

func testWays(t *testing.T, d *driver, host *hosttest.Device) {
	hosttest.Do(t, d, input.Move{X: 10, Y: 20})
	host.Next() // into the corner
	host.Did(evdev.Rel, evdev.RelX, -1000)
	clear(host.Rel)
	host.Next()
	for _, at := range []input.Move{{X: 999, Y: 499}, {X: 1, Y: 1}} {
		hosttest.Do(t, d, at)
		host.Next()
		if x, y := host.Rel[evdev.RelX], host.Rel[evdev.RelY]; x != int32(at.X) || y != int32(at.Y) {
			t.Errorf("%v: at %d,%d", at, x, y)
		}
	}
}

func testButtons(t *testing.T, d *driver, host *hosttest.Device) {
	codes := []uint16{evdev.BtnLeft, evdev.BtnRight, evdev.BtnMiddle, evdev.BtnSide, evdev.BtnExtra}
	for i, code := range codes {
		hosttest.Do(t, d, input.ButtonDown{Button: input.Left + input.Button(i)})
		host.Next()
		host.Did(evdev.Key, code, 1)
		hosttest.Do(t, d, input.ButtonUp{Button: input.Left + input.Button(i)})
		host.Next()
		host.Did(evdev.Key, code, 0)
	}
	hosttest.Do(t, d, input.Wheel{X: 2, Y: -3})
	host.Next()
	host.Did(evdev.Rel, evdev.RelWheel, 3)
	host.Did(evdev.Rel, evdev.RelWheelHiRes, 360)
	host.Did(evdev.Rel, evdev.RelHWheel, 2)
	host.Did(evdev.Rel, evdev.RelHWheelHiRes, 240)
}

// TestTouch: ten fingers come down, move and go, each time in one report.
func TestTouch(t *testing.T) {
	d := plugIn(t, only(func(o *driverOptions) { o.Touch = true }))
	host := hosts(t, 1)[0]
	for round := range 3 {
		var down, move, up []input.Action
		for f := range input.MaxFingers {
			x, y := float64(f*50), float64(f*20+round)
			down = append(down, input.TouchDown{Finger: f, X: x, Y: y})
			move = append(move, input.TouchMove{Finger: f, X: x + 100, Y: y + 100})
			up = append(up, input.TouchUp{Finger: f})
		}
		hosttest.Do(t, d, down...)
		host.Next()
		host.Did(evdev.Key, evdev.BtnTouch, 1)
		if n := host.Fingers(); n != input.MaxFingers {
			t.Errorf("round %d: %d fingers", round, n)
		}
		hosttest.Do(t, d, move...)
		host.Next()
		places := map[[2]int32]bool{}
		for _, c := range host.Slots {
			places[[2]int32{c.X * 1000 / (maxPlace + 1), c.Y * 500 / (maxPlace + 1)}] = c.Down
		}
		for f := range input.MaxFingers {
			if !places[[2]int32{int32(f*50 + 100), int32(f*20 + round + 100)}] {
				t.Errorf("round %d: no finger where number %d is: %v", round, f, places)
			}
		}
		hosttest.Do(t, d, up...)
		host.Next()
		host.Did(evdev.Key, evdev.BtnTouch, 0)
		if n := host.Fingers(); n != 0 {
			t.Errorf("%d fingers are left", n)
		}
	}
}

func TestReplay(t *testing.T) {
	d := plugIn(t, only(func(o *driverOptions) { o.Touch = true }))
	hosttest.Replay(t, d, hosts(t, 1)[0], 32*time.Millisecond) // this port moves data at each tick of the kernel only
}

// TestStamps: the host has nothing before the interval has begun. What it takes from its question
// to the event is its own; and this port is made of memory: it takes one report into a buffer, and
// says that it was fetched, before the host asks (dummy_queue of dummy_hcd.c).
func TestStamps(t *testing.T) {
	d := plugIn(t, only(func(o *driverOptions) { o.Keyboard = boot }))
	host := hosts(t, 1)[0]
	var behind, wide []time.Duration
	for range 100 {
		for _, a := range []input.Action{input.KeyDown{Key: "f"}, input.KeyUp{Key: "f"}} {
			sent := hosttest.Do(t, d, a)
			at := host.Next()
			const grain = 1000 // nanoseconds of the kernel's stamp, cut off
			if at < sent.Earliest-grain {
				t.Errorf("sent within %v, and the host had it at %d", sent, at)
			}
			behind, wide = append(behind, at.Sub(sent.Latest)), append(wide, sent.Width())
		}
	}
	slices.Sort(behind)
	slices.Sort(wide)
	t.Logf("intervals of %v (least), %v (median); behind their ends the host has it after %v (least), %v (median)",
		wide[0], wide[len(wide)/2], behind[0], behind[len(behind)/2])
}
