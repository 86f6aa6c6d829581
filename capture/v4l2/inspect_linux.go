//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/blackjack/webcam"
	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/frame"
)

// List finds the capture devices of this machine, by their nodes. One that cannot be asked is
// listed with its Err. Nodes that capture no video (metadata, output, codecs) are left out. Nothing
// about a device is changed.
func List() ([]Device, error) {
	var all []Device
	for _, path := range videoNodes() {
		d, err := Inspect(path)
		if errors.Is(err, errNoDevice) {
			continue
		}
		d.Err = err
		all = append(all, d)
	}
	return all, nil
}

// Inspect reads all properties of one device. If only some can be read, it returns an error and a
// Device with those.
func Inspect(path string) (Device, error) {
	out := Device{Path: path, Link: stableLink(path), Input: -1, Card: cardOf(path)}
	n, err := openNode(path)
	if err != nil {
		return out, err
	}
	d, err := newDevice(n, path)
	if err == nil {
		err = d.inspect(&out)
	}
	return out, errors.Join(err, n.close())
}

// cardOf returns a device's name as the kernel tells it to everyone.
func cardOf(path string) string {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	b, _ := os.ReadFile(filepath.Join("/sys/class/video4linux", filepath.Base(target), "name"))
	return text(b)
}

func (d *device) inspect(out *Device) error {
	out.Driver, out.Card, out.Bus = d.driver, d.card, d.bus
	out.Capabilities, out.MultiPlanar = capabilityNames(d.caps), d.multi
	inputs, err := d.enumInputs()
	if err != nil {
		return err
	}
	for i := range inputs {
		out.Inputs = append(out.Inputs, inputs[i].decode())
	}
	if now, ok := d.inputNow(); ok {
		out.Input = int(now.index)
	}
	// A receiver that does not report its signal may report the rest.
	out.Signal, out.Timings, out.SignalErr = d.signal()
	if errors.Is(out.SignalErr, unix.ENODEV) {
		return out.SignalErr
	}
	out.TimingsCap = d.enumTimings()
	out.Current = d.currentFormat()
	if out.Formats, err = d.formats(); err != nil {
		return err
	}
	out.Controls = d.enumControls()
	if raw, err := d.readEDID(); err == nil {
		out.EDID, out.EDIDErr = parseEDID(raw)
	} else if out.TimingsCap != nil {
		out.EDIDErr = err
	}
	out.Holders = holders(d.path)
	out.Streams = d.streamsElsewhere()
	return nil
}

// streamsElsewhere reports whether another program has buffers of the device: to give back none is
// refused then.
func (d *device) streamsElsewhere() bool {
	q := queue{d: d, memory: memMMAP}
	_, err := q.request(0)
	return errors.Is(err, ErrBusy)
}

// formats lists pixel formats with sizes and rates.
func (d *device) formats() ([]PixelFormat, error) {
	descs, err := d.enumFormats()
	if err != nil {
		return nil, err
	}
	list := d.ownSizes
	if !d.multi {
		// The library opens single-planar devices only.
		w, err := webcam.Open(d.path)
		if err != nil {
			return nil, pathError(d.path, err)
		}
		defer w.Close()
		list = func(fourcc uint32) []Size { return webcamSizes(w, webcam.PixelFormat(fourcc)) }
	}
	var all []PixelFormat
	for _, f := range descs {
		p := PixelFormat{
			Fourcc: frame.PixelFormat(f.fourcc).String(), About: f.about,
			Compressed: f.flags&fmtFlagCompressed != 0, Emulated: f.flags&fmtFlagEmulated != 0,
		}
		if slices.ContainsFunc(all, func(q PixelFormat) bool { return q.Fourcc == p.Fourcc }) {
			continue
		}
		if pixel, ok := storedAs(f.fourcc); ok {
			p.Pixel = pixel
		}
		p.Sizes = list(f.fourcc)
		all = append(all, p)
	}
	return all, nil
}

func (d *device) ownSizes(fourcc uint32) []Size {
	all := d.enumSizes(fourcc)
	for i := range all {
		all[i].Periods = d.enumPeriods(fourcc, all[i].Width, all[i].Height)
	}
	return all
}

// webcamSizes asks the library for sizes and rates.
func webcamSizes(w *webcam.Webcam, f webcam.PixelFormat) []Size {
	var all []Size
	for _, s := range w.GetSupportedFrameSizes(f) {
		size := newSize(s.MinWidth, s.MaxWidth, s.StepWidth, s.MinHeight, s.MaxHeight, s.StepHeight)
		for _, r := range w.GetSupportedFramerates(f, s.MaxWidth, s.MaxHeight) {
			size.Periods = append(size.Periods, fract{r.MinNumerator, r.MinDenominator}.rational())
			if r.MinNumerator != r.MaxNumerator || r.MinDenominator != r.MaxDenominator {
				size.Periods = append(size.Periods, fract{r.MaxNumerator, r.MaxDenominator}.rational())
			}
		}
		size.Periods = sortPeriods(size.Periods)
		all = append(all, size)
	}
	return all
}
