package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// devices adds a finding for each capture device and its signal.
func (b *Box) devices(g *group) {
	if len(b.Devices) == 0 {
		b.noDevice(g)
	}
	for _, d := range b.Devices {
		if d.Err != nil {
			if d.Streams {
				g.add(held(d))
				continue
			}
			g.add(broken(d))
			continue
		}
		g.add(Finding{ID: "device", Object: d.Path, Found: fmt.Sprintf("%s, driver %s", d.Card, d.Driver)})
		g.add(signal(d))
		if d.Holders != "" {
			g.add(held(d))
		}
	}
	b.undriven(g)
}

func (b *Box) noDevice(g *group) {
	switch {
	case !b.exists("sys"):
		g.add(Finding{ID: "device", Level: Info, Found: "no capture devices: this system has no V4L2",
			Advice: "Record from capture cards on a Linux box; files and scenes can be recorded here."})
	case !b.exists("sys/module/videodev") && !b.exists("sys/class/video4linux"):
		g.add(Finding{ID: "device", Level: Info, Found: "no capture device, and the kernel has not loaded V4L2",
			Advice: "Plug a capture card in, and load its driver; X displays and files need none."})
	default:
		g.add(Finding{ID: "device", Level: Info, Found: "no capture device",
			Advice: "Plug a capture card in; X displays and files need none."})
	}
}

// broken is a device that could not be asked.
func broken(d Device) Finding {
	f := Finding{ID: "device", Object: d.Path, Level: Fail, Found: d.Err.Error(),
		Advice: "Unplug the device and plug it in again, and look into the kernel's log (dmesg)."}
	if errors.Is(d.Err, fs.ErrPermission) {
		f.Advice = "Join the group that owns the device (sudo usermod -aG video $USER), and log in again."
	}
	return f
}

// held is a device that other programs have open, as sound and desktop services do with all
// devices.
func held(d Device) Finding {
	f := Finding{ID: "device-in-use", Object: d.Path, Level: Info, Found: "open in " + d.Holders,
		Advice: "That is harmless until one of them streams from it: only one program can."}
	if d.Streams {
		f.Level, f.Found = Warn, "in use by "+d.Holders
		f.Advice = "End that program before you record from this device: only one can stream from it."
	}
	return f
}

func signal(d Device) Finding {
	f := Finding{ID: "signal", Object: d.Path, Found: d.State}
	switch d.Signal {
	case signalPresent:
		f.Found = "signal"
	case signalMissing:
		f.Level = Warn
		f.Advice = "Check the cable, and that the other end is awake and sends a mode of eideticker sources."
	default:
		f.Level, f.Found = Info, "not told by the device"
		f.Advice = "This device does not tell whether a signal is there; record a few frames and look at them."
	}
	if d.Timings != "" {
		f.Found += ", " + d.Timings
	}
	if d.Refused != "" {
		f.Level = Fail
		f.Found += ": " + d.Refused
		f.Advice = "Choose another mode at the device under test (see eideticker sources), or another card."
	}
	if d.Mode != nil {
		need := d.Mode.bytesPerSecond()
		f.Found += fmt.Sprintf(", recorded as %v: %s", *d.Mode, speedText(need))
		f.Numbers = map[string]float64{
			"width_px": float64(d.Mode.Format.Width), "height_px": float64(d.Mode.Format.Height),
			"frames_per_s": float64(d.Mode.Den) / float64(d.Mode.Num), "needed_bytes_per_s": need,
		}
	}
	return f
}

// usbVideo is the interface class of USB video devices (USB Device Class Definition for Video
// Devices, A.1).
const usbVideo = "0e"

// undriven finds USB video devices that no driver has taken.
func (b *Box) undriven(g *group) {
	const all = "sys/bus/usb/devices"
	entries, err := fs.ReadDir(b.Root, all)
	if err != nil {
		return
	}
	told := map[string]bool{}
	for _, e := range entries {
		device, _, isInterface := strings.Cut(e.Name(), ":")
		at := path.Join(all, e.Name())
		class, _ := b.text(at + "/bInterfaceClass")
		if _, err := fs.ReadLink(b.Root, at+"/driver"); !isInterface || class != usbVideo || err == nil ||
			b.exists(at+"/driver") || told[device] {
			continue
		}
		told[device] = true
		name, ok := b.text(path.Join(all, device, "product"))
		if !ok {
			name = "a video device"
		}
		g.add(Finding{ID: "device-without-driver", Object: "USB " + device, Level: Warn,
			Found:  name + ", taken by no driver",
			Advice: "Load the driver with sudo modprobe uvcvideo."})
	}
}
