package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/codec/recorder"
)

// ringBytes is what the rings of all inputs want together.
func (n need) ringBytes() (sum float64) {
	for _, m := range n.modes {
		info := capture.Info{Format: m.Format, Period: capture.Rational{Num: m.Num, Den: m.Den}, Clocked: true}
		sum += float64(recorder.WantedRing(info))
	}
	return sum
}

func (b *Box) memory(g *group) {
	available, ok := b.kib("proc/meminfo", "MemAvailable")
	total, _ := b.kib("proc/meminfo", "MemTotal")
	if !ok {
		g.add(Finding{ID: "memory", Level: Info, Found: "how much memory is available is not known here",
			Advice: "See that there are some gigabytes to spare: frames wait in memory while the disk is slow."})
		return
	}
	n := b.need()
	want := n.ringBytes()
	f := Finding{ID: "memory", Numbers: map[string]float64{"available_bytes": available, "total_bytes": total,
		"ring_bytes": want}}
	f.Found = fmt.Sprintf("%s of %s available; rings for %v take %s", sizeText(available), sizeText(total), n,
		sizeText(want))
	if most := available / recorder.RingShare; want > most {
		held := seconds(most / n.bytesPerSecond())
		f.Numbers["ring_bytes"] = most
		f.Level = Warn
		f.Found = fmt.Sprintf("%s of %s available, of which the rings take a quarter: they hold %.1f s of %v",
			sizeText(available), sizeText(total), held.Seconds(), n)
		f.Advice = "Add memory or end other programs: frames are lost when the disk is slow for longer than that."
	}
	g.add(f)
	b.hugePages(g)
	b.locked(g, f.Numbers["ring_bytes"])
}

// kib returns a line of a file such as proc/meminfo, in bytes.
func (b *Box) kib(name, key string) (float64, bool) {
	v, ok := b.field(name, key)
	n, err := strconv.ParseUint(strings.TrimSuffix(v, " kB"), 10, 53)
	return float64(n) * 1024, ok && err == nil
}

func (b *Box) hugePages(g *group) {
	policy, ok := b.text("sys/kernel/mm/transparent_hugepage/enabled")
	switch {
	case !ok:
		g.add(Finding{ID: "huge-pages", Level: Info, Found: "this kernel has no transparent huge pages",
			Advice: "Frames in memory cost a little more than they need to; a kernel with huge pages mends that."})
	case strings.Contains(policy, "[never]"):
		g.add(Finding{ID: "huge-pages", Level: Warn, Found: "transparent huge pages are switched off",
			Advice: "Switch them on: echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled."})
	default:
		g.add(Finding{ID: "huge-pages", Found: "transparent huge pages can be had"})
	}
}

// locked says whether rings can be kept from being swapped out.
func (b *Box) locked(g *group, ring float64) {
	swap, _ := b.kib("proc/meminfo", "SwapTotal")
	limit, unlimited, ok := b.limit("Max locked memory")
	numbers := map[string]float64{"ring_bytes": ring, "swap_bytes": swap}
	if !unlimited && ok && !b.capable(capIPCLock) {
		numbers["limit_bytes"] = limit
	}
	switch {
	case b.capable(capIPCLock) || unlimited:
		g.add(Finding{ID: "memory-lock", Found: "rings can be locked in memory", Numbers: numbers})
	case !ok:
		g.add(Finding{ID: "memory-lock", Level: Info, Found: "whether memory can be locked is not known here",
			Advice: "Recording works without; it says so where it cannot."})
	case limit >= ring:
		g.add(Finding{ID: "memory-lock", Found: fmt.Sprintf("rings can be locked in memory, up to %s", sizeText(limit)),
			Numbers: numbers})
	default:
		f := Finding{ID: "memory-lock", Level: Info, Found: fmt.Sprintf("only %s can be locked in memory, %s wanted",
			sizeText(limit), sizeText(ring)),
			Advice:  "Raise the limit with ulimit -l unlimited or LimitMEMLOCK=infinity; without swap the risk is low.",
			Numbers: numbers}
		if swap > 0 {
			f.Level = Warn
			f.Advice = "Raise the limit with ulimit -l unlimited or LimitMEMLOCK=infinity, or switch swap off."
		}
		g.add(f)
	}
}
