package uinput

import (
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
	"github.com/eideticker/eideticker/controller/input/internal/hand"
)

// reports returns what the actions of a step are to the devices, none that has nothing to tell.
func (d *driver) reports(actions []input.Action) []report {
	var keys, mouse, touch []evdev.Event
	var before []report // of a relative mouse: ways that come first
	for _, a := range actions {
		switch a := a.(type) {
		case input.KeyDown:
			keys = append(keys, key(a.Key, 1))
		case input.KeyUp:
			keys = append(keys, key(a.Key, 0))
		case input.Move:
			events := d.move(a)
			for _, e := range events[:len(events)-1] {
				before = append(before, report{d.mouse, e})
			}
			// A move comes before the buttons of the same report, since a button is pressed at a
			// place.
			mouse = append(events[len(events)-1], mouse...)
		case input.ButtonDown:
			mouse = append(mouse, evdev.Event{Type: evdev.Key, Code: buttons[a.Button], Value: 1})
		case input.ButtonUp:
			mouse = append(mouse, evdev.Event{Type: evdev.Key, Code: buttons[a.Button], Value: 0})
		case input.Wheel:
			mouse = append(mouse, wheel(a)...)
		case input.TouchDown:
			touch = append(touch, d.down(a)...)
		case input.TouchMove:
			touch = append(touch, d.drag(a)...)
		case input.TouchUp:
			touch = append(touch, d.up(a)...)
		}
	}
	touch = append(touch, d.touching.first()...)
	all := before
	for _, r := range []report{{d.keyboard, keys}, {d.mouse, mouse}, {d.touch, touch}} {
		if len(r.events) > 0 {
			all = append(all, r)
		}
	}
	return all
}

func key(k input.Key, value int32) evdev.Event {
	c, _ := k.Codes() // a plan names keys that have them
	return evdev.Event{Type: evdev.Key, Code: c.Evdev, Value: value}
}

// farthest is how far a relative mouse goes in one report. USB mice tell no more.
const farthest = 1<<15 - 1

// move returns the reports that bring the pointer to a place, at least one.
func (d *driver) move(a input.Move) (reports [][]evdev.Event) {
	if !d.relative {
		return [][]evdev.Event{place(evdev.AbsX, evdev.AbsY, d.pixel(a.X, a.Y))}
	}
	for _, way := range d.trail.To(d.screen, a.X, a.Y, farthest) {
		var events []evdev.Event
		for i, code := range []uint16{evdev.RelX, evdev.RelY} {
			if way[i] != 0 {
				events = append(events, evdev.Event{Type: evdev.Rel, Code: code, Value: int32(way[i])})
			}
		}
		reports = append(reports, events)
	}
	return reports
}

// point is a pixel.
type point struct{ x, y int32 }

func (d *driver) pixel(x, y float64) point {
	return point{int32(hand.Pixel(x, d.screen.Width)), int32(hand.Pixel(y, d.screen.Height))}
}

func place(codeX, codeY uint16, p point) []evdev.Event {
	return []evdev.Event{{Type: evdev.Abs, Code: codeX, Value: p.x}, {Type: evdev.Abs, Code: codeY, Value: p.y}}
}

// wheel turns the wheel: the kernel counts up and right, and tells both whole detents and fractions
// of them.
func wheel(a input.Wheel) (events []evdev.Event) {
	for _, w := range []struct {
		code, fine uint16
		by         int
	}{{evdev.RelWheel, evdev.RelWheelHiRes, -a.Y}, {evdev.RelHWheel, evdev.RelHWheelHiRes, a.X}} {
		if w.by != 0 {
			events = append(events, evdev.Event{Type: evdev.Rel, Code: w.code, Value: int32(w.by)},
				evdev.Event{Type: evdev.Rel, Code: w.fine, Value: int32(w.by) * evdev.HiResPerDetent})
		}
	}
	return events
}

// touching is where fingers are, for those who know one only.
type touching struct {
	at      [input.MaxFingers]point
	down    [input.MaxFingers]bool
	pointer int  // finger that the first one is, while touched
	touched bool // as it was told
	changed bool // since then
}

func (d *driver) down(a input.TouchDown) []evdev.Event {
	d.tracking = (d.tracking + 1) % (maxTracking + 1)
	p := d.pixel(a.X, a.Y)
	d.touching.at[a.Finger], d.touching.down[a.Finger], d.touching.changed = p, true, true
	return append([]evdev.Event{slot(a.Finger), {Type: evdev.Abs, Code: evdev.AbsMTTrackingID, Value: d.tracking}},
		place(evdev.AbsMTPositionX, evdev.AbsMTPositionY, p)...)
}

func (d *driver) drag(a input.TouchMove) []evdev.Event {
	p := d.pixel(a.X, a.Y)
	d.touching.at[a.Finger], d.touching.changed = p, true
	return append([]evdev.Event{slot(a.Finger)}, place(evdev.AbsMTPositionX, evdev.AbsMTPositionY, p)...)
}

func (d *driver) up(a input.TouchUp) []evdev.Event {
	d.touching.down[a.Finger], d.touching.changed = false, true
	return []evdev.Event{slot(a.Finger), {Type: evdev.Abs, Code: evdev.AbsMTTrackingID, Value: -1}}
}

func slot(finger int) evdev.Event {
	return evdev.Event{Type: evdev.Abs, Code: evdev.AbsMTSlot, Value: int32(finger)}
}

// first returns the changes for readers that know one finger. It is the lowest one that is down,
// and stays the same while it is.
func (t *touching) first() (events []evdev.Event) {
	if !t.changed {
		return nil
	}
	t.changed = false
	if !t.touched || !t.down[t.pointer] {
		t.pointer = -1
		for finger, down := range t.down {
			if down {
				t.pointer = finger
				break
			}
		}
	}
	touched := t.pointer >= 0
	if touched != t.touched {
		t.touched = touched
		value := int32(0)
		if touched {
			value = 1
		}
		events = append(events, evdev.Event{Type: evdev.Key, Code: evdev.BtnTouch, Value: value})
	}
	if touched {
		events = append(events, place(evdev.AbsX, evdev.AbsY, t.at[t.pointer])...)
	}
	return events
}
