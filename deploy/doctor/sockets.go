package doctor

import "strconv"

// Bits of a set of capabilities (linux/capability.h).
const (
	capPerfmon = 38
	capBPF     = 39
)

// socketCalls reports whether runs can record socket calls, by eBPF.
func (b *Box) socketCalls(g *group) {
	f := Finding{ID: "socket-calls", Found: "runs can record socket calls (--profile sockets)"}
	switch {
	case !b.exists("sys/kernel/btf/vmlinux"):
		f.Level, f.Found = Info, "runs cannot record socket calls: the kernel has no /sys/kernel/btf/vmlinux"
		f.Advice = "Use a kernel with CONFIG_DEBUG_INFO_BTF, such as that of Debian 12, for --profile sockets."
	case !b.capable(capSysAdmin) && !(b.capable(capPerfmon) && b.capable(capBPF)):
		f.Level, f.Found = Info, "recording socket calls takes root, or CAP_BPF and CAP_PERFMON"
		f.Advice = "Run sudo eideticker run TEST --profile sockets."
	}
	g.add(f)
}

// samples reports whether runs can record samples of functions, by perf. The service of a box is
// another user without capabilities.
func (b *Box) samples(g *group) {
	const setting = "kernel.perf_event_paranoid"
	trusted := b.capable(capSysAdmin) || b.capable(capPerfmon)
	paranoid, kptr := b.sysctl("perf_event_paranoid"), b.sysctl("kptr_restrict")
	f := Finding{ID: "samples", Level: Info, Found: "runs can record samples of functions (--profile samples)"}
	switch {
	case paranoid > 2 && !trusted:
		f.Found, f.Advice = setting+" forbids samples of functions to you", "Run sudo sysctl "+setting+"=1."
	case paranoid > 2 && installed(b.Root):
		f.Found = setting + " forbids samples of functions to the service"
		f.Advice = "Run sudo sysctl " + setting + "=1 if its tests have a profile."
	case paranoid > 1 && !trusted:
		f.Found, f.Advice = setting+" hides functions of the kernel from you", "Run sudo sysctl "+setting+"=1."
	case kptr > 1 || kptr > 0 && !trusted:
		f.Found = "functions of the kernel have no names: kernel.kptr_restrict hides their addresses"
		f.Advice = "Run sudo sysctl kernel.kptr_restrict=0 to name them in samples."
	default:
		f.Level = OK
	}
	g.add(f)
	const events = "sys/kernel/tracing"
	_, readable := b.text(events + "/events/sched/sched_switch/id")
	f = Finding{ID: "tracepoints", Level: Info, Found: "samples have waits with their stacks"}
	switch {
	case !b.exists(events+"/events") && trusted:
		f.Found = "waits have no stacks: /" + events + " is not mounted"
		f.Advice = "Run sudo mount -t tracefs tracefs /" + events + "."
	case !trusted && paranoid >= 0:
		f.Found = "waits have no stacks: " + setting + " forbids tracepoints to you"
		f.Advice = "Run sudo sysctl " + setting + "=-1 && sudo mount -o remount,mode=755 /" + events + ", or use root."
	case !readable:
		f.Found = "waits have no stacks: /" + events + " cannot be read"
		f.Advice = "Run sudo mount -o remount,mode=755 /" + events + "."
	default:
		f.Level = OK
	}
	g.add(f)
}

// sysctl returns a setting of the kernel; -1: unknown.
func (b *Box) sysctl(name string) int {
	text, _ := b.text("proc/sys/kernel/" + name)
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
