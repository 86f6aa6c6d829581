package doctor

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
		f.Advice = "Run tests with --profile sockets as root."
	}
	g.add(f)
}
