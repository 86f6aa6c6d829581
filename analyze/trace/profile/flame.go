package profile

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Sizes of a flame graph, in pixels.
const (
	flameWidth  = 1200
	flameMargin = 10
	flameRow    = 18
	flameTitle  = 24
	letterWidth = 7
	minWidth    = 0.3  // narrower functions are left out
	maxFlames   = 5000 // functions that are drawn
)

// Flame writes the calls of all realms as an SVG picture. Each function is a bar below its callers.
// Its width is its time, with the functions that it called.
func Flame(w io.Writer, t *trace.Trace, names Names) error {
	return realms(t).Flame(w, "Calls of scripts", names)
}

// Flame writes trees as the function [Flame] does.
func (f *Forest) Flame(w io.Writer, heading string, names Names) error {
	type graph struct {
		*flames
		title string
	}
	var graphs []graph
	height, kept := flameMargin, maxFlames
	for _, t := range f.Trees {
		nodes := t.nodes
		f := layOut(t, kept)
		if len(f.shown) == 0 {
			continue
		}
		kept -= len(f.shown)
		title := fmt.Sprintf("%s: %s", wording.Short(t.Name, 100), milliseconds(f.total))
		if t.Unit != "" {
			title += " in " + wording.Plural(t.count, t.Unit)
		}
		if left := len(nodes) - 1 - len(f.shown); left > 0 {
			title += fmt.Sprintf("; %s too short to be drawn", wording.Plural(left, "stack"))
		}
		graphs = append(graphs, graph{f, title})
		height += flameTitle + int(f.depth)*flameRow + flameMargin
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" `+
		"font-family=\"sans-serif\" font-size=\"12\">\n<title>%s</title>\n"+
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", flameWidth+2*flameMargin, height, escaped(heading))
	y := flameMargin
	for _, g := range graphs {
		fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n", flameMargin, y+flameRow-5,
			escaped(g.title))
		y += flameTitle
		g.draw(out, y, names)
		y += int(g.depth)*flameRow + flameMargin
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// flames are the bars of a realm.
type flames struct {
	*Tree
	whole []int64 // time with callees, by node
	from  []int64 // time before a node's bar
	shown []int32
	total int64
	depth int32
}

// layOut selects the longest nodes, and at most so many. A node's callers are among them.
func layOut(t *Tree, limit int) *flames {
	nodes := t.nodes
	f := &flames{Tree: t, whole: make([]int64, len(nodes)), from: make([]int64, len(nodes))}
	for i := len(nodes) - 1; i > root; i-- { // callees come after their callers
		f.whole[i] += nodes[i].self
		f.whole[nodes[i].parent] += f.whole[i]
	}
	f.total = f.whole[root]
	for i := range nodes {
		at := f.from[i]
		for _, c := range nodes[i].children {
			f.from[c] = at
			at += f.whole[c]
		}
		if i != root && float64(f.whole[i])*flameWidth >= minWidth*float64(f.total) && f.whole[i] > 0 {
			f.shown = append(f.shown, int32(i))
		}
	}
	slices.SortFunc(f.shown, func(a, b int32) int {
		return cmp.Or(cmp.Compare(f.whole[b], f.whole[a]), cmp.Compare(a, b))
	})
	f.shown = f.shown[:min(len(f.shown), limit)]
	for _, i := range f.shown {
		f.depth = max(f.depth, nodes[i].depth)
	}
	return f
}

// draw writes the bars below y. Functions of one file have one hue.
func (f *flames) draw(out io.Writer, y int, names Names) {
	scale := flameWidth / float64(f.total)
	for _, i := range f.shown {
		n := &f.nodes[i]
		of := names.bounded(n.function)
		x, width := flameMargin+float64(f.from[i])*scale, float64(f.whole[i])*scale
		top := y + int(n.depth-1)*flameRow
		counted := ""
		if f.Unit != "" {
			counted = ", " + wording.Plural(n.calls, f.Unit)
		}
		hue := fnv.New32a()
		hue.Write([]byte(of.URL + of.Module)) // a hash never fails
		fmt.Fprintf(out, "<g><title>%s: %s (%.1f %%), self %s%s</title>"+
			`<rect x="%.1f" y="%d" width="%.1f" height="%d" rx="2" fill="hsl(%d,65%%,%d%%)" `+
			`stroke="#fff" stroke-width="0.5"/>`,
			escaped(of.text()), milliseconds(f.whole[i]), 100*float64(f.whole[i])/float64(f.total),
			milliseconds(n.self), counted, x, top, width, flameRow-1, hue.Sum32()%360,
			72+n.function%3*5)
		if letters := int(width-6) / letterWidth; letters >= 3 {
			fmt.Fprintf(out, `<text x="%.1f" y="%d">%s</text>`, x+3, top+13,
				escaped(wording.Short(of.label(), letters)))
		}
		fmt.Fprintln(out, "</g>")
	}
}

func milliseconds(ns int64) string { return fmt.Sprintf("%.2f ms", float64(ns)/1e6) }

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder never fails
	return b.String()
}
