package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// goodClocks are clock sources that are read without entering the kernel: the processor's own
// counter, and what hypervisors make of it. kvm-clock and its like are read so where the host
// allows it, which the measured cost then shows.
func goodClocks() []string {
	return []string{"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter", "riscv_clocksource",
		"stp"}
}

// Shares of the frame period by which the 99th of 100 sleeps may end late.
const lateShare = 0.25

func (b *Box) clock(g *group) {
	if source, ok := b.text("sys/devices/system/clocksource/clocksource0/current_clocksource"); ok {
		f := Finding{ID: "clock-source", Found: "the kernel's clock is " + source}
		if !slices.Contains(goodClocks(), source) {
			f.Level = Warn
			have, _ := b.text("sys/devices/system/clocksource/clocksource0/available_clocksource")
			f.Advice = "This clock is slow to read, and some drift; look for the reason with dmesg."
			if slices.Contains(strings.Fields(have), "tsc") {
				f.Advice = "This clock is slow to read; boot with clocksource=tsc if the processor's counter is stable."
			}
		}
		g.add(f)
	} else {
		g.add(Finding{ID: "clock-source", Level: Info, Found: "which clock the kernel uses is not known here",
			Advice: "The measurements below say how good it is."})
	}
	b.clockSync(g)
	c := b.Clock
	if c.Err != nil {
		g.add(Finding{ID: "clock-read", Level: Info, Found: "not measured: " + c.Err.Error(),
			Advice: "Run this again."})
		return
	}
	f := Finding{ID: "clock-read", Numbers: map[string]float64{"read_ns": c.ReadNS, "system_call_ns": c.CallNS,
		"read_to_system_call_ratio": c.ReadNS / c.CallNS},
		Found: fmt.Sprintf("a clock read costs %.0f ns, %.2f of a system call", c.ReadNS, c.ReadNS/c.CallNS)}
	if c.ReadNS > c.CallNS {
		f.Level = Warn
		f.Advice = "The clock is read through the kernel: see the clock source above."
	}
	g.add(f)
	b.timer(g)
}

func (b *Box) timer(g *group) {
	c, n := b.Clock, b.need()
	share := float64(c.LateP99) / float64(n.period())
	f := Finding{ID: "timer", Numbers: map[string]float64{
		"late_p50_ns": float64(c.LateP50), "late_p99_ns": float64(c.LateP99), "late_max_ns": float64(c.LateMax),
		"frame_period_ns": float64(n.period()), "late_p99_to_frame_period_ratio": share,
	}}
	f.Found = fmt.Sprintf("sleeps end %.2f ms late (p99; p50 %.2f ms, max %.2f ms), %.1f%% of a frame of %.1f ms",
		milli(c.LateP99), milli(c.LateP50), milli(c.LateMax), share*100, milli(n.period()))
	if share > lateShare {
		f.Level = Warn
		f.Advice = "X displays are captured as late: end other programs, or give a virtual machine more processors."
	}
	g.add(f)
}
