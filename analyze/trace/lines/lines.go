// Package lines writes a trace with one line per record, as text or as JSON.
//
//	OVERHEAD  cost of one record
//	FNI, FNR  a function was called or resumed; it returned, threw or was suspended
//	CBI, CBR  a callback that a call has planned begins or ends
//	EV LAG    lateness of the event loop
//	LOG, GAP  a label of the program; lost records
//	TOTAL     times of all calls of a function
//
// Each FNI has an FNR. The text has the fields of hxTracer's output, by its description.
package lines

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/analyze/trace/profile"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// Format is the form of a line.
type Format func(w *bufio.Writer, l *line)

// line is one record.
type line struct {
	Type  string  `json:"type"`
	Realm int     `json:"realm"`
	At    float64 `json:"ms"`           // time of the realm
	Call  int     `json:"id,omitempty"` // 1 + its index in the realm
	Name  string  `json:"name,omitempty"`
	URL   string  `json:"url,omitempty"`
	Line  int     `json:"line,omitempty"`
	Depth int     `json:"depth,omitempty"`
	How   string  `json:"how,omitempty"`
	Text  string  `json:"text,omitempty"`
	Value float64 `json:"value,omitempty"` // of LAG in ms, of COST in ms, of GAP in records
	Heap  int64   `json:"heap,omitempty"`  // bytes
	*total

	full string // path and name
}

// total is the content of TOTAL, in ms.
type total struct {
	Calls  int64      `json:"calls"`
	Open   int64      `json:"open,omitempty"`
	Self   float64    `json:"self"`
	Min    float64    `json:"min"`
	Mean   float64    `json:"mean"`
	Max    float64    `json:"max"`
	Lasted [3]float64 `json:"lasted"` // min, mean and max to the end of callbacks
}

// JSON writes a line as an object.
func JSON(w *bufio.Writer, l *line) {
	raw, err := json.Marshal(l)
	if err != nil {
		panic(err) // numbers are finite
	}
	w.Write(raw)
	w.WriteByte('\n')
}

// minLag is the shortest lag that is written, in µs.
const minLag = 1000

// maxIndent limits the blanks of deep calls.
const maxIndent = 100

// Text writes a line as hxTracer does. Times are modulo 10 s.
func Text(w *bufio.Writer, l *line) {
	ms := math.Mod(l.At, 10_000)
	switch l.Type {
	case "FNI", "FNR", "CBI", "CBR":
		indent := strings.Repeat(" ", min(l.Depth, maxIndent))
		fmt.Fprintf(w, "TRACER %s %.2fms %d  %s%s", l.Type, ms, l.Heap, indent, l.full)
		if l.How != "" && l.How != "return" {
			w.WriteString(" " + l.How)
		}
		w.WriteByte('\n')
	case "LAG":
		fmt.Fprintf(w, "TRACER EV LAG %.0fms\n", l.Value)
	case "COST":
		fmt.Fprintf(w, "TRACER OVERHEAD %.5fms per timing\n", l.Value)
	case "COSTS":
		fmt.Fprintf(w, "TRACER TOTAL OVERHEAD %.2fms\n", l.Value)
	case "GAP":
		fmt.Fprintf(w, "TRACER GAP %.2fms %.0f records: %s\n", ms, l.Value, l.Text)
	case "TOTAL":
		fmt.Fprintf(w, "TRACER TOTAL %.2fms %.2fms %.2fms %d %s", l.Lasted[0], l.Lasted[1], l.Lasted[2], l.Calls,
			l.full)
		if l.Open > 0 {
			fmt.Fprintf(w, " (%d open)", l.Open)
		}
		w.WriteByte('\n')
	default:
		fmt.Fprintf(w, "TRACER %s %.2fms %s\n", l.Type, ms, l.Text)
	}
}

// writer writes the lines of a trace.
type writer struct {
	*bufio.Writer
	format Format
	names  profile.Names
}

// Write writes the records of all realms, one realm after the other, and the totals. The longest
// mean of the time to the end of callbacks comes first.
func Write(to io.Writer, t *trace.Trace, names profile.Names, format Format) error {
	w := &writer{bufio.NewWriter(to), format, names}
	for i, r := range t.Realms {
		if !w.realm(r, i) {
			break // an error of the output
		}
	}
	w.put(line{Type: "COSTS", Value: ms(t.Counted.Value)})
	totals := t.Totals()
	slices.SortStableFunc(totals, func(a, b trace.Total) int { return cmp.Compare(b.Lasted[1], a.Lasted[1]) })
	for _, of := range totals {
		l := w.about(line{Type: "TOTAL", total: &total{Calls: of.Calls, Open: of.Open, Self: ms(of.Self.Value),
			Min: ms(of.Min.Value), Mean: ms(of.Mean.Value), Max: ms(of.Max.Value)}}, of.Function)
		for i, ns := range of.Lasted {
			l.total.Lasted[i] = ms(ns)
		}
		w.put(l)
	}
	return w.Flush()
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

// put writes a line and reports whether the output still takes lines.
func (w *writer) put(l line) bool {
	w.format(w.Writer, &l)
	_, err := w.Writer.Write(nil)
	return err == nil
}

// about adds the name of a function.
func (w *writer) about(l line, function uint32) line {
	f := w.names(function)
	l.Name, l.URL, l.Line = f.Name, f.URL, f.Line
	switch f.Name {
	case "(module)", "(script)":
		l.full = f.URL
	case "(anonymous)":
		l.full = fmt.Sprintf("%s.%s:%d:%d", f.URL, f.Name, f.Line, f.Column)
	default:
		l.full = f.URL + "." + f.Name
	}
	l.full = strings.TrimPrefix(l.full, ".")
	return l
}

// realm writes the records of a realm.
func (w *writer) realm(r *trace.Realm, index int) bool {
	var stack []int32
	heap, gaps := int64(0), r.Gaps
	put := func(l line, at int64) bool {
		l.Realm, l.At, l.Heap = index, ms(at), heap
		return w.put(l)
	}
	lost := func(until int64) bool {
		for ; len(gaps) > 0 && gaps[0].From <= until; gaps = gaps[1:] {
			if !put(line{Type: "GAP", Value: float64(gaps[0].Records), Text: gaps[0].Cause.String()}, gaps[0].From) {
				return false
			}
		}
		return true
	}
	if !put(line{Type: "COST", Value: ms(r.Pair.Value) / 2}, r.Begin) ||
		!put(line{Type: "LOG", Text: r.Kind.String() + " " + r.URL}, r.Begin) {
		return false
	}
	return r.Steps(func(s trace.Step) bool {
		c := &r.Calls[s.Call]
		l := w.about(line{Type: "FNI", Call: int(s.Call) + 1}, c.Function)
		if s.Kind == trace.Called || s.Kind == trace.Resumed {
			if l.Depth = len(stack); s.Kind == trace.Resumed {
				l.How = "resume"
			}
			stack = append(stack, s.Call)
			return lost(s.At-1) && put(l, s.At)
		}
		stack = stack[:max(0, len(stack)-1)]
		l.Type, l.Depth = "FNR", len(stack)
		switch s.Kind {
		case trace.Returned:
			l.How = "return"
		case trace.Threw:
			l.How = "throw"
		case trace.Unknown:
			l.How = "open"
		case trace.Suspended:
			if l.How = "await"; w.names(c.Function).Generator {
				l.How = "yield"
			}
		}
		return put(l, s.At)
	}, func(n trace.Note) bool {
		switch n.Code {
		case record.Heap:
			heap = int64(n.Value) << 10
		case record.Lag:
			return n.Value < minLag || put(line{Type: "LAG", Value: float64(n.Value) / 1000}, n.At)
		case record.Happened:
			return put(line{Type: "LOG", Text: n.Text}, n.At)
		case record.Begins, record.Ends:
			l := w.about(line{Type: "CBI", Call: int(n.Call) + 1, Depth: len(stack)}, r.Calls[n.Call].Function)
			if n.Code == record.Ends {
				l.Type = "CBR"
			}
			return put(l, n.At)
		}
		return true
	}) && lost(math.MaxInt64)
}
