package uinput

import (
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
	"github.com/eideticker/eideticker/controller/input/internal/hand"
)

// kind is what a device can do.
type kind struct {
	name       string
	product    uint16
	keys, rels []uint16
	abs        []axis
	props      []int
}

type axis struct {
	code    uint16
	maximum int
}

// keyboard has every key that has a name. The kernel repeats none of them: a display server does
// that by itself.
func keyboard() kind {
	k := kind{name: "eideticker keyboard", product: 1}
	for _, key := range input.Keys() {
		c, _ := key.Codes()
		k.keys = append(k.keys, c.Evdev)
	}
	return k
}

var buttons = map[input.Button]uint16{
	input.Left: evdev.BtnLeft, input.Right: evdev.BtnRight, input.Middle: evdev.BtnMiddle, input.Back: evdev.BtnSide,
	input.Forward: evdev.BtnExtra,
}

func mouse(screen hand.Screen, relative bool) kind {
	k := kind{
		name: "eideticker mouse", product: 2,
		rels: []uint16{evdev.RelWheel, evdev.RelHWheel, evdev.RelWheelHiRes, evdev.RelHWheelHiRes},
	}
	for _, code := range buttons {
		k.keys = append(k.keys, code)
	}
	if relative {
		k.rels = append(k.rels, evdev.RelX, evdev.RelY)
		k.props = []int{evdev.PropPointer}
	} else {
		k.abs = []axis{{evdev.AbsX, screen.Width - 1}, {evdev.AbsY, screen.Height - 1}}
	}
	return k
}

// touchscreen uses the kernel's multi-touch protocol B
// (Documentation/input/multi-touch-protocol.rst). It also reports its first finger like devices
// with one finger.
func touchscreen(screen hand.Screen) kind {
	return kind{
		name: "eideticker touch screen", product: 3,
		keys: []uint16{evdev.BtnTouch},
		abs: []axis{
			{evdev.AbsX, screen.Width - 1}, {evdev.AbsY, screen.Height - 1},
			{evdev.AbsMTSlot, input.MaxFingers - 1}, {evdev.AbsMTTrackingID, maxTracking},
			{evdev.AbsMTPositionX, screen.Width - 1}, {evdev.AbsMTPositionY, screen.Height - 1},
		},
		props: []int{evdev.PropDirect},
	}
}

// maxTracking is the largest number of a touch; then they begin again.
const maxTracking = 0xffff
