package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// link is a way that frames of one or several devices take: a USB port, a PCI Express slot.
type link struct {
	key     string // its directory in /sys
	name    string // "USB 2-1"
	speed   string // "480 Mbit/s"
	payload float64
	better  string // advice where it is too slow
	devices []Device
}

// fullLink is the share of a link's payload from which it is called full: other devices and the
// driver's own traffic need some too.
const fullLink = 0.9

// links holds what the devices need against what the ways to them carry.
func (b *Box) links(g *group) {
	for _, l := range b.allLinks() {
		sum, unknown := 0.0, 0
		var names []string
		for _, d := range l.devices {
			names = append(names, d.Path)
			if d.Mode == nil {
				unknown++
				continue
			}
			sum += d.Mode.bytesPerSecond()
		}
		f := Finding{ID: "link-speed", Object: strings.Join(names, " "),
			Numbers: map[string]float64{"available_bytes_per_s": l.payload}}
		f.Found = fmt.Sprintf("%s at %s carries at most %s", l.name, l.speed, speedText(l.payload))
		switch {
		case unknown == len(l.devices):
			f.Level = Info
			f.Advice = "The need is known when it has a signal; 1920x1080 YUYV at 60 frames/s needs 249 MB/s."
			g.add(f)
			continue
		case sum > l.payload:
			f.Level, f.Advice = Fail, l.better
		case sum > l.payload*fullLink:
			f.Level, f.Advice = Warn, l.better
		}
		f.Numbers["needed_bytes_per_s"] = sum
		f.Found += fmt.Sprintf("; %s needed", speedText(sum))
		if len(l.devices) == 1 {
			f.Found += " for " + l.devices[0].Mode.String()
		}
		g.add(f)
	}
	switch {
	case len(g.all) > 0:
	case len(b.Devices) > 0:
		g.add(Finding{ID: "link-speed", Level: Info, Found: "the buses of the capture devices tell no speed",
			Advice: "There is nothing to do for receivers that are part of the box's own chip."})
	default:
		g.add(Finding{ID: "link-speed", Level: Info, Found: "no capture device on a bus whose speed is known",
			Advice: "Run this again with the capture card plugged in."})
	}
}

// allLinks finds the ways of all devices. A way that several share stands once.
func (b *Box) allLinks() []link {
	var all []link
	for _, d := range b.Devices {
		for _, l := range b.linksOf(d) {
			i := slices.IndexFunc(all, func(o link) bool { return o.key == l.key })
			if i < 0 {
				i, all = len(all), append(all, l)
			}
			all[i].devices = append(all[i].devices, d)
		}
	}
	// A hub with one device behind it carries as much as the device's own link.
	return slices.DeleteFunc(all, func(l link) bool {
		return strings.HasPrefix(l.name, "USB hub") &&
			len(l.devices) < 2
	})
}

// linksOf finds a device's own link and the hub's that it may share. The link in sys/class leads to
// the node's place in the tree of devices; what carries it stands above.
func (b *Box) linksOf(d Device) []link {
	const class = "sys/class/video4linux"
	target, err := fs.ReadLink(b.Root, path.Join(class, path.Base(d.Path)))
	if err != nil {
		return nil
	}
	for at := path.Join(class, target); strings.HasPrefix(at, "sys/devices/"); at = path.Dir(at) {
		switch {
		case b.exists(at+"/idVendor") && b.exists(at+"/speed"):
			return b.usbLinks(at)
		case b.exists(at + "/current_link_speed"):
			return b.pciLinks(at)
		}
	}
	return nil
}

// usbLinks returns the links of the USB device in a directory and of the hub on its root port.
func (b *Box) usbLinks(at string) []link {
	own, ok := b.usbLink(at, "USB "+path.Base(at))
	if !ok {
		return nil
	}
	all := []link{own}
	if port, _, nested := strings.Cut(path.Base(at), "."); nested { // 2-1.4 is behind 2-1
		for path.Base(at) != port && strings.HasPrefix(at, "sys/devices/") {
			at = path.Dir(at)
		}
		if hub, ok := b.usbLink(at, "USB hub "+port); ok {
			all = append(all, hub)
		}
	}
	return all
}

func (b *Box) usbLink(at, name string) (link, bool) {
	mbit, ok := b.number(at + "/speed")
	if !ok || mbit <= 0 {
		return link{}, false
	}
	l := link{key: at, name: name, speed: strconv.FormatFloat(mbit, 'f', -1, 64) + " Mbit/s", payload: usbPayload(mbit)}
	l.better = "Choose a smaller mode, a smaller format such as NV12, or a root port for each device."
	if mbit < 5000 {
		l.better = "Use a USB 3 port and cable without a USB 2 hub; a USB 2 device cannot send this mode uncompressed."
	}
	return l, true
}

// usbPayload returns the maximum bytes a second of a USB link, given its speed in Mbit/s. Up to
// high speed it is the bulk limit of the USB 2.0 specification (tables 5-9 and 5-10). That is 19
// packets of 64 bytes in a frame, or 13 of 512 in a microframe. From SuperSpeed on it is the rest
// after the line code, less a tenth for packet headers and link commands. The line code is 8b/10b,
// and 128b/132b from 10 Gbit/s.
func usbPayload(mbit float64) float64 {
	switch {
	case mbit <= 12:
		return 19 * 64 * 1000 * mbit / 12
	case mbit <= 480:
		return 13 * 512 * 8000
	case mbit < 10000:
		return mbit * 1e6 / 10 * 0.9
	}
	return mbit * 1e6 / 8 * 128 / 132 * 0.9
}

// pciLinks returns the link of the PCI Express device in a directory.
func (b *Box) pciLinks(at string) []link {
	speed, ok := b.number(at + "/current_link_speed") // "5.0 GT/s PCIe"
	width, okWidth := b.number(at + "/current_link_width")
	if !ok || !okWidth || speed <= 0 || width < 1 || width > 32 {
		return nil
	}
	l := link{
		key: at, name: "PCI Express " + path.Base(at), speed: fmt.Sprintf("%g GT/s x%g", speed, width),
		payload: pciPayload(speed) * width,
		better:  "Choose a smaller mode or a format with fewer bytes a pixel.",
	}
	most, _ := b.number(at + "/max_link_speed")
	lanes, _ := b.number(at + "/max_link_width")
	if most > speed || lanes > width {
		l.better = fmt.Sprintf("Put the card into a better slot: it can do %g GT/s x%g.", max(most, speed),
			max(lanes, width))
	}
	return []link{l}
}

// pciPayload returns the bytes a second of one lane: the rest after the line code, less 15 % for
// the headers of packets of 128 bytes. The line code is 8b/10b, and 128b/130b from 8 GT/s.
func pciPayload(gts float64) float64 {
	if gts < 8 {
		return gts * 1e9 / 10 * 0.85
	}
	return gts * 1e9 / 8 * 128 / 130 * 0.85
}
