package analyze

import (
	"fmt"
	"strings"
)

// placesNamed is how many places a sentence names.
const placesNamed = 10

// Losses returns a sentence about the window's lost frames and one about its unreadable frames.
// They apply to all measures, whose bounds cover everything that these frames may have shown.
func (o *Outcome) Losses() (list []string) {
	w := &o.Window
	last := max(w.End, w.Red)
	var lost, broken places
	for n := w.First() + 1; n <= last; n++ {
		if k := o.Times.Skipped(n); k > 0 {
			lost.add(k, fmt.Sprintf("%d before frame %d", k, n))
		}
	}
	for n := w.First(); n <= last; n++ {
		from := n
		for n <= last && o.Times.IsUnreadable(n) {
			n++
		}
		if n > from {
			broken.add(n-from, framesText(from, n))
		}
	}
	if lost.frames > 0 {
		list = append(list, "frames are lost, and what they showed is not known: "+lost.String())
	}
	if broken.frames > 0 {
		list = append(list, broken.String()+" cannot be read, and counted as lost")
	}
	return list
}

// places are where frames are missing.
type places struct {
	named  []string // the first of them
	of     int      // frames of those
	more   int
	frames int
}

func (p *places) add(frames int, name string) {
	p.frames += frames
	if len(p.named) == placesNamed {
		p.more++
		return
	}
	p.named, p.of = append(p.named, name), p.of+frames
}

func (p *places) String() string {
	s := strings.Join(p.named, ", ")
	if p.more > 0 {
		s += fmt.Sprintf(" and %d more in %d other places", p.frames-p.of, p.more)
	}
	return s
}
