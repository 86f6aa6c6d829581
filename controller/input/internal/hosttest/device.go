//go:build linux

// Package hosttest has helpers for tests in a VM: the events that a Linux host reads from input
// devices, and recordings to replay on them.
package hosttest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
)

// patience is how long an event may take to come in a VM that others keep busy.
const patience = time.Minute

// repeated is the value of a key that is still held.
const repeated = 2

// Device is an input device as the host has it: its node is read, and what it says is remembered.
// Events of it go nowhere else.
type Device struct {
	t    testing.TB
	node *evdev.Node

	Keys   map[uint16]bool // that are down
	Abs    map[uint16]int32
	Rel    map[uint16]int32 // sums
	Slots  [input.MaxFingers]Contact
	slot   int32
	Report []evdev.Event // the last one
}

// Contact is a finger of the multi-touch protocol B.
type Contact struct {
	Down bool
	ID   int32
	X, Y int32
}

// Open opens a node for as long as the test runs.
func Open(t testing.TB, path string) *Device {
	t.Helper()
	n, err := evdev.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	if err := n.Grab(); err != nil {
		t.Fatal(err)
	}
	return &Device{t: t, node: n, Keys: map[uint16]bool{}, Abs: map[uint16]int32{}, Rel: map[uint16]int32{}}
}

// Next takes the next report, and returns when the kernel had it.
func (d *Device) Next() timeline.Time {
	d.t.Helper()
	at, err := d.Try()
	if err != nil {
		d.t.Fatal(err)
	}
	return at
}

// Try is Next for those who want the error.
func (d *Device) Try() (at timeline.Time, err error) {
	ctx, cancel := context.WithTimeoutCause(d.t.Context(), patience, fmt.Errorf("nothing came within %v", patience))
	defer cancel()
	// Lights that the host turns on, keys that the kernel repeats, and times of touch screens come
	// as reports too.
	tells := func(e evdev.Event) bool {
		return e.Type == evdev.Key && e.Value != repeated || e.Type == evdev.Rel || e.Type == evdev.Abs
	}
	for d.Report = nil; !slices.ContainsFunc(d.Report, tells); {
		if d.Report, err = d.node.Read(ctx); err != nil {
			return 0, err
		}
	}
	for _, e := range d.Report {
		d.take(e)
	}
	return d.Report[0].Time, nil
}

func (d *Device) take(e evdev.Event) {
	switch {
	case e.Type == evdev.Key:
		if d.Keys[e.Code] = e.Value != 0; e.Value == 0 {
			delete(d.Keys, e.Code)
		}
	case e.Type == evdev.Rel:
		d.Rel[e.Code] += e.Value
	case e.Type != evdev.Abs:
	case e.Code == evdev.AbsMTSlot:
		d.slot = e.Value
		if d.slot < 0 || int(d.slot) >= len(d.Slots) {
			d.t.Fatalf("slot %d", d.slot)
		}
	case e.Code == evdev.AbsMTTrackingID:
		d.Slots[d.slot].Down, d.Slots[d.slot].ID = e.Value >= 0, e.Value
	case e.Code == evdev.AbsMTPositionX:
		d.Slots[d.slot].X = e.Value
	case e.Code == evdev.AbsMTPositionY:
		d.Slots[d.slot].Y = e.Value
	default:
		d.Abs[e.Code] = e.Value
	}
}

// Fingers counts those that are down.
func (d *Device) Fingers() (n int) {
	for _, c := range d.Slots {
		if c.Down {
			n++
		}
	}
	return n
}

// Did fails the test unless the last report has an event.
func (d *Device) Did(typ, code uint16, value int32) {
	d.t.Helper()
	for _, e := range d.Report {
		if e.Is(typ, code, value) {
			return
		}
	}
	d.t.Errorf("report %v has no %v", d.Report, evdev.Event{Type: typ, Code: code, Value: value})
}

// Do has a driver do actions at once.
func Do(t testing.TB, d input.Driver, actions ...input.Action) timeline.Interval {
	t.Helper()
	sent, err := d.Do(t.Context(), timeline.Monotonic().Now(), actions...)
	if err != nil {
		t.Fatal(err)
	}
	if !sent.Valid() {
		t.Fatalf("%v was sent within %v", actions, sent)
	}
	return sent
}
