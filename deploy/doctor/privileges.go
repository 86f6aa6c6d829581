package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Bits of a set of capabilities (linux/capability.h).
const (
	capNetAdmin = 12
	capIPCLock  = 14
	capSysAdmin = 21
	capSysNice  = 23
)

// capable reports whether this process has a capability.
func (b *Box) capable(bit uint) bool {
	v, _ := b.field("proc/self/status", "CapEff")
	set, err := strconv.ParseUint(v, 16, 64)
	return err == nil && set>>bit&1 == 1
}

// limit returns the soft limit of a resource, from a line such as "Max locked memory 8388608
// 8388608 bytes".
func (b *Box) limit(name string) (v float64, unlimited, ok bool) {
	s, _ := b.text("proc/self/limits")
	for line := range strings.Lines(s) {
		rest, found := strings.CutPrefix(line, name)
		columns := strings.Fields(rest)
		if !found || len(columns) < 2 {
			continue
		}
		if columns[0] == "unlimited" {
			return 0, true, true
		}
		n, err := strconv.ParseUint(columns[0], 10, 64)
		return float64(n), false, err == nil
	}
	return 0, false, false
}

func (b *Box) privileges(g *group) {
	b.realtime(g)
	b.videoGroup(g)
	b.packetLink(g)
	b.socketCalls(g)
	b.samples(g)
	b.sandbox(g)
}

// sandbox warns where Chromium runs pages without its sandbox.
func (b *Box) sandbox(g *group) {
	uids, _ := b.field("proc/self/status", "Uid")
	effective := strings.Fields(uids)
	switch {
	case len(effective) < 2:
	case effective[1] == "0":
		g.add(Finding{ID: "sandbox", Level: Warn, Found: "you are root: Chromium runs pages without its sandbox",
			Advice: "Run pages of others as another user: a page that breaks out of the browser owns the machine."})
	default:
		g.add(Finding{ID: "sandbox", Found: "you are not root, as Chromium's sandbox needs"})
	}
}

// packetLink says whether tests can have a network of their own.
func (b *Box) packetLink(g *group) {
	const node = "dev/net/tun"
	f := Finding{ID: "packet-link", Found: "tests that ask for a network can have one"}
	advice := "Run tests with a network as root, or use eideticker netsim link --stream, which is approximate."
	if b.exists("usr/lib/systemd/system/eideticker.service") {
		advice = "Run sudo install -D -m 644 /usr/share/eideticker/network.conf " +
			"/etc/systemd/system/eideticker.service.d/network.conf for the service, and restart it."
	}
	switch err := b.access(node); {
	case errors.Is(err, fs.ErrNotExist):
		f.Level, f.Found, f.Advice = Info, "the kernel's part for networks of tests is not there: /"+node,
			"Load it with sudo modprobe tun if tests ask for a network."
	case err != nil:
		f.Level, f.Found = Info, "networks of tests cannot be made: /"+node+": "+reason(err)
		f.Advice = advice
	case !b.capable(capNetAdmin) || !b.capable(capSysAdmin):
		f.Level, f.Found = Info, "networks of tests take root, or CAP_NET_ADMIN and CAP_SYS_ADMIN"
		f.Advice = advice
	}
	g.add(f)
}

// realtime says whether the capture thread can go ahead of everything ordinary.
func (b *Box) realtime(g *group) {
	priority, unlimited, ok := b.limit("Max realtime priority")
	numbers := map[string]float64{"priority_limit": priority}
	switch {
	case b.capable(capSysNice):
		g.add(Finding{ID: "realtime", Found: "the capture thread can have real-time priority (CAP_SYS_NICE)"})
	case unlimited || priority >= 1:
		g.add(Finding{ID: "realtime", Found: "the capture thread can have real-time priority (RLIMIT_RTPRIO)",
			Numbers: numbers})
	case !ok:
		g.add(Finding{ID: "realtime", Level: Info,
			Found:  "whether the capture thread can have priority is not known here",
			Advice: "Recording works without; it says so where it cannot."})
	default:
		g.add(Finding{ID: "realtime", Level: Warn, Found: "the capture thread cannot have real-time priority",
			Numbers: numbers,
			Advice:  "Allow it with ulimit -r 1, LimitRTPRIO=1 or CAP_SYS_NICE: frames come late on a busy box."})
	}
}

// videoGroup says whether this user is in the group that mostly owns capture devices.
func (b *Box) videoGroup(g *group) {
	uids, ok := b.field("proc/self/status", "Uid")
	effective := strings.Fields(uids)
	if !ok || len(effective) < 2 {
		return
	}
	const name = "video"
	gid, known := b.groupID(name)
	groups, _ := b.field("proc/self/status", "Groups")
	own, _ := b.field("proc/self/status", "Gid")
	switch {
	case effective[1] == "0":
		g.add(Finding{ID: "video-group", Found: "you are root: all devices can be opened"})
	case !known:
		g.add(Finding{ID: "video-group", Level: Info, Found: "missing group " + name,
			Advice: "See who owns /dev/video0 once a capture card is plugged in (ls -l /dev/video*)."})
	case slices.Contains(append(strings.Fields(groups), strings.Fields(own)...), gid):
		g.add(Finding{ID: "video-group",
			Found: fmt.Sprintf("you are in the group %s, which mostly owns capture devices", name)})
	default:
		f := Finding{ID: "video-group", Level: Info,
			Found:  fmt.Sprintf("you are not in the group %s, which mostly owns capture devices", name),
			Advice: "Join it with sudo usermod -aG video $USER and log in again, unless you have access already."}
		if slices.ContainsFunc(b.Devices, func(d Device) bool { return d.Err != nil }) {
			f.Level = Warn
		}
		g.add(f)
	}
}

// groupID finds a group's number in etc/group.
func (b *Box) groupID(name string) (string, bool) {
	s, _ := b.text("etc/group")
	for line := range strings.Lines(s) {
		if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) == 4 && fields[0] == name {
			return fields[2], true
		}
	}
	return "", false
}
