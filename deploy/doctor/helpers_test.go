package doctor

import (
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// tree makes a file system of short files; a value that begins with "-> " is a link.
func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, content := range files {
		f := &fstest.MapFile{Data: []byte(content + "\n"), Mode: 0o444}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			f = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
		}
		m[name] = f
	}
	return m
}

// with returns the files of a tree and some more. An empty value takes a file away.
func with(files map[string]string, more ...string) map[string]string {
	all := map[string]string{}
	for name, content := range files {
		all[name] = content
	}
	for i := 0; i+1 < len(more); i += 2 {
		all[more[i]] = more[i+1]
		if more[i+1] == "" {
			delete(all, more[i])
		}
	}
	return all
}

// goodFiles are what the kernel of a box without faults tells.
func goodFiles() map[string]string {
	return map[string]string{
		"proc/meminfo": "MemTotal:       16384000 kB\nMemFree:        100 kB\nMemAvailable:   12288000 kB\n" +
			"SwapTotal:             0 kB",
		"proc/loadavg": "0.10 0.20 0.30 1/100 4242",
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: A Processor\nflags\t\t: fpu tsc",
		"proc/self/status": "Name:\teideticker\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n" +
			"Groups:\t27 44 1000 \nCapEff:\t0000000000201000",
		"proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units     \n" +
			"Max locked memory         unlimited            unlimited            bytes     \n" +
			"Max realtime priority     1                    1                    ",
		"etc/group": "root:x:0:\nvideo:x:44:alice,eideticker\nuinput:x:999:eideticker\n" +
			"input:x:998:eideticker\ngpio:x:997:eideticker\nplugdev:x:46:bob,eideticker",
		"sys/kernel/mm/transparent_hugepage/enabled":                          "always [madvise] never",
		"sys/devices/system/clocksource/clocksource0/current_clocksource":     "tsc",
		"sys/devices/system/clocksource/clocksource0/available_clocksource":   "tsc hpet acpi_pm",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":                "performance",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_driver":                  "acpi-cpufreq",
		"sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count": "0",
		// A USB 3 card on a port of its own, and a PCI Express card.
		"sys/class/video4linux/video0": "-> ../../devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/video4linux/video0",
		"sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/video4linux/video0/dev": "81:0",
		"sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/bInterfaceClass":        "0e",
		"sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/idVendor":                       "1234",
		"sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/speed":                          "5000",
		"sys/devices/pci0000:00/0000:00:14.0/usb2/speed":                              "10000",
		"sys/devices/pci0000:00/0000:00:14.0/usb2/idVendor":                           "1d6b",
		"sys/class/video4linux/video2": "" +
			"-> ../../devices/pci0000:00/0000:03:00.0/video4linux/video2",
		"sys/devices/pci0000:00/0000:03:00.0/current_link_speed": "5.0 GT/s PCIe",
		"sys/devices/pci0000:00/0000:03:00.0/current_link_width": "4",
		"sys/devices/pci0000:00/0000:03:00.0/max_link_speed":     "5.0 GT/s PCIe",
		"sys/devices/pci0000:00/0000:03:00.0/max_link_width":     "4",
		// A box: the package is installed, the card has a name, and a gadget is set up.
		"usr/lib/systemd/system/eideticker.service": "[Unit]",
		"usr/lib/udev/rules.d/60-eideticker.rules":  "# rules",
		"etc/passwd": "root:x:0:0::/root:/bin/sh\n" +
			"eideticker:x:993:993:Eideticker rig:/var/lib/eideticker:/usr/sbin/nologin",
		"dev/capture/0":          "-> ../video0",
		"dev/video0":             "",
		"dev/uinput":             "",
		"dev/net/tun":            "",
		"sys/kernel/btf/vmlinux": "",
		"sys/kernel/tracing/events/sched/sched_switch/id": "315",
		"dev/hidg0":                           "",
		"run/udev/data/c81:0":                 "I:1\nE:ID_PATH=pci-0000:00:14.0-usb-0:1:1.0",
		"sys/class/udc/fe980000.usb/state":    "configured",
		"sys/kernel/config/usb_gadget/g1/UDC": "fe980000.usb",
	}
}

func mode(t *testing.T, p frame.PixelFormat, w, h int, fps int64) *Mode {
	t.Helper()
	f, err := frame.NewFormat(p, w, h)
	if err != nil {
		t.Fatal(err)
	}
	return &Mode{Format: f, Num: 1, Den: fps}
}

// good is a box without faults: one card at 1080p60 NV12, 187 MB/s.
func good(t *testing.T) *Box {
	t.Helper()
	return &Box{
		Root: tree(goodFiles()), CPUs: 4,
		Devices: []Device{{Path: "/dev/video0", Card: "Card", Driver: "uvcvideo", Signal: signalPresent,
			Timings: "1920x1080p60", Mode: mode(t, frame.NV12, 1920, 1080, 60)}},
		Screens: []Screen{{Name: ":0", Size: "1920x1080"}},
		Disk: Disk{Dir: "/recordings", Written: 3 << 30, Took: 3 * time.Second, Longest: 20 * time.Millisecond,
			Direct: true, Free: 1 << 40},
		Clock: Clock{ReadNS: 25, CallNS: 100, LateP50: 60 * time.Microsecond, LateP99: 200 * time.Microsecond,
			LateMax: time.Millisecond, Sync: ClockSync{Known: true, Kept: true, MaxError: 40 * time.Millisecond}},
		LookPath: func(name string) (string, error) {
			return "/usr/bin/" + name, nil
		},
		Access: func(string) error { return nil },
		Phones: Phones{Attached: []Phone{{"0A1B2C", "device"}}},
		Service: Service{Address: "127.0.0.1:8443", State: map[string]string{"ActiveState": "active",
			"SubState": "running", "UnitFileState": "enabled", "Result": "success"}},
	}
}

// find returns the findings of one ID.
func find(all []Finding, id string) (found []Finding) {
	for _, f := range all {
		if f.ID == id {
			found = append(found, f)
		}
	}
	return found
}

var errTest = errors.New("something broke")

func notInstalled(string) (string, error) { return "", exec.ErrNotFound }
