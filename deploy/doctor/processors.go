package doctor

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/machine"
	"github.com/eideticker/eideticker/analyze/wording"
)

// busyShare is the load from which a box is called busy, as a share of its processors.
const busyShare = 0.5

func (b *Box) processors(g *group) {
	f := Finding{ID: "processors", Found: wording.Plural(b.CPUs, "processor"),
		Numbers: map[string]float64{"processors": float64(b.CPUs)}}
	if model, ok := b.field("proc/cpuinfo", "model name"); ok {
		f.Found += ", " + model
	}
	if b.CPUs < 2 {
		f.Level = Warn
		f.Advice = "Use a box with two processors or more: capture and packing should not wait for each other."
	}
	g.add(f)
	b.load(g)
	b.governor(g)
	b.throttled(g)
	b.virtual(g)
}

func (b *Box) load(g *group) {
	load := machine.Load(b.Root)
	if load == nil || b.CPUs < 1 {
		return
	}
	f := Finding{ID: "load", Numbers: map[string]float64{"load": *load},
		Found: fmt.Sprintf("%.2f programs wanted to run in the last minute", *load)}
	if *load > busyShare*float64(b.CPUs) {
		f.Level = Warn
		f.Advice = "End other programs before you record: they take processors and memory bandwidth from it."
	}
	g.add(f)
}

// governor says how processors choose their speed. Drivers that end in pstate know only powersave
// and performance, and their powersave does go up at once under load.
func (b *Box) governor(g *group) {
	const cpus = "sys/devices/system/cpu"
	policies, err := fs.Glob(b.Root, cpus+"/cpu*/cpufreq/scaling_governor")
	if err != nil || len(policies) == 0 {
		return
	}
	var names []string
	slow := false
	for _, p := range policies {
		name, _ := b.text(p)
		driver, _ := b.text(strings.TrimSuffix(p, "governor") + "driver")
		slow = slow || name == "powersave" && !strings.HasSuffix(driver, "pstate") &&
			!strings.HasSuffix(driver, "pstate-epp")
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	f := Finding{ID: "governor", Found: "processors run by the governor " + strings.Join(names, ", ")}
	switch {
	case slow:
		f.Level = Warn
		f.Advice = "Set it with sudo cpupower frequency-set -g performance: powersave is slowest."
	case !slices.Equal(names, []string{"performance"}):
		f.Level = Info
		f.Advice = "For measurements that repeat best set it with sudo cpupower frequency-set -g performance."
	}
	g.add(f)
}

// throttled says whether processors were slowed down for their heat since the box was started.
func (b *Box) throttled(g *group) {
	counts, err := fs.Glob(b.Root, "sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count")
	if err != nil || len(counts) == 0 {
		return
	}
	most := 0.0
	for _, name := range counts {
		n, _ := b.number(name)
		most = max(most, n)
	}
	f := Finding{ID: "throttling", Numbers: map[string]float64{"throttle_count": most},
		Found: "no processor was slowed down for its heat since the box was started"}
	if most > 0 {
		f.Level = Warn
		f.Found = fmt.Sprintf("processors were slowed down for their heat %s since the box was started",
			wording.Plural(int(most), "time"))
		f.Advice = "Look at fans and dust: a box that is too hot loses frames at its worst moment."
	}
	g.add(f)
}

func (b *Box) virtual(g *group) {
	flags, _ := b.field("proc/cpuinfo", "flags")
	maker, _ := b.text("sys/hypervisor/type")
	product, _ := b.text("sys/class/dmi/id/product_name")
	known := []string{"KVM", "VirtualBox", "VMware", "Virtual Machine", "QEMU", "Bochs"}
	if !slices.Contains(strings.Fields(flags), "hypervisor") && maker == "" &&
		!slices.ContainsFunc(known, func(k string) bool { return strings.Contains(product, k) }) {
		return
	}
	g.add(Finding{ID: "virtual-machine", Level: Info, Found: "this is a virtual machine",
		Advice: "Its clock and disk depend on what else its host does: measure on a box of its own where it matters."})
}
