//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// enumSizes lists the sizes that a device has in a pixel format.
func (d *device) enumSizes(fourcc uint32) []Size {
	var all []Size
	for i := range uint32(maxEnum) {
		f := frmsizeenum{index: i, pixelFormat: fourcc}
		if d.ioctl(vidiocEnumFramesizes, unsafe.Pointer(&f)) != nil {
			break
		}
		u := f.union
		if f.typ == enumDiscrete {
			all = append(all, newSize(u[0], u[0], 0, u[1], u[1], 0))
			continue
		}
		all = append(all, newSize(u[0], u[1], u[2], u[3], u[4], u[5]))
		break // a range is alone
	}
	return all
}

func newSize(minW, maxW, stepW, minH, maxH, stepH uint32) Size {
	bound := func(n uint32) int { return int(min(n, 1<<20)) }
	return Size{
		Width: bound(maxW), Height: bound(maxH), MinWidth: bound(minW), MinHeight: bound(minH),
		StepWidth: bound(stepW), StepHeight: bound(stepH),
	}
}

// enumPeriods lists the times from frame to frame that a device has for a size, shortest first.
func (d *device) enumPeriods(fourcc uint32, width, height int) []capture.Rational {
	var all []capture.Rational
	for i := range uint32(maxEnum) {
		f := frmivalenum{index: i, pixelFormat: fourcc, width: uint32(width), height: uint32(height)}
		if d.ioctl(vidiocEnumIntervals, unsafe.Pointer(&f)) != nil {
			break
		}
		all = append(all, f.union[0].rational())
		if f.typ != enumDiscrete {
			all = append(all, f.union[1].rational())
			break
		}
	}
	return sortPeriods(all)
}

// sortPeriods sorts periods and removes duplicates and invalid ones.
func sortPeriods(all []capture.Rational) []capture.Rational {
	all = slices.DeleteFunc(all, func(r capture.Rational) bool { return r.Num <= 0 || r.Den <= 0 })
	slices.SortFunc(all, func(a, b capture.Rational) int { return int(a.Duration(1) - b.Duration(1)) })
	return slices.Compact(all)
}

// sizeList is for a refusal: what the device has instead.
func (d *device) sizeList(fourcc uint32) string {
	var names []string
	for _, s := range d.enumSizes(fourcc) {
		names = append(names, s.String())
	}
	if len(names) == 0 {
		return "the size of its signal"
	}
	return strings.Join(names, " ")
}

func (d *device) rateList(fourcc uint32, width, height int) string {
	var names []string
	for _, p := range d.enumPeriods(fourcc, width, height) {
		names = append(names, rateString(p))
	}
	if len(names) == 0 {
		return "not selectable"
	}
	return strings.Join(names, " ")
}

// enumTimings lists what a receiver can take, nil for devices that are none.
func (d *device) enumTimings() *TimingsCap {
	var c dvTimingsCap
	if d.ioctl(vidiocDVTimingsCap, unsafe.Pointer(&c)) != nil || c.typ != timingsBT656 {
		return nil
	}
	t := &TimingsCap{
		MinWidth: int(c.minWidth), MaxWidth: int(c.maxWidth), MinHeight: int(c.minHeight), MaxHeight: int(c.maxHeight),
		MinPixelClock: uint64(c.minPixelclock[1])<<32 | uint64(c.minPixelclock[0]),
		MaxPixelClock: uint64(c.maxPixelclock[1])<<32 | uint64(c.maxPixelclock[0]),
		Interlaced:    c.capabilities&timingsCapInterlaced != 0, Progressive: c.capabilities&timingsCapProgressive != 0,
		ReducedBlanking: c.capabilities&timingsCapReducedBlanking != 0, Custom: c.capabilities&timingsCapCustom != 0,
	}
	for i := range uint32(maxEnum) {
		e := enumDVTimings{index: i}
		if d.ioctl(vidiocEnumDVTimings, unsafe.Pointer(&e)) != nil {
			break
		}
		if mode, err := e.timings.decode(); err == nil {
			t.Modes = append(t.Modes, mode)
		}
	}
	return t
}

// enumControls lists controls that have one value or, as buttons do, none.
func (d *device) enumControls() []Control {
	var all []Control
	id := uint32(0)
	for range maxEnum {
		c := queryctrl{id: id | ctrlFlagNext}
		if d.ioctl(vidiocQueryctrl, unsafe.Pointer(&c)) != nil || c.id <= id {
			break // a driver that does not go on would go round for ever
		}
		id = c.id
		switch c.typ {
		case ctrlTypeInteger, ctrlTypeBoolean, ctrlTypeMenu, ctrlTypeIntegerMenu, ctrlTypeBitmask, ctrlTypeButton:
			if c.flags&ctrlFlagDisabled == 0 {
				all = append(all, d.readControl(&c))
			}
		}
	}
	return all
}

func (d *device) readControl(c *queryctrl) Control {
	r := Control{ID: c.id, Name: text(c.name[:]), Min: int64(c.minimum), Max: int64(c.maximum), Step: int64(c.step),
		Kind: controlKind(c.typ)}
	if v, ok := d.getControl(c.id); ok {
		r.Value = int64(v)
	}
	if c.typ != ctrlTypeMenu {
		return r
	}
	r.Menu = map[int64]string{}
	for i := max(c.minimum, 0); i <= c.maximum && i < maxEnum; i++ {
		m := querymenu{id: c.id, index: uint32(i)}
		if d.ioctl(vidiocQuerymenu, unsafe.Pointer(&m)) == nil {
			r.Menu[int64(i)] = text(m.name[:])
		}
	}
	return r
}

func controlKind(typ uint32) string {
	switch typ {
	case ctrlTypeBoolean:
		return "boolean"
	case ctrlTypeMenu, ctrlTypeIntegerMenu:
		return "menu"
	case ctrlTypeBitmask:
		return "bitmask"
	case ctrlTypeButton:
		return "button"
	}
	return "integer"
}

// SetControl sets a control of a device by its name, in upper or lower case. Of a button any value
// pushes it.
func SetControl(path, name string, value int64) error {
	n, err := openNode(path)
	if err != nil {
		return err
	}
	d := &device{node: n, path: path}
	if err = d.identify(); err == nil {
		err = d.setControl(name, value)
	}
	return errors.Join(err, n.close())
}

func (d *device) setControl(name string, value int64) error {
	all := d.enumControls()
	i := slices.IndexFunc(all, func(c Control) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		var names []string
		for _, c := range all {
			names = append(names, c.Name)
		}
		return fmt.Errorf("%s has no control %q: it has %s", d.path, name, strings.Join(names, ", "))
	}
	c := control{id: all[i].ID, value: int32(value)}
	if int64(c.value) != value {
		return fmt.Errorf("set %s of %s to %d: %w", name, d.path, value, unix.ERANGE)
	}
	if err := d.ioctl(vidiocSCtrl, unsafe.Pointer(&c)); err != nil {
		return d.explain(fmt.Sprintf("set %s of %s to %d", name, d.path, value), err)
	}
	return nil
}

// currentFormat says what the device is set to.
func (d *device) currentFormat() *Current {
	f, err := d.getFormat()
	if err != nil {
		return nil
	}
	p, _ := storedAs(f.fourcc)
	return &Current{
		Width: f.width, Height: f.height, Fourcc: frame.PixelFormat(f.fourcc).String(), Stride: f.planes[0].stride,
		Field: fieldName(f.field), Colour: f.colour.describe(p.IsRGB()),
	}
}
