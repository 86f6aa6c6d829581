package har

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Picture has the parts that a waterfall is drawn with. All share one axis of time: frames,
// progress and requests.
type Picture struct {
	Title string
	About string // a line under it, such as what the line was like
	// From and To are the left and the right edge: the window's first frame, or the command before
	// it, and its last.
	From, To timeline.Time
	Left     string  // what From is; "": the first frame
	Film     []Shot  // in their order; may be none
	Curve    []Point // how much of the last picture was there; may be none
	Marks    []Mark
}

// Shot is a frame of the filmstrip: a JPEG or PNG of the screen at a time.
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
	maxRows   = 200
	maxShots  = 16
	maxCurve  = 1 << 16
	maxMarks  = 12
	shotBytes = 1 << 20
	longest   = 300 // runes of a tooltip's address
)

// errPicture is wrapped where a waterfall cannot be drawn.
var errPicture = errors.New("bad waterfall")

// FilmTimes are the times of so many shots between two, each in the middle of its part.
func FilmTimes(from, to timeline.Time, shots int) []timeline.Time {
	shots = max(0, min(shots, maxShots))
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
		return maxShots
	case aspect > 2.4:
		return 6
	}
	return min(maxShots, max(6, int(math.Round(14/aspect))))
}

func (p *Picture) check() error {
	switch {
	case p.To <= p.From || p.From < 0 || p.To-p.From > timeline.Time(24*time.Hour):
		return fmt.Errorf("%w: it ends %v after it begins", errPicture, p.To.Sub(p.From))
	case len(p.Film) > maxShots:
		return fmt.Errorf("%w: %d pictures of film, at most %d have room", errPicture, len(p.Film), maxShots)
	case len(p.Curve) > maxCurve:
		return fmt.Errorf("%w: a curve of %d points, at most %d", errPicture, len(p.Curve), maxCurve)
	case len(p.Marks) > maxMarks:
		return fmt.Errorf("%w: %d marks, at most %d", errPicture, len(p.Marks), maxMarks)
	}
	for _, s := range p.Film {
		if s.Type != "image/jpeg" && s.Type != "image/png" || len(s.Data) > shotBytes ||
			!(s.Aspect > 0.05 && s.Aspect < 20) {
			return fmt.Errorf("%w: a picture of film of type %.40q, %d bytes and %v wide to high", errPicture, s.Type,
				len(s.Data), s.Aspect)
		}
	}
	for _, c := range p.Curve {
		if math.IsNaN(c.Share) {
			return fmt.Errorf("%w: a share that is not a number", errPicture)
		}
	}
	return nil
}

// SVG draws the waterfall. It looks like the report's graphs, in dark and light mode. It has no
// script and loads no resource.
func (w *Waterfall) SVG(to io.Writer, p Picture) error {
	if err := p.check(); err != nil {
		return err
	}
	d := drawing{Picture: p, fall: w}
	d.draw()
	var whole bytes.Buffer
	fmt.Fprintf(&whole, `<svg xmlns="http://www.w3.org/2000/svg" class="waterfall" width="%d" height="%d" `+
		`viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n",
		svgWidth, d.y, svgWidth, d.y, escaped(cmp.Or(p.Title, "waterfall")))
	whole.WriteString(svgHead)
	whole.Write(d.out.Bytes())
	whole.WriteString("</svg>\n")
	if _, err := to.Write(whole.Bytes()); err != nil {
		return fmt.Errorf("write waterfall: %w", err)
	}
	return nil
}

// svgHead has the style: colours of the report's page, and a pattern for each part of a request. So
// the parts do not differ by colour alone.
const svgHead = `<style>
:root { color-scheme: light dark }
.waterfall { --card: #fff; --text: #16202c; --muted: #5a6776; --rule: #dde3ea; --grid: #e9edf1; --band: #f7f9fb;
  --name: #0d8f77; --connect: #e07b16; --tls: #7a5bd0; --wait: #8ea0b5; --load: #1d63c9; --bad: #b83a1a;
  --mark: #b83280; font: 12px system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", Arial,
  sans-serif; font-variant-numeric: tabular-nums }
@media (prefers-color-scheme: dark) { .waterfall {
  --card: #1b212a; --text: #eef2f7; --muted: #9fabbb; --rule: #343d4a; --grid: #28303b; --band: #202731;
  --name: #4fd1a5; --connect: #ffa94d; --tls: #b197fc; --wait: #74859b; --load: #5ab0ff; --bad: #ff8f6b;
  --mark: #f783ac } }
.waterfall text { fill: var(--text) }
.waterfall .title { font-size: 15px; font-weight: 650 }
.waterfall .muted, .waterfall .tick { fill: var(--muted) } .waterfall .tick, .waterfall .small { font-size: 11px }
.waterfall .host { fill: var(--muted); font-size: 11px; stroke: var(--card); stroke-width: 3px }
.waterfall .host { paint-order: stroke; stroke-linejoin: round }
.waterfall .bad { fill: var(--bad) }
.waterfall .back { fill: var(--card) } .waterfall .band { fill: var(--band) }
.waterfall .grid { stroke: var(--grid) } .waterfall .rule { stroke: var(--rule) }
.waterfall .frame { fill: none; stroke: var(--rule) }
.waterfall .area { fill: var(--load); opacity: .12 }
.waterfall .line { fill: none; stroke: var(--load); stroke-width: 1.8; stroke-linejoin: round }
.waterfall .mark { stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 5 3 }
.waterfall .mark-name { fill: var(--mark); font-size: 11px; font-weight: 600 }
.waterfall .bound { stroke: var(--text); opacity: .45 }
.waterfall .f-name { fill: var(--name) } .waterfall .f-load { fill: var(--load) }
.waterfall .f-open { fill: none; stroke: var(--load); stroke-dasharray: 2 2 }
.waterfall .c-name { fill: url(#w-name) } .waterfall .c-connect { fill: url(#w-connect) }
.waterfall .c-tls { fill: url(#w-tls) } .waterfall .c-wait { fill: url(#w-wait) }
.waterfall .row:hover .hover { fill: var(--load); opacity: .1 } .waterfall .hover { fill: transparent }
.waterfall .s-connect, .waterfall .s-tls, .waterfall .s-wait { stroke-width: 2 }
.waterfall .s-connect { stroke: var(--connect) } .waterfall .t-connect { fill: var(--connect); opacity: .35 }
.waterfall .s-tls { stroke: var(--tls) } .waterfall .t-tls { fill: var(--tls); opacity: .3 }
.waterfall .s-wait { stroke: var(--wait) } .waterfall .t-wait { fill: var(--wait); opacity: .28 }
.waterfall .s-name { stroke: var(--name) } .waterfall .t-name { fill: var(--name); opacity: .3 }
</style>
<defs>
<clipPath id="w-label"><rect x="40" y="0" width="222" height="8192"/></clipPath>
<pattern id="w-name" width="4" height="4" patternUnits="userSpaceOnUse">
<rect class="t-name" width="4" height="4"/><path class="s-name" stroke-width="2" d="M0 2h4"/></pattern>
<pattern id="w-connect" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect class="t-connect" width="6" height="6"/><path class="s-connect" d="M1.5 0v6"/></pattern>
<pattern id="w-tls" width="5" height="5" patternUnits="userSpaceOnUse">
<rect class="t-tls" width="5" height="5"/><path class="s-tls" d="M2.5 0v5"/></pattern>
<pattern id="w-wait" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
<rect class="t-wait" width="7" height="7"/><path class="s-wait" stroke-opacity=".55" d="M1 0v7"/></pattern>
</defs>
`
