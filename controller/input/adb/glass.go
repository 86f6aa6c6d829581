package adb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
	"github.com/eideticker/eideticker/pattern"
)

// glass is the way through the touch screen's own device file: a shell writes what it is given, and
// the kernel passes that on as if it came from the glass. Keys go by the command input.
type glass struct {
	shell   *shell
	cancel  context.CancelFunc
	fingers fingers
	wide    bool // the device's programs have 64 bits, and so has its kernel's struct input_event
	command *inputCommand
}

// panel is a touch screen of the device.
type panel struct {
	path       string
	maxX, maxY int
}

var (
	eventNode = pattern.New(`(?m)^add device \d+: (/dev/input/event\d{1,3})$`)
	eventAxis = pattern.New(`(?m)\b(0035|0036)\s*:\s*value -?\d+, min (-?\d{1,9}), max (\d{1,9})`)
)

// findPanel reads the output of getevent -p.
func findPanel(said string) (panel, error) {
	nodes := eventNode.FindAllStringSubmatchIndex(said, -1)
	for i, n := range nodes {
		end := len(said)
		if i+1 < len(nodes) {
			end = nodes[i+1][0]
		}
		p := panel{path: said[n[2]:n[3]]}
		for _, a := range eventAxis.FindAllStringSubmatch(said[n[1]:end], -1) {
			if a[2] != "0" {
				continue
			}
			most, _ := strconv.Atoi(a[3]) // nine digits
			if a[1] == "0035" {
				p.maxX = most
			} else {
				p.maxY = most
			}
		}
		if p.maxX > 0 && p.maxY > 0 {
			return p, nil
		}
	}
	return panel{}, errors.New("the device shows no touch screen")
}

func openEvdev(ctx context.Context, d *Device, screen size) (way, error) {
	said, err := d.Run(ctx, "getevent -p")
	if err != nil {
		return nil, err
	}
	p, err := findPanel(said)
	if err != nil {
		return nil, err
	}
	if _, err := d.Run(ctx, "test -w "+p.path); err != nil {
		return nil, fmt.Errorf("%s may not be written to: %w", p.path, err)
	}
	machine, err := d.Run(ctx, "uname -m")
	if err != nil {
		return nil, err
	}
	living, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s, err := d.shell(living, "cat >"+p.path)
	if err != nil {
		cancel()
		return nil, err
	}
	e := &glass{shell: s, cancel: cancel, wide: strings.Contains(machine, "64"), command: &inputCommand{device: d}}
	e.fingers.to = func(x, y float64) (int32, int32) {
		scale := func(v float64, pixels, most int) int32 {
			return int32(min(v*float64(most+1)/float64(pixels), float64(most)))
		}
		return scale(x, screen.width, p.maxX), scale(y, screen.height, p.maxY)
	}
	if err := s.write(ctx, e.bytes(allUp())); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// allUp lifts what fingers of ours a device that was lost has kept: the glass stays when the shell
// goes. The kernel passes over slots that are empty, or that the glass does not have.
func allUp() (all []evdev.Event) {
	for slot := range int32(input.MaxFingers) {
		all = append(all, of(evdev.Abs, evdev.AbsMTSlot, slot), of(evdev.Abs, evdev.AbsMTTrackingID, -1))
	}
	return append(all, of(evdev.Key, evdev.BtnTouch, 0), report)
}

func (e *glass) plan(actions []input.Action) (func(context.Context) error, error) {
	if !ofFingers(actions[0]) {
		return e.command.plan(actions)
	}
	before := e.fingers.down
	events, err := e.fingers.report(actions)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		err := e.shell.write(ctx, e.bytes(events))
		if err != nil {
			e.fingers.keep(before, actions)
		}
		return err
	}, nil
}

// bytes encodes events as struct input_event of linux/input.h: a time, which the kernel sets, then
// type, code and value.
func (e *glass) bytes(events []evdev.Event) []byte {
	time := 8
	if e.wide {
		time = 16
	}
	var b []byte
	for _, v := range events {
		b = append(b, make([]byte, time)...)
		b = binary.LittleEndian.AppendUint16(b, v.Type)
		b = binary.LittleEndian.AppendUint16(b, v.Code)
		b = binary.LittleEndian.AppendUint32(b, uint32(v.Value))
	}
	return b
}

func (*glass) name() string { return "evdev" }

func (e *glass) close() error {
	e.cancel()
	e.shell.close()
	return nil
}
