//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inputNow returns the input that is selected, or false where the device has none.
func (d *device) inputNow() (input, bool) {
	var index int32
	if d.ioctl(vidiocGInput, unsafe.Pointer(&index)) != nil || index < 0 {
		return input{}, false
	}
	in := input{index: uint32(index)}
	return in, d.ioctl(vidiocEnumInput, unsafe.Pointer(&in)) == nil
}

// selectInput selects an input, if it is not the one already: some drivers take that for a change
// of the signal.
func (d *device) selectInput(want int) error {
	all, err := d.enumInputs()
	if err != nil {
		return err
	}
	if want >= len(all) {
		return fmt.Errorf("%s has no input %d: it has %s", d.path, want, inputList(all))
	}
	if now, ok := d.inputNow(); ok && now.index == uint32(want) {
		return nil
	}
	index := int32(want)
	if err := d.ioctl(vidiocSInput, unsafe.Pointer(&index)); err != nil {
		return d.explain(fmt.Sprintf("select input %d of %s", want, d.path), err)
	}
	return nil
}

func (d *device) enumInputs() ([]input, error) {
	var all []input
	for i := range uint32(maxEnum) {
		in := input{index: i}
		if err := d.ioctl(vidiocEnumInput, unsafe.Pointer(&in)); errors.Is(err, unix.EINVAL) ||
			errors.Is(err, unix.ENOTTY) {
			break
		} else if err != nil {
			return all, fmt.Errorf("list the inputs of %s: %w", d.path, err)
		}
		all = append(all, in)
	}
	return all, nil
}

func inputList(all []input) string {
	if len(all) == 0 {
		return "none"
	}
	s := ""
	for i, in := range all {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%d (%s)", in.index, text(in.name[:]))
	}
	return s
}

// decode makes an input readable.
func (in *input) decode() Input {
	kind := fmt.Sprintf("type %d", in.typ)
	switch in.typ {
	case inputTypeTuner:
		kind = "tuner"
	case inputTypeCamera:
		kind = "camera"
	case inputTypeTouch:
		kind = "touch"
	}
	return Input{
		Index: int(in.index), Name: text(in.name[:]), Type: kind,
		Status: inputStatus(in.status), Timings: in.capabilities&inputCapTimings != 0,
	}
}

// inputStatus decodes V4L2_IN_ST_*.
func inputStatus(status uint32) []string {
	var all []string
	for _, s := range []struct {
		bit  uint32
		name string
	}{
		{inputNoPower, "no power"}, {inputNoSignal, "no signal"}, {inputNoColour, "no colour"},
		{inputHFlip, "flipped horizontally"}, {inputVFlip, "flipped vertically"},
		{inputNoHLock, "no horizontal lock"}, {inputColourKill, "colour killer"}, {inputNoVLock, "no vertical lock"},
		{inputNoStdLock, "no standard lock"}, {inputNoSync, "no sync"}, {inputNoEqu, "no equalizer lock"},
		{inputNoCarrier, "no carrier"}, {inputMacrovis, "copy protection (Macrovision)"},
		{inputNoAccess, "access denied (protected)"}, {inputVTR, "VTR time constant"},
	} {
		if status&s.bit != 0 {
			all = append(all, s.name)
		}
	}
	return all
}

// queryTimings asks the receiver what it sees.
func (d *device) queryTimings() (Timings, error) {
	var t dvTimings
	if err := d.ioctl(vidiocQueryDVTimings, unsafe.Pointer(&t)); err != nil {
		return Timings{}, err
	}
	return t.decode()
}

// decode checks timings and makes them countable. The 32 bits of each number cannot overflow what
// they are added up in.
func (t *dvTimings) decode() (Timings, error) {
	b := &t.bt
	if t.typ != timingsBT656 {
		return Timings{}, fmt.Errorf("the driver reports unknown timings of type %d", t.typ)
	}
	u := Timings{
		Width: int(b.width), Height: int(b.height), Interlaced: b.interlaced != 0,
		PixelClock:  uint64(b.pixelclock[1])<<32 | uint64(b.pixelclock[0]),
		TotalWidth:  int(b.width) + int(b.hfrontporch) + int(b.hsync) + int(b.hbackporch),
		TotalHeight: int(b.height) + int(b.vfrontporch) + int(b.vsync) + int(b.vbackporch),
	}
	if u.Interlaced {
		u.TotalHeight += int(b.ilVfrontporch) + int(b.ilVsync) + int(b.ilVbackporch)
	}
	if b.flags&timingsHasVIC != 0 {
		u.VIC = int(b.cea861VIC)
	}
	if err := u.bounded(); err != nil {
		return Timings{}, err
	}
	// Of a receiver the one flag means something only beside the other: V4L2_DV_FL_REDUCED_FPS in
	// the kernel's dev-capture documentation.
	const slower = timingsReducedFPS | timingsDetectsReducedFPS
	u.Period = framePeriod(uint64(u.TotalWidth)*uint64(u.TotalHeight), u.PixelClock, b.flags&slower == slower)
	if u.Period.Num == 0 {
		return Timings{}, fmt.Errorf("the driver reports %dx%d at a pixel clock of %d Hz, which is not a frame rate",
			u.TotalWidth, u.TotalHeight, u.PixelClock)
	}
	return u, nil
}

// signal returns the state of the selected input. Timings are nil for devices without them, and
// without a signal. Errors come from the driver or from impossible timings.
func (d *device) signal() (Signal, *Timings, error) {
	in, _ := d.inputNow()
	t, err := d.queryTimings()
	switch {
	case in.status&inputNoAccess != 0 && !errors.Is(err, unix.ENODEV):
		return SignalProtected, nil, nil
	case err == nil:
		return SignalPresent, &t, nil
	case errors.Is(err, unix.ENOLINK):
		if d.noCable(in) {
			return SignalNoCable, nil, nil
		}
		return SignalNone, nil, nil
	case errors.Is(err, unix.ENOLCK):
		return SignalNoLock, nil, nil
	case errors.Is(err, unix.ERANGE):
		return SignalOutOfRange, nil, nil
	case errors.Is(err, unix.ENOTTY), errors.Is(err, unix.ENODATA), errors.Is(err, unix.EINVAL):
		return statusSignal(in.status), nil, nil
	case errors.Is(err, unix.EBUSY):
		// Who holds the device is looked up where the error is shown, not at each look.
		return SignalUnknown, nil, fmt.Errorf("%w: %s does not look at its signal meanwhile", ErrBusy, d.path)
	}
	return SignalUnknown, nil, err
}

// noCable reports whether a receiver without a link has no power on its connector's 5 volt line
// either. Bits of the control stand for connectors; a receiver that has only one may use any.
func (d *device) noCable(in input) bool {
	if in.status&inputNoPower != 0 {
		return true
	}
	power, ok := d.getControl(cidPowerPresent)
	return ok && power == 0
}

// statusSignal is all that devices without DV timings tell.
func statusSignal(status uint32) Signal {
	switch {
	case status&inputNoPower != 0:
		return SignalNoCable
	case status&inputNoSignal != 0:
		return SignalNone
	case status&(inputNoSync|inputNoHLock|inputNoVLock|inputNoStdLock|inputNoCarrier) != 0:
		return SignalNoLock
	}
	return SignalUnknown
}

// setTimings sets the receiver to the timings that it detects now, nil for devices without timings.
// It returns the driver's own structure unchanged, not the decoded fields.
func (d *device) setTimings() (*Timings, error) {
	var t dvTimings
	switch err := d.ioctl(vidiocQueryDVTimings, unsafe.Pointer(&t)); {
	case errors.Is(err, unix.ENOTTY), errors.Is(err, unix.ENODATA), errors.Is(err, unix.EINVAL):
		return nil, nil // a USB device, say, or a camera
	case err != nil:
		return nil, signalError(d.explain("ask "+d.path+" for its signal", err))
	}
	want, err := t.decode()
	if err != nil {
		return nil, misfit{err}
	}
	if want.Interlaced {
		return nil, fmt.Errorf("%w: the signal is interlaced (%v); set the device to a progressive mode",
			errUnsupported, want)
	}
	// What the receiver is set to still would be of another signal, so a refusal is never passed
	// over.
	switch err := d.ioctl(vidiocSDVTimings, unsafe.Pointer(&t)); {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ERANGE):
		return nil, fmt.Errorf("%w: %s detects %v, but does not support it (%w)", errOutOfRange, d.path, want, err)
	case errors.Is(err, unix.ENOTTY), errors.Is(err, unix.ENODATA):
		return nil, fmt.Errorf("%w: %s detects %v, but cannot be set to it (%w)", errUnsupported, d.path, want, err)
	case err != nil:
		return nil, d.explain(fmt.Sprintf("set %s to the signal's timings, %v", d.path, want), err)
	}
	return &want, nil
}
