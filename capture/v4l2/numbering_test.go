//go:build !rigvm

package v4l2

import (
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// period60 is about that of 60 frames a second.
const period60 = timeline.Time(16666667)

// Fault: The driver drops frames, or a counter wraps
func TestNumbering(t *testing.T) {
	type step struct {
		restart frame.Cause // before the frame, if not NoCause
		seq     uint32
		at      timeline.Time // in periods
		want    uint64
		missed  frame.Cause
	}
	for _, tc := range []struct {
		name  string
		steps []step
		odd   bool
	}{
		{"in order", []step{{0, 0, 0, 0, 0}, {0, 1, 1, 1, 0}, {0, 2, 2, 2, 0}}, false},
		{"begins elsewhere", []step{{0, 7, 0, 7, 0}, {0, 8, 1, 8, 0}}, false},
		{"driver lost two", []step{{0, 0, 0, 0, 0}, {0, 3, 3, 3, frame.DriverLost}, {0, 4, 4, 4, 0}}, false},
		{"wraps", []step{{0, 1<<32 - 2, 0, 1<<32 - 2, 0}, {0, 1<<32 - 1, 1, 1<<32 - 1, 0}, {0, 0, 2, 1 << 32, 0},
			{0, 1, 3, 1<<32 + 1, 0}}, false},
		{"loses over the wrap", []step{{0, 1<<32 - 1, 0, 1<<32 - 1, 0}, {0, 2, 3, 1<<32 + 2, frame.DriverLost}}, false},
		{"counts two alike and leaps", []step{{0, 5, 0, 5, 0}, {0, 5, 1, 6, 0}, {0, 7, 2, 7, 0}}, false},
		{"counts two alike and goes on", []step{{0, 5, 0, 5, 0}, {0, 5, 1, 6, 0}, {0, 6, 2, 7, 0},
			{0, 9, 4, 9, frame.DriverLost}}, false},
		{"stands still", []step{{0, 0, 0, 0, 0}, {0, 0, 1, 1, 0}, {0, 0, 2, 2, 0}, {0, 0, 5, 5, frame.DriverLost}},
			true},
		{"goes back", []step{{0, 9, 0, 9, 0}, {0, 0, 1, 10, 0}, {0, 1, 2, 11, 0}}, true},
		{"leaps further than the time allows", []step{{0, 0, 0, 0, 0}, {0, 1 << 20, 2, 2, frame.DriverLost},
			{0, 1<<20 + 1, 3, 3, 0}}, true},
		{"signal lost for four periods", []step{{0, 0, 0, 0, 0}, {frame.SignalLost, 0, 4, 4, frame.SignalLost},
			{0, 1, 5, 5, 0}}, false},
		{"a restart faster than a frame", []step{{0, 3, 0, 3, 0}, {frame.DriverLost, 0, 1, 5, frame.DriverLost}},
			false},
		{"a restart before the first frame", []step{{frame.DriverLost, 3, 0, 3, 0}}, false},
		{"time that goes back", []step{{0, 0, 9, 0, 0}, {frame.SignalLost, 0, 2, 2, frame.SignalLost}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := numbering{period: period60, after: period60}
			for i, s := range tc.steps {
				if s.restart != frame.NoCause {
					n.restart(s.restart)
				}
				if got := n.number(s.seq, 1e9+s.at*period60); got != s.want || n.missed != s.missed {
					t.Fatalf("frame %d is %d, %v missing, want %d, %v", i, got, n.missed, s.want, s.missed)
				}
				n.stored()
			}
			if n.odd != tc.odd {
				t.Errorf("odd is %v", n.odd)
			}
		})
	}
}

// A reason stays until a frame is stored. A more specific one replaces a less specific one.
func TestReasonsStay(t *testing.T) {
	n := numbering{period: period60, after: period60}
	n.number(0, 0)
	n.stored()
	n.number(5, 5*period60) // not stored
	if n.missed != frame.DriverLost {
		t.Fatalf("missed %v", n.missed)
	}
	n.restart(frame.SignalLost)
	n.number(0, 10*period60)
	if n.missed != frame.SignalLost {
		t.Errorf("missed %v, want the signal", n.missed)
	}
	n.changed()
	if n.number(0, 20*period60); n.missed != frame.FormatChange {
		t.Errorf("missed %v, want the change", n.missed)
	}
	n.stored()
	n.restart(frame.DeviceGone)
	n.changed()
	if n.number(0, 30*period60); n.missed != frame.DeviceGone {
		t.Errorf("missed %v, want the device", n.missed)
	}
}

// The time without frames is counted in the period that was, what follows in the one that is.
func TestPeriodChanges(t *testing.T) {
	n := numbering{period: period60, after: period60}
	n.number(0, 0)
	n.stored()
	n.after = 2 * period60
	n.changed()
	if got := n.number(0, 10*period60); got != 10 {
		t.Errorf("number %d after ten periods of the old rate", got)
	}
	n.stored()
	n.restart(frame.SignalLost)
	if got := n.number(0, 30*period60); got != 20 {
		t.Errorf("number %d after ten periods of the new rate", got)
	}
}

// Whatever a driver counts: numbers rise, and a hole has a reason.
func FuzzNumbering(f *testing.F) {
	f.Add([]byte{1, 1, 1, 2, 0, 0, 255, 9})
	f.Add([]byte{0, 0, 0, 0, 200, 100})
	f.Add([]byte{1, 1, 255, 255, 255, 255, 1, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		n := numbering{period: period60, after: period60}
		seq, at, last, spent := uint32(1<<32-3), timeline.Time(time.Hour), uint64(0), uint64(0)
		for i, b := range data {
			switch {
			case b == 255:
				n.restart(frame.SignalLost)
				seq = uint32(b) * uint32(i)
				if i%2 == 0 {
					n.leave()
				}
				if i%3 == 0 {
					spent, _, _ = n.counted(at + timeline.Time(i)*period60)
				}
			case b > 200:
				seq += uint32(b) << 24
			default:
				seq += uint32(b % 4)
			}
			at += timeline.Time(b%5) * period60 / 2
			got := n.number(seq, at)
			if i > 0 && (got <= last || spent > 0 && got <= spent) {
				t.Fatalf("frame %d follows %d, and %d is spent", got, last, spent)
			}
			if i > 0 && got > last+1 && n.missed == frame.NoCause {
				t.Fatalf("nobody says why frames are missing between %d and %d", last, got)
			}
			last = got
			if b%2 == 0 {
				n.stored()
			}
		}
	})
}
