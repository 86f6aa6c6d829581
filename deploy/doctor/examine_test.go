package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// faultyBox is a box with one thing amiss, and what the doctor should say of it.
type faultyBox struct {
	name   string
	spoil  func(t *testing.T, b *Box)
	id     string
	level  Level
	found  string // regular expressions
	advice string
}

// files replaces some files of the good box.
func files(more ...string) func(*testing.T, *Box) {
	return func(_ *testing.T, b *Box) {
		b.Root = tree(with(goodFiles(), more...))
	}
}

func onDevice(change func(t *testing.T, d *Device)) func(*testing.T, *Box) {
	return func(t *testing.T, b *Box) { change(t, &b.Devices[0]) }
}

func onDisk(change func(d *Disk)) func(*testing.T, *Box) {
	return func(_ *testing.T, b *Box) { change(&b.Disk) }
}

const usbCard = "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/"

func faultyBoxes() []faultyBox {
	noDevices := func(_ *testing.T, b *Box) { b.Devices = nil }
	pci := func(t *testing.T, b *Box) {
		b.Devices[0].Path, b.Devices[0].Mode = "/dev/video2", mode(t, frame.BGR4, 1920, 1080, 60)
	}
	both := func(steps ...func(*testing.T, *Box)) func(*testing.T, *Box) {
		return func(t *testing.T, b *Box) {
			for _, s := range steps {
				s(t, b)
			}
		}
	}
	meminfo := "MemTotal: 4096000 kB\nMemAvailable: %d kB\nSwapTotal: %d kB"
	limits := "Max locked memory         8388608              8388608              bytes\n" +
		"Max realtime priority     0                    0"
	return []faultyBox{
		{"no V4L2", both(noDevices, files("sys/class/video4linux/video0", "", "sys/class/video4linux/video2", "")),
			"device", Info, "not loaded V4L2", "load its driver"},
		{"no device", noDevices, "device", Info, "no capture device$", "Plug a capture card in"},
		{"no sysfs", both(noDevices, func(_ *testing.T, b *Box) { b.Root = fstest.MapFS{} }), "device", Info,
			"this system has no V4L2", "Linux box"},
		{"permission", onDevice(func(_ *testing.T, d *Device) {
			d.Err = fmt.Errorf("open /dev/video0: %w",
				fs.ErrPermission)
		}), "device", Fail, "permission denied", "usermod -aG video"},
		{"a device that fails", onDevice(func(_ *testing.T, d *Device) { d.Err = errTest }), "device", Fail,
			"something broke", "dmesg"},
		{"open elsewhere", onDevice(func(_ *testing.T, d *Device) { d.Holders = "pipewire (process 7)" }),
			"device-in-use", Info, `open in pipewire \(process 7\)`, "harmless"},
		{"streaming elsewhere", onDevice(func(_ *testing.T, d *Device) {
			d.Holders, d.Streams = "obs (process 7)",
				true
		}), "device-in-use", Warn, `in use by obs \(process 7\)`, "End that program"},
		{"busy elsewhere", onDevice(func(_ *testing.T, d *Device) {
			d.Holders, d.Streams, d.Err = "obs", true,
				errTest
		}), "device-in-use", Warn, `in use by obs`, "End that program"},
		{"interlaced", onDevice(func(_ *testing.T, d *Device) {
			d.Timings, d.Mode, d.Refused = "1920x1080i60", nil, "an interlaced signal is not recorded"
		}), "signal", Fail, `^signal, 1920x1080i60: an interlaced signal is not recorded$`, "another mode"},
		{"no cable", onDevice(func(_ *testing.T, d *Device) {
			d.Signal, d.State, d.Timings, d.Mode = signalMissing, "no cable", "", nil
		}), "signal", Warn, "^no cable$", "cable"},
		{"a signal nobody tells of",
			onDevice(func(_ *testing.T, d *Device) { d.Signal, d.State = signalUnknown, "unknown" }), "signal", Info,
			"not told by the device, 1920x1080p60", "record a few frames"},
		{"no driver", files("sys/bus/usb/devices/3-2:1.0/bInterfaceClass", "0e", "sys/bus/usb/devices/3-2/product",
			"Some Card"), "device-without-driver", Warn, "Some Card, taken by no driver", "modprobe"},

		{"USB 2", both(files(usbCard+"speed", "480"),
			onDevice(func(t *testing.T, d *Device) { d.Mode = mode(t, frame.YUYV, 1920, 1080, 60) })),
			"link-speed", Fail, "USB 2-1 at 480 Mbit/s carries at most 53 MB/s; " +
				"249 MB/s needed for 1920x1080 YUYV at 60 frames/s", "USB 3 port"},
		{"USB 3 with too many bytes a pixel",
			onDevice(func(t *testing.T, d *Device) { d.Mode = mode(t, frame.BGR4, 1920, 1080, 60) }),
			"link-speed", Fail, "at 5000 Mbit/s carries at most 450 MB/s; 498 MB/s needed", "NV12"},
		{"USB 3 that is nearly full",
			onDevice(func(t *testing.T, d *Device) { d.Mode = mode(t, frame.BGR4, 1920, 1080, 50) }),
			"link-speed", Warn, "450 MB/s; 415 MB/s needed", "NV12"},
		{"USB, nobody knows what for", onDevice(func(_ *testing.T, d *Device) { d.Mode = nil }), "link-speed", Info,
			"carries at most 450 MB/s$", "when it has a signal"},
		{"PCI Express", both(pci, files("sys/devices/pci0000:00/0000:03:00.0/current_link_speed", "2.5 GT/s PCIe",
			"sys/devices/pci0000:00/0000:03:00.0/current_link_width", "1")),
			"link-speed", Fail, "PCI Express 0000:03:00.0 at 2.5 GT/s x1 carries at most 212 MB/s; 498 MB/s needed",
			"better slot: it can do 5 GT/s x4"},
		{"links unknown", files("sys/class/video4linux/video0", "-> ../../devices/platform/hdmirx/video4linux/video0"),
			"link-speed", Info, "tell no speed", "own chip"},
		{"links of nothing", noDevices, "link-speed", Info, "no capture device on a bus", "again"},

		{"a folder that cannot be written", onDisk(func(d *Disk) {
			*d = Disk{Dir: "/x", Err: fmt.Errorf("cannot be written to: %w", fs.ErrPermission), Free: 1 << 40}
		}), "disk-speed", Fail, "permission denied", "may write to"},
		{"no folder", onDisk(func(d *Disk) { *d = Disk{Dir: "/x", Err: fs.ErrNotExist, SpaceErr: fs.ErrNotExist} }),
			"disk-speed", Fail, "not exist", "Make the folder"},
		{"a disk that fails", onDisk(func(d *Disk) { d.Err = errTest }), "disk-speed", Fail, "something broke",
			"--dir"},
		{"a slow disk", onDisk(func(d *Disk) { d.Written = 300e6 }), "disk-speed", Warn,
			`takes 100 MB/s \(286 MiB written in 3.0 s, max write 20ms\); needs 187 MB/s for noise, 47 MB/s for busy`,
			"larger --ring"},
		{"a very slow disk", onDisk(func(d *Disk) { d.Written = 100e6 }), "disk-speed", Fail, "takes 33 MB/s", "NVMe"},
		{"a very slow disk for nothing", both(noDevices, onDisk(func(d *Disk) { d.Written = 100e6 })), "disk-speed",
			Warn, "\\(no input has a signal\\)", "NVMe"},
		{"a disk that stalls", onDisk(func(d *Disk) { d.Longest = 1500 * time.Millisecond }), "disk-stall", Warn,
			"4.00 MiB took 1.5s", "--ring"},
		{"through the page cache", onDisk(func(d *Disk) { d.Direct, d.DirectNote = false, "refused" }), "disk-direct",
			Warn, "page cache: refused", "O_DIRECT"},
		{"little room", onDisk(func(d *Disk) { d.Free = 20e9 }), "disk-space", Warn,
			"18.6 GiB free: 107 seconds of noise, 7 minutes of busy", "Make room"},
		{"no room", onDisk(func(d *Disk) { d.Free = 1e9 }), "disk-space", Fail, "954 MiB free", "Make room"},
		{"room unknown", onDisk(func(d *Disk) { d.SpaceErr = errTest }), "disk-space", Info,
			"not known: something broke", "how much is free"},

		{"little memory", files("proc/meminfo", fmt.Sprintf(meminfo, 1<<20, 0)), "memory", Warn,
			"1.00 GiB of 3.91 GiB available, of which the rings take a quarter: they hold 1.4 s of 1920x1080 NV12",
			"Add memory"},
		{"memory unknown", files("proc/meminfo", ""), "memory", Info, "not known", "gigabytes"},
		{"no huge pages", files("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]"), "huge-pages",
			Warn, "switched off", "echo madvise"},
		{"a kernel without", files("sys/kernel/mm/transparent_hugepage/enabled", ""), "huge-pages", Info,
			"no transparent huge pages", "."},
		{"no locking", files("proc/self/limits", limits), "memory-lock", Info,
			"only 8.00 MiB can be locked in memory, 356 MiB wanted", "without swap"},
		{"no locking, and swap", files("proc/self/limits", limits, "proc/meminfo", fmt.Sprintf(meminfo, 12<<20, 1<<20)),
			"memory-lock", Warn, "only 8.00 MiB", "swap off"},
		{"limits unknown", files("proc/self/limits", ""), "memory-lock", Info, "not known", "."},
		{"no priority", files("proc/self/limits", limits), "realtime", Warn, "cannot have real-time", "LimitRTPRIO=1"},
		{"priority unknown", files("proc/self/limits", ""), "realtime", Info, "not known", "."},
		{"not in the group", files("etc/group", "video:x:45:"), "video-group", Info, "not in the group video",
			"usermod"},
		{"not in the group, and a device refused",
			both(files("etc/group", "video:x:45:"),
				onDevice(func(_ *testing.T, d *Device) { d.Err = fs.ErrPermission })), "video-group", Warn,
			"not in the group video", "usermod"},
		{"root", files("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff"), "sandbox", Warn,
			"without its sandbox", "another user"},
		{"no such group", files("etc/group", "root:x:0:"), "video-group", Info, "missing group video", "ls -l"},

		{"a slow clock", files("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"),
			"clock-source", Warn, "hpet", "clocksource=tsc"},
		{"a slow clock and no better", files("sys/devices/system/clocksource/clocksource0/current_clocksource",
			"jiffies", "sys/devices/system/clocksource/clocksource0/available_clocksource", "jiffies"), "clock-source",
			Warn, "jiffies", "dmesg"},
		{"clock unknown", files("sys/devices/system/clocksource/clocksource0/current_clocksource", ""), "clock-source",
			Info, "not known", "measurements"},
		{"clock through the kernel", func(_ *testing.T, b *Box) { b.Clock.ReadNS = 900 }, "clock-read", Warn,
			"900 ns, 9.00 of a system call", "clock source"},
		{"clock not measured", func(_ *testing.T, b *Box) { b.Clock.Err = errTest }, "clock-read", Info,
			"something broke", "again"},
		{"late timers", func(_ *testing.T, b *Box) { b.Clock.LateP99 = 5 * time.Millisecond }, "timer", Warn,
			`5.00 ms late .* 30.0% of a frame of 16.7 ms`, "virtual machine"},

		{"one processor", func(_ *testing.T, b *Box) { b.CPUs = 1 }, "processors", Warn, "1 processor, A Processor",
			"two processors"},
		{"busy", files("proc/loadavg", "2.50 1.00 1.00 3/100 7"), "load", Warn, "2.50 programs", "End other"},
		{"powersave", files("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave"), "governor", Warn,
			"powersave", "cpupower"},
		{"powersave of a pstate driver", files("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave",
			"sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate"), "governor", Info, "powersave",
			"repeat best"},
		{"hot", files("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "12"), "throttling", Warn,
			"12 times", "fans"},
		{"a virtual machine", files("proc/cpuinfo", "flags : fpu hypervisor"), "virtual-machine", Info,
			"virtual machine", "host"},
		{"a virtual machine by its name", files("sys/class/dmi/id/product_name", "KVM Virtual Machine"),
			"virtual-machine", Info, "virtual machine", "host"},

		{"no display", func(_ *testing.T, b *Box) { b.Screens = nil }, "display", Info, "no X display", "Xvfb"},
		{"a display that refuses", func(_ *testing.T, b *Box) { b.Screens[0].Err = errTest }, "display", Warn,
			"something broke", "XAUTHORITY"},
		{"a clock nobody keeps", both(files("usr/lib/systemd/system/eideticker.service", ""),
			func(_ *testing.T, b *Box) { b.Clock.Sync.Kept = false }), "clock-sync", Info, "not kept", "timesyncd"},
		{"a clock nobody keeps, of a box", func(_ *testing.T, b *Box) { b.Clock.Sync.Kept = false }, "clock-sync", Warn,
			"not kept", "timesyncd"},
		{"a clock that does not tell", func(_ *testing.T, b *Box) { b.Clock.Sync = ClockSync{} }, "clock-sync", Info,
			"not known", "timedatectl"},

		{"no TUN", files("dev/net/tun", ""), "packet-link", Info, "is not there: /dev/net/tun", "modprobe tun"},
		{"TUN of others", onAccess("/dev/net/tun"), "packet-link", Info,
			"cannot be made: /dev/net/tun: permission denied$",
			"network.conf /etc/systemd/system/eideticker.service.d"},
		{"no rights to networks", files("proc/self/status", "CapEff:\t0000000000001000"), "packet-link", Info,
			"CAP_SYS_ADMIN$", "restart it"},
		{"no rights to networks, and no box", files("proc/self/status", "CapEff:\t0000000000200000",
			"usr/lib/systemd/system/eideticker.service", ""), "packet-link", Info, "CAP_SYS_ADMIN$",
			"netsim link --stream"},

		{"no type information", files("sys/kernel/btf/vmlinux", ""), "socket-calls", Info,
			"no /sys/kernel/btf/vmlinux$", "CONFIG_DEBUG_INFO_BTF"},
		{"no rights to BPF", files("proc/self/status", "CapEff:\t0000008000001000"), "socket-calls", Info,
			"CAP_BPF and CAP_PERFMON$", "sudo eideticker run"},
		{"paranoid kernel", files("proc/self/status", "CapEff:\t0", "proc/sys/kernel/perf_event_paranoid", "4"),
			"samples", Info, "perf_event_paranoid forbids samples of functions to you$", "perf_event_paranoid=1"},
		{"paranoid kernel, and a service", files("proc/sys/kernel/perf_event_paranoid", "3"), "samples", Info,
			"to the service$", "perf_event_paranoid=1"},
		{"no functions of the kernel", files("proc/self/status", "CapEff:\t0",
			"proc/sys/kernel/perf_event_paranoid", "2"), "samples", Info, "hides functions of the kernel", "=1"},
		{"no names of the kernel", files("proc/sys/kernel/kptr_restrict", "2"), "samples", Info, "have no names",
			"sudo sysctl kernel.kptr_restrict=0"},
		{"no tracefs", files("sys/kernel/tracing/events/sched/sched_switch/id", ""), "tracepoints", Info,
			"is not mounted$", "sudo mount -t tracefs"},
		{"no tracepoints for users", files("proc/self/status", "CapEff:\t0",
			"proc/sys/kernel/perf_event_paranoid", "1"), "tracepoints", Info, "forbids tracepoints to you$", "=-1 &&"},
		{"tracepoints of root", files("proc/self/status", "CapEff:\t0",
			"sys/kernel/tracing/events/sched/sched_switch/id", "", "sys/kernel/tracing/events/x", "1",
			"proc/sys/kernel/perf_event_paranoid", "-1"), "tracepoints", Info, "cannot be read$", "mode=755"},

		{"no uinput", files("dev/uinput", ""), "uinput", Info, "^is not there$", "modprobe uinput"},
		{"uinput of others", onAccess("/dev/uinput"), "uinput", Info, "^cannot be opened: permission denied$",
			"ls -l /dev/uinput"},
		{"a gadget of others", onAccess("/dev/hidg0"), "hid-gadget", Warn, "^cannot be opened: permission denied$",
			"ls -l /dev/hidg0"},
		{"no gadget", files("dev/hidg0", ""), "hid-gadget", Info, "fe980000.usb can be a device, and none is set up",
			"agent"},
		{"no gadgets loaded", files("dev/hidg0", "", "sys/kernel/config/usb_gadget/g1/UDC", ""), "hid-gadget", Info,
			"not loaded", "modprobe libcomposite"},
		{"no port for gadgets", files("dev/hidg0", "", "sys/class/udc/fe980000.usb/state", ""), "hid-gadget", Info,
			"no USB port", "small board"},
		{"no adb", func(_ *testing.T, b *Box) { b.Phones, b.LookPath = Phones{Err: errTest}, notInstalled }, "adb",
			Info, "^not installed", "apt install adb"},
		{"no adb server", func(_ *testing.T, b *Box) { b.Phones = Phones{Err: errTest} }, "adb", Info,
			"does not answer: something broke", "start-server"},
		{"a phone that does not trust", func(_ *testing.T, b *Box) { b.Phones.Attached[0].State = "unauthorized" },
			"adb", Warn, "^phone, unauthorized$", "allow"},
		{"an agent", func(_ *testing.T, b *Box) { b.Agents = []Agent{{"board", "Linux 6.1 aarch64, root", nil}} },
			"profile-agent", OK, "Linux 6.1 aarch64, root$", ""},
		{"no agent", func(_ *testing.T, b *Box) { b.Agents = []Agent{{"board", "", errTest}} }, "profile-agent", Warn,
			"something broke", "Start the agent there"},
		{"an agent without perf", func(_ *testing.T, b *Box) { b.Agents = []Agent{{"board", "Linux", errTest}} },
			"profile-agent", Warn, "something broke", "on the device"},

		{"no box", files("usr/lib/systemd/system/eideticker.service", ""), "service", Info, "not set up as a box",
			"make package"},
		{"a failed service", onService("ActiveState", "failed", "Result", "watchdog"), "service", Warn,
			"failed .*: watchdog", "journalctl"},
		{"a service that starts over and over", onService("ActiveState", "activating", "SubState", "auto-restart"),
			"service", Warn, "auto-restart", "journalctl"},
		{"a stopped service", onService("ActiveState", "inactive", "SubState", "dead"), "service", Warn, "inactive",
			"enable --now"},
		{"a service by hand", onService("UnitFileState", "disabled"), "service", Warn, "disabled at the start",
			"systemctl enable"},
		{"no systemd", func(_ *testing.T, b *Box) { b.Service = Service{Err: errTest} }, "service", Info,
			"something broke", "systemctl status"},
		{"a rig that does not answer", func(_ *testing.T, b *Box) { b.Service.Answer = errTest }, "service-address",
			Warn, "does not answer: something broke", "another program"},
		{"a broken configuration", func(_ *testing.T, b *Box) { b.Service.Config = errTest }, "service-address", Warn,
			"cannot be read: something broke", "restart"},
		{"no user", files("etc/passwd", "root:x:0:0::/root:/bin/sh"), "service-user", Warn, "does not exist",
			"sysusers"},
		{"a user without groups",
			files("etc/group", "video:x:44:alice,eideticker2\ninput:x:998:eideticker\nplugdev:x:46:eideticker"),
			"service-user", Warn,
			`is not in gpio \(power by GPIO\), uinput \(the input uinput\), video \(capture cards\)$`, "sysusers"},
		{"no rules", files("usr/lib/udev/rules.d/60-eideticker.rules", ""), "udev-rules", Warn, "60-eideticker.rules",
			"Install the package"},
		{"a card without a name", files("dev/capture/0", ""), "capture-name", Info, "no name",
			`ENV{ID_PATH}=="pci-0000:00:14.0-usb-0:1:1.0", SYMLINK+="capture/0" into`},
		{"a card without a name beside one", files("dev/capture/0", "-> ../video7"), "capture-name", Info, "no name",
			`SYMLINK+="capture/1" into`},
		{"a card that udev does not know", files("dev/capture/0", "", "run/udev/data/c81:0", ""), "capture-name", Info,
			"no name", "Give it one"},

		{"an unchecked cluster", onStorage(Storage{}), "fleet-storage", Warn, "not checked", "fleet.nats_varz"},
		{"a cluster without an answer", onStorage(Storage{URL: "http://n0:8222/varz", Err: errTest}), "fleet-storage",
			Warn, "something broke", "Start the NATS server"},
		{"a cluster that loses jobs", onStorage(Storage{URL: "http://n0:8222/varz", Name: "n0"}), "fleet-storage", Fail,
			"n0 has no sync_always", "sync_interval: always"},
		{"no programs", func(_ *testing.T, b *Box) { b.LookPath = notInstalled }, "program", Info,
			"not installed; eideticker demo", "apt install xvfb"},
	}
}

// TestProgramsOfRoot: a program is found where only root's PATH leads.
func TestProgramsOfRoot(t *testing.T) {
	b := good(t)
	b.LookPath = func(name string) (string, error) {
		if name == "/usr/sbin/dnsmasq" {
			return name, nil
		}
		return "", exec.ErrNotFound
	}
	for _, f := range find(b.Examine(), "program") {
		if want := map[string]string{"dnsmasq": "/usr/sbin/dnsmasq",
			"hostapd": "not installed; it makes a wireless interface"}[f.Object]; !strings.HasPrefix(f.Found, want) {
			t.Errorf("%s: %q, want %q", f.Object, f.Found, want)
		}
	}
}

// onAccess refuses a node.
func onAccess(node string) func(*testing.T, *Box) {
	return func(_ *testing.T, b *Box) {
		b.Access = func(path string) error {
			if path == node {
				return fmt.Errorf("access %s: %w", path, fs.ErrPermission)
			}
			return nil
		}
	}
}

// onService changes what systemd says.
func onService(pairs ...string) func(*testing.T, *Box) {
	return func(_ *testing.T, b *Box) {
		for i := 0; i+1 < len(pairs); i += 2 {
			b.Service.State[pairs[i]] = pairs[i+1]
		}
	}
}

func onStorage(s Storage) func(*testing.T, *Box) {
	return func(_ *testing.T, b *Box) { b.Storage = []Storage{s} }
}

// Fault: The box is not fit to record, or a box service fails
func TestFaults(t *testing.T) {
	for _, tc := range faultyBoxes() {
		t.Run(tc.name, func(t *testing.T) {
			b := good(t)
			tc.spoil(t, b)
			all := b.Examine()
			found := find(all, tc.id)
			if len(found) == 0 {
				t.Fatalf("no finding %s", tc.id)
			}
			f := found[0]
			if f.Level != tc.level || !regexp.MustCompile(tc.found).MatchString(f.Found) ||
				!strings.Contains(f.Advice, tc.advice) {
				t.Errorf("%v %q, advice %q\nwant %v %q, %q", f.Level, f.Found, f.Advice, tc.level, tc.found, tc.advice)
			}
			if Worst(all) < tc.level {
				t.Errorf("the worst of all is %v", Worst(all))
			}
			checkFindings(t, all)
		})
	}
}

// A box without faults has nothing to say.
func TestGoodBox(t *testing.T) {
	all := good(t).Examine()
	for _, f := range all {
		if f.Level != OK {
			t.Errorf("%s %s: %v: %s", f.ID, f.Object, f.Level, f.Found)
		}
	}
	checkFindings(t, all)
	groups := map[string]bool{}
	for _, f := range all {
		groups[f.Group] = true
	}
	for _, name := range groupNames() {
		if !groups[name] {
			t.Errorf("group %s has no finding", name)
		}
	}
}

// Nothing is known: nothing crashes, nothing is praised for want of knowledge, and nothing fails
// either.
func TestUnknownBox(t *testing.T) {
	b := &Box{Root: fstest.MapFS{}, LookPath: notInstalled, Phones: Phones{Err: errTest}, Clock: Clock{Err: errTest},
		Disk: Disk{SpaceErr: errTest, Direct: true, Written: 1 << 30, Took: time.Second}}
	all := b.Examine()
	checkFindings(t, all)
	if Worst(all) == Fail {
		t.Errorf("something fails: %+v", all)
	}
}

// Files of the kernel that are broken are taken for unknown.
func TestHostileFiles(t *testing.T) {
	for _, content := range []string{"", "-1", "NaN", "1e300", "+Inf", ":", "\x00\xff", strings.Repeat("9", 1000),
		"-> ../../../../..", "-> /", "-> proc/meminfo"} {
		all := map[string]string{}
		for name := range goodFiles() {
			all[name] = content
		}
		b := good(t)
		b.Root = tree(all)
		found := b.Examine()
		checkFindings(t, found)
		for _, f := range found {
			if f.Level == Fail {
				t.Errorf("%q: %+v", content, f)
			}
		}
	}
}

// checkFindings wants each finding to say what it found, and advice of one sentence where something
// is amiss.
func checkFindings(t *testing.T, all []Finding) {
	t.Helper()
	for _, f := range all {
		if f.ID == "" || f.Group == "" || f.Found == "" || strings.Contains(f.Found+f.Advice, "%!") {
			t.Errorf("incomplete: %+v", f)
		}
		if (f.Level == OK) != (f.Advice == "") {
			t.Errorf("%s is %v and its advice is %q", f.ID, f.Level, f.Advice)
		}
		if strings.Contains(f.Advice, "\n") || f.Advice != "" && !strings.HasSuffix(f.Advice, ".") ||
			strings.Contains(f.Advice, ". ") {
			t.Errorf("%s: advice is no sentence: %q", f.ID, f.Advice)
		}
		for name, v := range f.Numbers {
			if v != v || v < 0 || v > 1e20 {
				t.Errorf("%s: %s is %v", f.ID, name, v)
			}
		}
	}
}

// Two cards behind one hub share what its port carries, though each for itself would fit; so do two
// inputs of one PCI card.
func TestSharedLinks(t *testing.T) {
	const hub = "sys/devices/pci0000:00/0000:00:14.0/usb2/2-3/"
	b := good(t)
	const usb2 = "-> ../../devices/pci0000:00/0000:00:14.0/usb2/2-3/"
	b.Root = tree(map[string]string{
		"sys/class/video4linux/video0": usb2 + "2-3.1/2-3.1:1.0/video4linux/video0",
		"sys/class/video4linux/video1": usb2 + "2-3.4/2-3.4.2/2-3.4.2:1.0/video4linux/video1",
		hub + "speed":                  "5000", hub + "idVendor": "1",
		hub + "2-3.1/speed": "5000", hub + "2-3.1/idVendor": "1",
		hub + "2-3.4/speed": "5000", hub + "2-3.4/idVendor": "1",
		hub + "2-3.4/2-3.4.2/speed": "5000", hub + "2-3.4/2-3.4.2/idVendor": "1",
	})
	yuyv := mode(t, frame.YUYV, 1920, 1080, 60)
	b.Devices = []Device{{Path: "/dev/video0", Mode: yuyv}, {Path: "/dev/video1", Mode: yuyv}}
	found := find(b.Examine(), "link-speed")
	if len(found) != 3 || found[0].Level != OK || found[2].Level != OK {
		t.Fatalf("%+v", found)
	}
	if f := found[1]; f.Level != Fail || f.Object != "/dev/video0 /dev/video1" ||
		!strings.Contains(f.Found, "USB hub 2-3 at 5000 Mbit/s carries at most 450 MB/s; 498 MB/s needed") {
		t.Errorf("%+v", f)
	}
	if n := found[1].Numbers; n["needed_bytes_per_s"] != 2*1920*1080*2*60 || n["available_bytes_per_s"] != 450e6 {
		t.Errorf("%v", n)
	}
}

func TestPayloads(t *testing.T) {
	for _, tc := range []struct {
		got, want float64 // MB/s
	}{
		{usbPayload(12), 1.216}, {usbPayload(480), 53.248}, {usbPayload(5000), 450}, {usbPayload(10000), 1090.9},
		{usbPayload(20000), 2181.8},
		{pciPayload(2.5), 212.5}, {pciPayload(5), 425}, {pciPayload(8), 836.9}, {pciPayload(16), 1673.8},
	} {
		if d := tc.got/1e6 - tc.want; d > 0.05 || d < -0.05 {
			t.Errorf("%.3f MB/s, want %.3f", tc.got/1e6, tc.want)
		}
	}
}

// TestDocumented compares json.md with all that is ever found.
func TestDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/reference/json.md")
	if err != nil {
		t.Fatal(err)
	}
	boxes := append(faultyBoxes(), faultyBox{spoil: func(*testing.T, *Box) {}})
	for _, tc := range boxes {
		b := good(t)
		tc.spoil(t, b)
		for _, f := range b.Examine() {
			names := []string{f.ID}
			for name := range f.Numbers {
				names = append(names, name)
			}
			for _, name := range names {
				if !strings.Contains(string(doc), "`"+name+"`") {
					t.Errorf("json.md does not have `%s`", name)
				}
			}
		}
	}
}

func TestUnits(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{speedText(1.2e6), "1.2 MB/s"}, {speedText(53.2e6), "53 MB/s"}, {speedText(2.5e9), "2.50 GB/s"},
		{sizeText(512), "512 B"}, {sizeText(5 << 20), "5.00 MiB"}, {sizeText(3 << 30), "3.00 GiB"},
		{spanText(90 * time.Second), "90 seconds"}, {spanText(5 * time.Minute), "5 minutes"},
		{spanText(5 * time.Hour), "5 hours"}, {spanText(100 * time.Hour), "4 days"},
		{spanText(seconds(1e300)), "36500 days"},
		{Warn.String(), "warn"}, {Level(9).String(), "level(9)"},
	} {
		if tc.got != tc.want {
			t.Errorf("%q, want %q", tc.got, tc.want)
		}
	}
}

func TestLevels(t *testing.T) {
	for _, l := range []Level{OK, Info, Warn, Fail} {
		text, err := l.MarshalText()
		var back Level
		if err := errors.Join(err, back.UnmarshalText(text)); err != nil || back != l {
			t.Errorf("%v comes back as %v, %v", l, back, err)
		}
	}
	if new(Level).UnmarshalText([]byte("bad")) == nil {
		t.Error("an unknown level is taken")
	}
}
