package har

import (
	"fmt"
	"math"
	"strings"
)

// maxLabel is how many letters there is room for before the plot.
const maxLabel = 36

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
	d.print(`<text class="tick" x="36" y="%d" text-anchor="end">%d</text>`+
		`<text class="%s" clip-path="url(#w-label)" x="44" y="%d">%s</text>`,
		y+14, i+1, class, y+14, escaped(rowLabel(path, maxLabel)))
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
		d.print(`<rect class="f-open" x="%.1f" y="%d.5" width="%.1f" height="%d" rx="1.5"/>`, x, y+5,
			math.Max(2, svgRight-x-1), rowHeight-11)
		return
	}
	x, end := d.clipped(from.At), d.clipped(to.At)
	d.print(`<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="1.5"/>`, class, x, y+4, math.Max(1.2, end-x),
		rowHeight-8)
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
	x, anchor := d.clipped(r.ends().At)+6, "start"
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
			lines = append(lines, fmt.Sprintf("%s: %s, from %s%s", name, milliseconds(max(0, to.At.Sub(from.At))),
				clock(from.At.Sub(d.From)), doubt(from, to)))
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
	return fmt.Sprintf(" (%s to %s)", milliseconds(max(0, to.Earliest.Sub(from.Latest))),
		milliseconds(max(0, to.Latest.Sub(from.Earliest))))
}

// others draws the requests without a row: how many were under way at each time.
func (d *drawing) others(rest []Request) {
	if len(rest) == 0 {
		return
	}
	const parts = 200
	var busy [parts]int
	most, bytes := 0, int64(0)
	for i := range rest {
		bytes += rest[i].bytes()
		from, to := d.clipped(rest[i].Begins().At), d.clipped(rest[i].ends().At)
		at := func(x float64) int { return min(parts-1, int((x-svgLeft)/(svgRight-svgLeft)*parts)) }
		for k := at(from); k <= at(to); k++ {
			busy[k]++
			most = max(most, busy[k])
		}
	}
	const high = 36
	text := fmt.Sprintf("%d more requests, %s", len(rest), size(bytes))
	d.print(`<g><title>%s</title><text class="small muted" x="44" y="%d">and %s</text>`,
		escaped(fmt.Sprintf("%s, at most %d of them at once", text, most)), d.y+22, escaped(text))
	each := float64(svgRight-svgLeft) / parts
	for k, n := range busy {
		if n > 0 {
			h := math.Max(1, float64(n)/float64(most)*(high-8))
			d.print(`<rect class="f-load" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, svgLeft+float64(k)*each,
				float64(d.y)+high-4-h, each-0.5, h)
		}
	}
	d.print(`</g>`)
	d.y += high
}
