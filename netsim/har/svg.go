package har

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Picture says what a waterfall is drawn with. All of it has one axis of time: what was seen, how much of it was there, and what was asked for.
type Picture struct {
	Title string
	About string // a line under it, such as what the line was like
	// From and To are the left and the right edge: the window's first frame, or the command before it, and its last.
	From, To timeline.Time
	Left     string  // what From is; "": the first frame
	Film     []Shot  // in their order; may be none
	Curve    []Point // how much of the last picture was there; may be none
	Marks    []Mark
}

// Shot is a frame of the filmstrip: a JPEG or PNG of what was on the screen at a time.
type Shot struct {
	At     timeline.Time
	Type   string // image/jpeg or image/png
	Data   []byte
	Aspect float64 // width to height
}

// Point is a share, 0 to 1, from a time on.
type Point struct {
	At    timeline.Time
	Share float64
}

// Mark is a moment that a line is drawn at.
type Mark struct {
	At   timeline.Time
	Name string
}

// Sizes in pixels.
const (
	svgWidth  = 1200
	svgLeft   = 268 // of the plot
	svgRight  = 1184
	rowHeight = 20
	filmRoom  = 4
	curveHigh = 84
	mostRows  = 200
	mostShots = 16
	mostCurve = 1 << 16
	mostMarks = 12
	shotBytes = 1 << 20
	longest   = 300 // runes of a tooltip's address
)

// ErrPicture is wrapped where a waterfall cannot be drawn.
var ErrPicture = errors.New("bad waterfall")

// FilmTimes are the times of so many shots between two, each in the middle of its part.
func FilmTimes(from, to timeline.Time, shots int) []timeline.Time {
	shots = max(0, min(shots, mostShots))
	all := make([]timeline.Time, shots)
	for i := range all {
		all[i] = from + (to-from)*timeline.Time(2*i+1)/timeline.Time(2*shots)
	}
	return all
}

// FilmShots is how many shots of a shape there is room for.
func FilmShots(aspect float64) int {
	switch {
	case !(aspect > 0.2):
		return mostShots
	case aspect > 2.4:
		return 6
	}
	return min(mostShots, max(6, int(math.Round(14/aspect))))
}

func (p *Picture) check() error {
	switch {
	case p.To <= p.From || p.From < 0 || p.To-p.From > timeline.Time(24*time.Hour):
		return fmt.Errorf("%w: it ends %v after it begins", ErrPicture, p.To.Sub(p.From))
	case len(p.Film) > mostShots:
		return fmt.Errorf("%w: %d pictures of film, at most %d have room", ErrPicture, len(p.Film), mostShots)
	case len(p.Curve) > mostCurve:
		return fmt.Errorf("%w: a curve of %d points, at most %d", ErrPicture, len(p.Curve), mostCurve)
	case len(p.Marks) > mostMarks:
		return fmt.Errorf("%w: %d marks, at most %d", ErrPicture, len(p.Marks), mostMarks)
	}
	for _, s := range p.Film {
		if s.Type != "image/jpeg" && s.Type != "image/png" || len(s.Data) > shotBytes || !(s.Aspect > 0.05 && s.Aspect < 20) {
			return fmt.Errorf("%w: a picture of film of type %.40q, %d bytes and %v wide to high", ErrPicture, s.Type, len(s.Data), s.Aspect)
		}
	}
	for _, c := range p.Curve {
		if math.IsNaN(c.Share) {
			return fmt.Errorf("%w: a share that is no number", ErrPicture)
		}
	}
	return nil
}

// SVG draws the waterfall. It looks as the report's graphs do, in the dark as in the light, has no script, and loads nothing.
func (w *Waterfall) SVG(to io.Writer, p Picture) error {
	if err := p.check(); err != nil {
		return err
	}
	d := drawing{Picture: p, fall: w}
	d.draw()
	var whole bytes.Buffer
	fmt.Fprintf(&whole, `<svg xmlns="http://www.w3.org/2000/svg" class="waterfall" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", svgWidth, d.y, svgWidth, d.y, escaped(cmp.Or(p.Title, "waterfall")))
	whole.WriteString(svgHead)
	whole.Write(d.out.Bytes())
	whole.WriteString("</svg>\n")
	if _, err := to.Write(whole.Bytes()); err != nil {
		return fmt.Errorf("write waterfall: %w", err)
	}
	return nil
}

// svgHead has the look: colours of the report's page, and a pattern for each part of a request, so that colour is not all that tells them apart.
const svgHead = `<style>
:root { color-scheme: light dark }
.waterfall { --card: #fff; --text: #16202c; --muted: #5a6776; --rule: #dde3ea; --grid: #e9edf1; --band: #f7f9fb; --name: #0d8f77; --connect: #e07b16; --tls: #7a5bd0; --wait: #8ea0b5; --load: #1d63c9; --bad: #b83a1a; --mark: #b83280;
  font: 12px system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", Arial, sans-serif; font-variant-numeric: tabular-nums }
@media (prefers-color-scheme: dark) { .waterfall { --card: #1b212a; --text: #eef2f7; --muted: #9fabbb; --rule: #343d4a; --grid: #28303b; --band: #202731; --name: #4fd1a5; --connect: #ffa94d; --tls: #b197fc; --wait: #74859b; --load: #5ab0ff; --bad: #ff8f6b; --mark: #f783ac } }
.waterfall text { fill: var(--text) }
.waterfall .title { font-size: 15px; font-weight: 650 }
.waterfall .muted, .waterfall .tick { fill: var(--muted) } .waterfall .tick, .waterfall .small { font-size: 11px }
.waterfall .host { fill: var(--muted); font-size: 11px; paint-order: stroke; stroke: var(--card); stroke-width: 3px; stroke-linejoin: round }
.waterfall .bad { fill: var(--bad) }
.waterfall .back { fill: var(--card) } .waterfall .band { fill: var(--band) }
.waterfall .grid { stroke: var(--grid) } .waterfall .rule { stroke: var(--rule) }
.waterfall .frame { fill: none; stroke: var(--rule) }
.waterfall .area { fill: var(--load); opacity: .12 } .waterfall .line { fill: none; stroke: var(--load); stroke-width: 1.8; stroke-linejoin: round }
.waterfall .mark { stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 5 3 } .waterfall .mark-name { fill: var(--mark); font-size: 11px; font-weight: 600 }
.waterfall .bound { stroke: var(--text); opacity: .45 }
.waterfall .f-name { fill: var(--name) } .waterfall .f-load { fill: var(--load) } .waterfall .f-open { fill: none; stroke: var(--load); stroke-dasharray: 2 2 }
.waterfall .c-name { fill: url(#w-name) } .waterfall .c-connect { fill: url(#w-connect) } .waterfall .c-tls { fill: url(#w-tls) } .waterfall .c-wait { fill: url(#w-wait) }
.waterfall .row:hover .hover { fill: var(--load); opacity: .1 } .waterfall .hover { fill: transparent }
.waterfall .s-connect, .waterfall .s-tls, .waterfall .s-wait { stroke-width: 2 } .waterfall .s-connect { stroke: var(--connect) } .waterfall .s-tls { stroke: var(--tls) } .waterfall .s-wait { stroke: var(--wait) }
.waterfall .t-connect { fill: var(--connect); opacity: .35 } .waterfall .t-tls { fill: var(--tls); opacity: .3 } .waterfall .t-wait { fill: var(--wait); opacity: .28 } .waterfall .t-name { fill: var(--name); opacity: .3 } .waterfall .s-name { stroke: var(--name) }
</style>
<defs>
<clipPath id="w-label"><rect x="40" y="0" width="222" height="8192"/></clipPath>
<pattern id="w-name" width="4" height="4" patternUnits="userSpaceOnUse"><rect class="t-name" width="4" height="4"/><path class="s-name" stroke-width="2" d="M0 2h4"/></pattern>
<pattern id="w-connect" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="t-connect" width="6" height="6"/><path class="s-connect" d="M1.5 0v6"/></pattern>
<pattern id="w-tls" width="5" height="5" patternUnits="userSpaceOnUse"><rect class="t-tls" width="5" height="5"/><path class="s-tls" d="M2.5 0v5"/></pattern>
<pattern id="w-wait" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect class="t-wait" width="7" height="7"/><path class="s-wait" stroke-opacity=".55" d="M1 0v7"/></pattern>
</defs>
`

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
	top := d.y
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
	d.axis(top, bottom)
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
		if b := r.Begins(); !b.Known() || b.At > d.To || r.Ends().At < d.From {
			continue
		}
		if len(own) < mostRows {
			own = append(own, r)
		} else {
			others = append(others, r)
		}
	}
	return own, others
}

func (d *drawing) header() {
	d.print(`<text class="title" x="16" y="28">%s</text>`, escaped(clip(cmp.Or(d.Title, "What the network brought"), 110)))
	about := clip(d.About, 150)
	d.print(`<text class="muted" x="16" y="48">%s</text>`, escaped(about))
	x := 16
	for _, k := range []struct{ class, name string }{{"c-name", "name"}, {"c-connect", "connect"}, {"c-tls", "TLS"}, {"c-wait", "asked, waiting"}, {"f-load", "download"}} {
		d.print(`<rect class="%s" x="%d" y="60" width="18" height="10" rx="2"/><text class="small muted" x="%d" y="69">%s</text>`, k.class, x, x+24, k.name)
		x += 24 + 7*len(k.name) + 18
	}
	if d.uncertain() {
		d.print(`<path class="bound" d="M%d 65h18M%d 61v8M%d 61v8"/><text class="small muted" x="%d" y="69">not exact: it lies between</text>`, x, x, x+18, x+24)
	}
	d.y = 76
}

// uncertain reports whether a time that is drawn is no packet's.
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
		d.print(`<g><title>%s</title><image x="%.1f" y="%d" width="%.1f" height="%.1f" href="data:%s;base64,%s"/><rect class="frame" x="%.1f" y="%d" width="%.1f" height="%.1f"/><path class="rule" d="M%.1f %.1fv5"/></g>`,
			escaped("on the screen at "+clock(s.At.Sub(d.From))), middle-width/2, d.y, width, h, s.Type, base64.StdEncoding.EncodeToString(s.Data), middle-width/2, d.y, width, h, d.x(s.At), float64(d.y)+high)
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
		d.print(`<path class="grid" d="M%d %.1fH%d"/><text class="tick" x="%d" y="%.1f" text-anchor="end">%.0f %%</text>`, svgLeft, at(share), svgRight, svgLeft-10, at(share)+4, 100*share)
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
	d.print(`<path class="area" d="%sV%.1fH%.1fZ"/><path class="line" d="%s"/>`, line.String(), bottom, d.clipped(d.Curve[0].At), line.String())
	d.y += curveHigh
}

func (d *drawing) row(i int, r *Request) {
	y := d.y
	d.y += rowHeight
	host, path := parted(r.Served.URL)
	if d.many {
		path = host + path
	}
	d.print(`<g class="row"><title>%s</title>`, escaped(d.told(r)))
	if i%2 == 1 {
		d.print(`<rect class="band" x="8" y="%d" width="%d" height="%d"/>`, y, svgWidth-16, rowHeight)
	}
	d.print(`<rect class="hover" x="8" y="%d" width="%d" height="%d"/>`, y, svgWidth-16, rowHeight)
	class := "small"
	if r.Missed() {
		class += " bad"
		if r.Served.Status == 0 {
			path = "no answer: " + path
		} else {
			path = fmt.Sprintf("%d ", r.Served.Status) + path
		}
	}
	if m := r.Served.Method; m != "GET" && m != "" {
		path = m + " " + path
	}
	d.print(`<text class="tick" x="36" y="%d" text-anchor="end">%d</text><text class="%s" clip-path="url(#w-label)" x="44" y="%d">%s</text>`, y+14, i+1, class, y+14, escaped(shortened(path, 36)))
	d.bar(y, "c-name", r.Name.From, r.Name.To)
	d.bar(y, "c-connect", r.Connect.From, r.Connect.To)
	d.bar(y, "c-tls", r.TLS.From, r.TLS.To)
	switch {
	case r.FirstByte.Known():
		d.bar(y, "c-wait", r.Sent, r.FirstByte)
		d.bar(y, "f-load", r.FirstByte, r.Ended)
	default:
		d.bar(y, "c-wait", r.Sent, Moment{})
	}
	for _, m := range []Moment{r.FirstByte, r.Ended} {
		d.bounds(y, m)
	}
	d.label(y, r)
	d.print(`</g>`)
}

// bar draws a phase; one whose end nobody saw goes on to the right edge, open.
func (d *drawing) bar(y int, class string, from, to Moment) {
	if !from.Known() || from.At > d.To || to.Known() && to.At < d.From {
		return
	}
	if !to.Known() {
		x := d.clipped(from.At)
		d.print(`<rect class="f-open" x="%.1f" y="%d.5" width="%.1f" height="%d" rx="1.5"/>`, x, y+5, math.Max(2, svgRight-x-1), rowHeight-11)
		return
	}
	x, end := d.clipped(from.At), d.clipped(to.At)
	d.print(`<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="1.5"/>`, class, x, y+4, math.Max(1.2, end-x), rowHeight-8)
}

// bounds draws between what a time lies that no packet told.
func (d *drawing) bounds(y int, m Moment) {
	if !m.Known() || m.Exact() || m.At > d.To || m.At < d.From {
		return
	}
	from, to := d.clipped(m.Earliest), float64(svgRight)
	if m.Latest != 0 {
		to = d.clipped(m.Latest)
	} else {
		to = math.Min(to, from+16)
	}
	if to-from < 2 {
		return
	}
	d.print(`<path class="bound" d="M%.1f %dH%.1fM%.1f %dv8M%.1f %dv8"/>`, from, y+10, to, from, y+6, to, y+6)
}

// label says how long a request took and how much it brought, behind its bar where there is room.
func (d *drawing) label(y int, r *Request) {
	text := ""
	if r.Ended.Known() {
		text = milliseconds(r.Ended.At.Sub(r.Begins().At)) + " · "
	}
	text += size(r.bytes())
	x, anchor := d.clipped(r.Ends().At)+6, "start"
	if x+float64(6*len(text)) > svgRight || !r.Ended.Known() {
		x, anchor = d.clipped(r.Begins().At)-6, "end"
	}
	d.print(`<text class="host" x="%.1f" y="%d" text-anchor="%s">%s</text>`, x, y+14, anchor, escaped(text))
}

// bytes are those on the wire, or of the body where that is all that is known.
func (r *Request) bytes() int64 {
	if r.WireBytes >= 0 {
		return r.WireBytes
	}
	return r.Served.ResponseBytes
}

// told is the tooltip of a row.
func (d *drawing) told(r *Request) string {
	lines := []string{clip(r.Served.Method+" "+r.Served.URL, longest)}
	answer := fmt.Sprintf("%d", r.Served.Status)
	if r.Served.Status == 0 {
		answer = "no answer"
	}
	for _, part := range []string{r.Over.Protocol, r.Over.TLS, priority(r.Served.Urgency, r.Served.Incremental)} {
		if part != "" {
			answer += " · " + part
		}
	}
	if r.Reused {
		answer += " · a connection that was there"
	}
	lines = append(lines, answer)
	phase := func(name string, from, to Moment) {
		if from.Known() && to.Known() {
			lines = append(lines, fmt.Sprintf("%s: %s, from %s%s", name, milliseconds(max(0, to.At.Sub(from.At))), clock(from.At.Sub(d.From)), doubt(from, to)))
		}
	}
	phase("name", r.Name.From, r.Name.To)
	phase("connect", r.Connect.From, r.Connect.To)
	phase("TLS", r.TLS.From, r.TLS.To)
	phase("asked, waiting", r.Sent, r.FirstByte)
	phase("download", r.FirstByte, r.Ended)
	brought := size(r.Served.ResponseBytes)
	if r.Served.DecodedBytes > 0 && r.Served.DecodedBytes != r.Served.ResponseBytes {
		brought += ", unpacked " + size(r.Served.DecodedBytes)
	}
	if r.WireBytes >= 0 {
		brought += ", on the wire " + size(r.WireBytes)
	}
	lines = append(lines, brought)
	if e := r.Served.Error; e != "" {
		lines = append(lines, "not whole: "+clip(e, 120))
	}
	return strings.Join(lines, "\n")
}

// doubt says how exact a phase is.
func doubt(from, to Moment) string {
	if from.Exact() && to.Exact() {
		return ""
	}
	if from.Latest == 0 || to.Latest == 0 {
		return " (as the server saw it, or later)"
	}
	return fmt.Sprintf(" (%s to %s)", milliseconds(max(0, to.Earliest.Sub(from.Latest))), milliseconds(max(0, to.Latest.Sub(from.Earliest))))
}

// others draws what has no row: how many were under way at each time.
func (d *drawing) others(rest []Request) {
	if len(rest) == 0 {
		return
	}
	const parts = 200
	var busy [parts]int
	most, bytes := 0, int64(0)
	for i := range rest {
		bytes += rest[i].bytes()
		from, to := d.clipped(rest[i].Begins().At), d.clipped(rest[i].Ends().At)
		at := func(x float64) int { return min(parts-1, int((x-svgLeft)/(svgRight-svgLeft)*parts)) }
		for k := at(from); k <= at(to); k++ {
			busy[k]++
			most = max(most, busy[k])
		}
	}
	const high = 36
	text := fmt.Sprintf("%d more requests, %s", len(rest), size(bytes))
	d.print(`<g><title>%s</title><text class="small muted" x="44" y="%d">and %s</text>`, escaped(fmt.Sprintf("%s, at most %d of them at once", text, most)), d.y+22, escaped(text))
	each := float64(svgRight-svgLeft) / parts
	for k, n := range busy {
		if n > 0 {
			h := math.Max(1, float64(n)/float64(most)*(high-8))
			d.print(`<rect class="f-load" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, svgLeft+float64(k)*each, float64(d.y)+high-4-h, each-0.5, h)
		}
	}
	d.print(`</g>`)
	d.y += high
}

// axis draws the times, below, and lines up from them.
func (d *drawing) axis(_, bottom int) {
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
		d.print(`<path class="grid" d="M%.1f 94V%d"/><text class="tick" x="%.1f" y="%d" text-anchor="%s">%s</text>`, x, bottom+4, x, bottom+18, anchor, text)
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
		d.print(`<g><title>%s</title><path class="mark" d="M%.1f %dV%d"/>`, escaped(m.Name+": "+clock(m.At.Sub(d.From))), x, y+4, bottom+4)
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
	text += " 0 is " + cmp.Or(clip(d.Left, 80), "the first frame of what was measured") + "; the right edge is the end of it."
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

// parted parts an address into its host and what is asked of it.
func parted(address string) (host, path string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", address
	}
	return u.Host, cmp.Or(u.RequestURI(), "/")
}

// shortened leaves out the middle: the end of a path says more.
func shortened(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	head := most / 3
	return string(r[:head]) + "…" + string(r[len(r)-(most-head-1):])
}

func clip(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes all
	return strings.ReplaceAll(b.String(), "&#xA;", "\n")
}

func milliseconds(d time.Duration) string {
	v := float64(d) / 1e6
	switch {
	case v < 10:
		return trimmed(math.Round(v*10)/10) + " ms"
	case v < 10_000:
		return fmt.Sprintf("%.0f ms", v)
	}
	return fmt.Sprintf("%.1f s", v/1000)
}

func clock(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

func trimmed(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
}

// size is bytes in words.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", max(0, n))
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
