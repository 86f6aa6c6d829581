package har

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// drawing is one in the making, from top to bottom.
type drawing struct {
	Picture
	fall *Waterfall
	out  bytes.Buffer
	y    int  // where the next part begins
	many bool // hosts
}

func (d *drawing) print(format string, args ...any) { fmt.Fprintf(&d.out, format+"\n", args...) }

func (d *drawing) x(t timeline.Time) float64 {
	return svgLeft + float64(t-d.From)/float64(d.To-d.From)*(svgRight-svgLeft)
}

// clipped is within the plot.
func (d *drawing) clipped(t timeline.Time) float64 {
	return math.Min(svgRight, math.Max(svgLeft, d.x(t)))
}

func (d *drawing) draw() {
	rows, rest := d.rows()
	for i := range rows {
		d.many = d.many || hostOf(rows[i].Served.URL) != hostOf(rows[0].Served.URL)
	}
	d.header()
	marked := d.y + 14
	d.y += 18
	d.film()
	d.curve()
	head := d.out
	d.out = bytes.Buffer{}
	for i := range rows {
		d.row(i, &rows[i])
	}
	if len(rows) == 0 {
		d.print(`<text class="muted" x="%d" y="%d">Nothing was asked for in this time.</text>`, svgLeft, d.y+15)
		d.y += rowHeight
	}
	d.others(rest)
	bottom := d.y
	body := d.out
	d.out = bytes.Buffer{}
	d.axis(bottom)
	axis := d.out
	d.out = bytes.Buffer{}
	d.marks(marked, bottom)
	d.foot()
	marks := d.out
	d.out = bytes.Buffer{}
	d.print(`<rect class="back" width="%d" height="%d" rx="10"/>`, svgWidth, d.y)
	for _, part := range []bytes.Buffer{axis, head, body, marks} {
		d.out.Write(part.Bytes())
	}
}

// rows are the requests that have one of their own, and those that share one.
func (d *drawing) rows() (own, others []Request) {
	for _, r := range d.fall.Requests {
		if b := r.Begins(); !b.Known() || b.At > d.To || r.ends().At < d.From {
			continue
		}
		if len(own) < maxRows {
			own = append(own, r)
		} else {
			others = append(others, r)
		}
	}
	return own, others
}

func (d *drawing) header() {
	d.print(`<text class="title" x="16" y="28">%s</text>`,
		escaped(clip(cmp.Or(d.Title, "What the network brought"), 110)))
	about := clip(d.About, 150)
	d.print(`<text class="muted" x="16" y="48">%s</text>`, escaped(about))
	x := 16
	for _, k := range []struct{ class, name string }{{"c-name", "name"}, {"c-connect", "connect"}, {"c-tls", "TLS"},
		{"c-wait", "asked, waiting"}, {"f-load", "download"}} {
		d.print(`<rect class="%s" x="%d" y="60" width="18" height="10" rx="2"/>`+
			`<text class="small muted" x="%d" y="69">%s</text>`, k.class, x, x+24, k.name)
		x += 24 + 7*len(k.name) + 18
	}
	if d.uncertain() {
		d.print(`<path class="bound" d="M%d 65h18M%d 61v8M%d 61v8"/>`+
			`<text class="small muted" x="%d" y="69">not exact: it lies between</text>`, x, x, x+18, x+24)
	}
	d.y = 76
}

// uncertain reports whether a drawn time is not a packet's.
func (d *drawing) uncertain() bool {
	for i := range d.fall.Requests {
		for _, m := range []Moment{d.fall.Requests[i].FirstByte, d.fall.Requests[i].Ended} {
			if m.Known() && !m.Exact() {
				return true
			}
		}
	}
	return false
}

func (d *drawing) film() {
	if len(d.Film) == 0 {
		return
	}
	d.print(`<text class="tick" x="16" y="%d">on the screen</text>`, d.y+14)
	each := float64(svgRight-svgLeft) / float64(len(d.Film))
	width, high := each-filmRoom, 0.0
	for _, s := range d.Film {
		high = math.Max(high, width/s.Aspect)
	}
	if most := 150.0; high > most {
		width, high = width*most/high, most
	}
	for i, s := range d.Film {
		middle := svgLeft + (float64(i)+0.5)*each
		h := width / s.Aspect
		d.print(`<g><title>%s</title><image x="%.1f" y="%d" width="%.1f" height="%.1f" href="data:%s;base64,%s"/>`+
			`<rect class="frame" x="%.1f" y="%d" width="%.1f" height="%.1f"/><path class="rule" d="M%.1f %.1fv5"/></g>`,
			escaped("on the screen at "+clock(s.At.Sub(d.From))), middle-width/2, d.y, width, h, s.Type,
			base64.StdEncoding.EncodeToString(s.Data), middle-width/2, d.y, width, h, d.x(s.At), float64(d.y)+high)
	}
	d.y += int(high) + 12
}

// curve draws how much of the last picture was there: a value holds until the next.
func (d *drawing) curve() {
	if len(d.Curve) == 0 {
		return
	}
	top, bottom := float64(d.y+6), float64(d.y+curveHigh-8)
	at := func(share float64) float64 { return bottom - math.Max(0, math.Min(1, share))*(bottom-top) }
	for _, share := range []float64{0, 0.5, 1} {
		d.print(`<path class="grid" d="M%d %.1fH%d"/>`+
			`<text class="tick" x="%d" y="%.1f" text-anchor="end">%.0f %%</text>`,
			svgLeft, at(share), svgRight, svgLeft-10, at(share)+4, 100*share)
	}
	d.print(`<text class="tick" x="16" y="%.1f">of the last picture is there</text>`, at(0.5)+4)
	var line strings.Builder
	drawn := math.Inf(-1)
	for i, c := range d.Curve {
		x := d.clipped(c.At)
		if i == 0 {
			fmt.Fprintf(&line, "M%.1f %.1f", x, at(c.Share))
		} else if c.At <= d.To && (x-drawn >= 0.25 || i == len(d.Curve)-1) { // more is not to be seen
			fmt.Fprintf(&line, "H%.1fV%.1f", x, at(c.Share))
		} else {
			continue
		}
		drawn = x
	}
	fmt.Fprintf(&line, "H%d", svgRight)
	d.print(`<path class="area" d="%sV%.1fH%.1fZ"/><path class="line" d="%s"/>`, line.String(), bottom,
		d.clipped(d.Curve[0].At), line.String())
	d.y += curveHigh
}

// axis draws the times, below, and lines up from them.
func (d *drawing) axis(bottom int) {
	whole := d.To.Sub(d.From)
	step := niceStep(whole)
	d.print(`<path class="rule" d="M%d %dH%d"/>`, svgLeft, bottom+4, svgRight)
	for t := time.Duration(0); t <= whole; t += step {
		x := d.x(d.From.Add(t))
		text := fmt.Sprintf("%d ms", t.Milliseconds())
		if whole >= 2*time.Second {
			text = trimmed(t.Seconds()) + " s"
		} else if step < time.Millisecond {
			text = trimmed(float64(t)/1e6) + " ms"
		}
		anchor := "middle"
		if x > svgRight-14 {
			anchor = "end"
		}
		d.print(`<path class="grid" d="M%.1f 94V%d"/><text class="tick" x="%.1f" y="%d" text-anchor="%s">%s</text>`, x,
			bottom+4, x, bottom+18, anchor, text)
	}
	d.y = bottom + 26
}

// niceStep parts a time into about eight.
func niceStep(whole time.Duration) time.Duration {
	rough := float64(whole) / 8
	ten := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, n := range []float64{1, 2, 5, 10} {
		if n*ten >= rough {
			return max(1, time.Duration(n*ten))
		}
	}
	return whole
}

// marks draws lines through everything, each with its name above where there is room.
func (d *drawing) marks(y, bottom int) {
	taken := 0.0
	for _, m := range d.Marks {
		if m.At < d.From || m.At > d.To {
			continue
		}
		x := d.x(m.At)
		name := clip(m.Name, 40)
		half := 3.1 * float64(len([]rune(name)))
		at := math.Min(math.Max(x, svgLeft+half), svgRight-half)
		d.print(`<g><title>%s</title><path class="mark" d="M%.1f %dV%d"/>`,
			escaped(m.Name+": "+clock(m.At.Sub(d.From))), x, y+4, bottom+4)
		if at-half > taken {
			d.print(`<text class="mark-name" x="%.1f" y="%d" text-anchor="middle">%s</text>`, at, y, escaped(name))
			taken = at + half + 6
		}
		d.print(`</g>`)
	}
}

func (d *drawing) foot() {
	text := "Times are those at the device, as packets at its end of the line told them."
	if len(d.fall.Requests) > 0 && !d.anyExact() {
		text = "Times are the servers’: no line was there to see packets."
	}
	text += " 0 is " + cmp.Or(clip(d.Left, 80), "the first measured frame") +
		"; the right edge is the end of it."
	d.print(`<text class="tick" x="16" y="%d">%s</text>`, d.y+8, escaped(text))
	d.y += 20
}

func (d *drawing) anyExact() bool {
	for i := range d.fall.Requests {
		if r := &d.fall.Requests[i]; r.FirstByte.Exact() || r.Connect.From.Exact() {
			return true
		}
	}
	return false
}
