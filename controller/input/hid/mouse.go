package hid

import (
	"encoding/binary"
	"math"
)

// pointing is how a mouse tells where it is.
type pointing uint8

// The mice: pointingAbsolute reports positions on the screen, and pointingRelative reports motion.
const (
	pointingNone pointing = iota
	pointingAbsolute
	pointingRelative
)

// Bounds of what a mouse tells.
const (
	mouseButtons = 5
	maxPlace     = 1<<15 - 1 // places are from 0 to it, across the screen
	maxWay       = 1<<15 - 1
	maxTurn      = 1<<7 - 1
	noPlace      = 0xffff // a place out of bounds is none: the pointer stays where it is
	mouseBytes   = 7
)

// descriptor returns the report descriptor of a mouse with five buttons, a wheel and a horizontal
// wheel (AC Pan). It is nil for no mouse.
func (p pointing) descriptor() []byte {
	if p == pointingNone {
		return nil
	}
	var d descriptor
	d.page(pageDesktop)
	d.usage(usageMouse)
	d.collection(application, func() {
		d.usage(usagePointer)
		d.collection(physical, func() {
			d.page(pageButton)
			d.usages(1, mouseButtons)
			d.bounds(0, 1)
			d.fields(itemInput, mouseButtons, 1, variable)
			d.fields(itemInput, 1, 8-mouseButtons, constant)
			d.page(pageDesktop)
			d.usage(usageX)
			d.usage(usageY)
			if p == pointingAbsolute {
				d.bounds(0, maxPlace)
				d.fields(itemInput, 2, 16, variable|nullable)
			} else {
				d.bounds(-maxWay, maxWay)
				d.fields(itemInput, 2, 16, variable|relative)
			}
			d.usage(usageWheel)
			d.bounds(-maxTurn, maxTurn)
			d.fields(itemInput, 1, 8, variable|relative)
			d.page(pageConsumer)
			d.usage(usageACPan)
			d.fields(itemInput, 1, 8, variable|relative)
		})
	})
	return d
}

// size is how many bytes a report has.
func (p pointing) size() int {
	if p == pointingNone {
		return 0
	}
	return mouseBytes
}

// mouse makes the reports of a mouse. One with a Pointing and nothing else has no button pressed,
// and is nowhere.
type mouse struct {
	Pointing pointing
	buttons  uint8
	x, y     uint16
	placed   bool
}

// button presses or lifts a button, from 1 on.
func (m *mouse) button(button uint8, down bool) {
	if button < 1 || button > mouseButtons {
		return
	}
	bit := uint8(1) << (button - 1)
	m.buttons &^= bit
	if down {
		m.buttons |= bit
	}
}

// place puts an absolute mouse at a place, see place.
func (m *mouse) place(x, y uint16) { m.x, m.y, m.placed = min(x, maxPlace), min(y, maxPlace), true }

// report returns the mouse's report. A relative mouse moved by dx and dy, to the right and down, at
// most 32767 in either direction. wheel turns away from the hand and pan to the right, by at most
// 127 detents.
func (m *mouse) report(dx, dy, wheel, pan int) []byte {
	b := make([]byte, 0, mouseBytes)
	b = append(b, m.buttons)
	x, y := m.x, m.y
	switch {
	case m.Pointing == pointingRelative:
		x, y = uint16(int16(bound(dx, maxWay))), uint16(int16(bound(dy, maxWay)))
	case !m.placed:
		x, y = noPlace, noPlace
	}
	b = binary.LittleEndian.AppendUint16(b, x)
	b = binary.LittleEndian.AppendUint16(b, y)
	return append(b, byte(int8(bound(wheel, maxTurn))), byte(int8(bound(pan, maxTurn))))
}

func bound(v, most int) int { return min(max(v, -most), most) }

// place returns an absolute device's value for a place, in pixels, on a side of size pixels. Whole
// numbers are the middles of pixels. So hosts that round and hosts that truncate find the same
// pixel.
func place(at float64, size int) uint16 {
	const all = maxPlace + 1
	v := math.Floor((at + 0.5) * all / float64(size))
	// On a side of nearly as many pixels as there are places, the middle may have none in its
	// pixel.
	v = max(v, math.Ceil(math.Round(at)*all/float64(size)))
	return uint16(min(max(v, 0), maxPlace))
}
