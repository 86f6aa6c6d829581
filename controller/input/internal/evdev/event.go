package evdev

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Types of events: EV_* of linux/input-event-codes.h, as are all numbers below.
const (
	Syn uint16 = 0x00
	Key uint16 = 0x01
	Rel uint16 = 0x02
	Abs uint16 = 0x03
	Msc uint16 = 0x04
)

// Codes of Syn.
const (
	Report  uint16 = 0 // SYN_REPORT: the events before it happened at once
	Dropped uint16 = 3 // SYN_DROPPED: events were lost
)

// Codes of Rel.
const (
	RelX            uint16 = 0x00
	RelY            uint16 = 0x01
	RelHWheel       uint16 = 0x06
	RelWheel        uint16 = 0x08
	RelWheelHiRes   uint16 = 0x0b
	RelHWheelHiRes  uint16 = 0x0c
	HiResPerDetent  int32  = 120 // of the two above
	BtnLeft         uint16 = 0x110
	BtnRight        uint16 = 0x111
	BtnMiddle       uint16 = 0x112
	BtnSide         uint16 = 0x113 // the one that goes back
	BtnExtra        uint16 = 0x114 // forward
	BtnTouch        uint16 = 0x14a
	AbsX            uint16 = 0x00
	AbsY            uint16 = 0x01
	AbsMTSlot       uint16 = 0x2f
	AbsMTPositionX  uint16 = 0x35
	AbsMTPositionY  uint16 = 0x36
	AbsMTTrackingID uint16 = 0x39
	PropPointer     int    = 0x00 // INPUT_PROP_POINTER
	PropDirect      int    = 0x01 // INPUT_PROP_DIRECT
)

// Event is one change of a device.
type Event struct {
	Time       timeline.Time // when the kernel had it; a device that is written needs none
	Type, Code uint16
	Value      int32
}

// String returns numbers as evtest and others show them.
func (e Event) String() string { return fmt.Sprintf("%d/%#x=%d", e.Type, e.Code, e.Value) }

// Is reports whether an event says the same, whenever it happened.
func (e Event) Is(typ, code uint16, value int32) bool {
	return e.Type == typ && e.Code == code && e.Value == value
}

// word is the size of a long: struct input_event of linux/input.h begins with two of them, seconds
// and microseconds.
const word = 4 << (^uint(0) >> 63)

// Size is how many bytes an event has.
const Size = 2*word + 8

// Append writes an event as a device of uinput takes it: without a time, which the kernel sets.
func Append(b []byte, e Event) []byte {
	b = append(b, make([]byte, 2*word)...)
	b = binary.NativeEndian.AppendUint16(b, e.Type)
	b = binary.NativeEndian.AppendUint16(b, e.Code)
	return binary.NativeEndian.AppendUint32(b, uint32(e.Value))
}

// parse reads an event of Size bytes. Its time is on the clock that the node was set to.
func parse(b []byte) Event {
	_ = b[Size-1]
	var sec, usec int64
	if word == 8 {
		sec, usec = int64(binary.NativeEndian.Uint64(b)), int64(binary.NativeEndian.Uint64(b[8:]))
	} else {
		sec, usec = int64(binary.NativeEndian.Uint32(b)), int64(binary.NativeEndian.Uint32(b[4:]))
	}
	b = b[2*word:]
	return Event{
		Time: timeline.Time(sec*int64(time.Second) + usec*int64(time.Microsecond)),
		Type: binary.NativeEndian.Uint16(b), Code: binary.NativeEndian.Uint16(b[2:]),
		Value: int32(binary.NativeEndian.Uint32(b[4:])),
	}
}
