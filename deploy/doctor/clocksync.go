package doctor

import (
	"fmt"
	"time"
)

// ClockSync reports whether the kernel's time of day is synchronized, by a program that compares it
// with others'.
type ClockSync struct {
	Known, Kept bool
	MaxError    time.Duration // as the kernel has it
}

// clockSync is of interest where runs of several boxes are put in order, and where tokens and
// certificates expire.
func (b *Box) clockSync(g *group) {
	s := b.Clock.Sync
	switch {
	case !s.Known:
		g.add(Finding{ID: "clock-sync", Level: Info, Found: "whether the time of day is kept is not known here",
			Advice: "Look with timedatectl."})
	case s.Kept:
		g.add(Finding{ID: "clock-sync", Found: fmt.Sprintf("the time of day is kept, to %v at worst",
			s.MaxError.Round(time.Millisecond)),
			Numbers: map[string]float64{"time_error_most_ns": float64(s.MaxError)}})
	default:
		f := Finding{ID: "clock-sync", Level: Info, Found: "the time of day is not kept by any program",
			Advice: "Install systemd-timesyncd to order runs of several boxes; frames have their own clock."}
		if installed(b.Root) {
			f.Level = Warn
		}
		g.add(f)
	}
}
