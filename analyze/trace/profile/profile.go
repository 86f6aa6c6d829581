// Package profile writes traces in the formats of other programs: folded stacks, CPU profiles of
// Chromium's DevTools, and callgrind.
//
// Times are as measured, with the cost of the instrumentation. A resumed call is below the call
// that began it. Calls that are more than 500 deep count for the one at that depth.
package profile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

const maxDepth = 500

// Function is the place of a function. Lines and columns count from 1.
type Function struct {
	Name, URL    string
	Line, Column int
}

// Names returns the place of a function of a trace.
type Names func(function uint32) Function

// text returns a name for people, without the separators of formats.
func (f Function) text() string {
	name := f.Name
	if name == "" {
		name = "(anonymous)"
	}
	if f.URL != "" {
		name += fmt.Sprintf(" %s:%d", f.URL, f.Line)
	}
	return clean(name)
}

// clean replaces line breaks, other control characters, and semicolons.
func clean(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == ';':
			return ':'
		case c < ' ' || c >= 0x7f && c < 0xa0:
			return ' '
		}
		return c
	}, text)
}

// node is a function that was called by the same functions.
type node struct {
	function uint32
	parent   int32
	depth    int32
	self     int64
	samples  int
	children []int32
}

// root is the first node of a tree.
const root = 0

// tree returns the calls of a realm by their callers, and the node of each call. A parent precedes
// its children.
func tree(r *trace.Realm) (nodes []node, of []int32) {
	type key struct {
		parent   int32
		function uint32
	}
	known := map[key]int32{}
	nodes = append(nodes, node{parent: -1})
	of = make([]int32, len(r.Calls))
	for i, c := range r.Calls {
		parent := int32(root)
		if c.Parent >= 0 {
			parent = of[c.Parent]
		}
		at := parent
		if nodes[parent].depth < maxDepth {
			k, ok := key{parent, c.Function}, false
			if at, ok = known[k]; !ok {
				at = int32(len(nodes))
				known[k] = at
				nodes = append(nodes, node{function: c.Function, parent: parent, depth: nodes[parent].depth + 1})
				nodes[parent].children = append(nodes[parent].children, at)
			}
		}
		of[i] = at
		nodes[at].self += c.Self
	}
	return nodes, of
}

// realmName returns the kind and the address of a realm.
func realmName(r *trace.Realm) string {
	kinds := map[record.RealmKind]string{record.Window: "window", record.Frame: "frame", record.Worker: "worker",
		record.Node: "node"}
	return clean(strings.TrimSpace(kinds[r.Kind] + " " + r.URL))
}

// Folded writes one line per stack with its self time in ns, as flame graph programs read it.
func Folded(w io.Writer, t *trace.Trace, names Names) error {
	out := bufio.NewWriter(w)
	for _, r := range t.Realms {
		nodes, _ := tree(r)
		paths := []string{realmName(r)}
		var visit []int32 // nodes that follow, the next one last
		push := func(children []int32) {
			for i := len(children) - 1; i >= 0; i-- {
				visit = append(visit, children[i])
			}
		}
		for push(nodes[root].children); len(visit) > 0; {
			n := nodes[visit[len(visit)-1]]
			visit = visit[:len(visit)-1]
			paths = append(paths[:n.depth], names(n.function).text())
			push(n.children)
			if n.self == 0 {
				continue
			}
			for i, name := range paths {
				if i > 0 {
					out.WriteByte(';')
				}
				out.WriteString(name)
			}
			fmt.Fprintf(out, " %d\n", n.self)
		}
	}
	return out.Flush()
}

// profile is the format of DevTools' JavaScript profiler. Times are in µs, lines from 0.
type profile struct {
	Nodes      []profileNode `json:"nodes"`
	StartTime  int64         `json:"startTime"`
	EndTime    int64         `json:"endTime"`
	Samples    []int32       `json:"samples"`
	TimeDeltas []int64       `json:"timeDeltas"`
}

type profileNode struct {
	ID        int32     `json:"id"`
	CallFrame callFrame `json:"callFrame"`
	HitCount  int       `json:"hitCount"`
	Children  []int32   `json:"children,omitempty"`
}

type callFrame struct {
	FunctionName string `json:"functionName"`
	ScriptID     string `json:"scriptId"`
	URL          string `json:"url"`
	LineNumber   int    `json:"lineNumber"`
	ColumnNumber int    `json:"columnNumber"`
}

// CPUProfile writes one realm as a .cpuprofile file. Each change of the stack is a sample, so the
// times are measured and not estimated.
func CPUProfile(w io.Writer, r *trace.Realm, names Names) error {
	nodes, of := tree(r)
	idle := int32(len(nodes))
	p := profile{StartTime: r.Begin / 1000, EndTime: r.End / 1000, Samples: []int32{}, TimeDeltas: []int64{}}
	last, idles := p.StartTime, 0
	for at, call := range r.Course() {
		n := idle
		if call >= 0 {
			n = of[call]
			nodes[n].samples++
		} else {
			idles++
		}
		p.Samples = append(p.Samples, n+1)
		p.TimeDeltas = append(p.TimeDeltas, at/1000-last)
		last = at / 1000
	}
	p.EndTime = max(p.EndTime, last)
	scripts := map[string]string{"": "0"}
	for i, n := range nodes {
		f := names(n.function)
		frame := callFrame{f.Name, scripts[f.URL], f.URL, max(0, f.Line-1), max(0, f.Column-1)}
		if i == root {
			frame = callFrame{"(root)", "0", "", -1, -1}
		} else if frame.ScriptID == "" {
			frame.ScriptID = strconv.Itoa(len(scripts))
			scripts[f.URL] = frame.ScriptID
		}
		children := make([]int32, len(n.children), len(n.children)+1)
		for k, c := range n.children {
			children[k] = c + 1
		}
		if i == root {
			children = append(children, idle+1)
		}
		p.Nodes = append(p.Nodes, profileNode{int32(i) + 1, frame, n.samples, children})
	}
	p.Nodes = append(p.Nodes, profileNode{idle + 1, callFrame{"(idle)", "0", "", -1, -1}, idles, nil})
	return json.NewEncoder(w).Encode(p)
}

// edge is a pair of caller and callee.
type edge struct{ from, to uint32 }

// Callgrind writes self times and calls between functions in the format of callgrind, in ns. Calls
// by the browser have the caller "(browser)".
func Callgrind(w io.Writer, t *trace.Trace, names Names) error {
	type cost struct{ calls, total int64 }
	self, edges := map[uint32]int64{}, map[edge]*cost{}
	var functions []uint32
	callees := map[uint32][]uint32{}
	for _, r := range t.Realms {
		for _, c := range r.Calls {
			if _, ok := self[c.Function]; !ok {
				functions = append(functions, c.Function)
			}
			self[c.Function] += c.Self
			e := edge{browser, c.Function}
			if c.Parent >= 0 {
				e.from = r.Calls[c.Parent].Function
			}
			if edges[e] == nil {
				edges[e] = &cost{}
				callees[e.from] = append(callees[e.from], c.Function)
			}
			edges[e].calls++
			edges[e].total += c.Total
		}
	}
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "# callgrind format\nversion: 1\ncreator: eideticker\npositions: line\nevents: ns\n")
	for _, from := range append([]uint32{browser}, functions...) {
		f, name := place(names, from)
		fmt.Fprintf(out, "\nfl=%s\nfn=%s\n", clean(f.URL), name)
		if from != browser {
			fmt.Fprintf(out, "%d %d\n", f.Line, self[from])
		}
		for _, to := range callees[from] {
			callee, name := place(names, to)
			c := edges[edge{from, to}]
			fmt.Fprintf(out, "cfi=%s\ncfn=%s\ncalls=%d %d\n%d %d\n", clean(callee.URL), name, c.calls, callee.Line,
				f.Line, c.total)
		}
	}
	return out.Flush()
}

// browser is the caller of functions that no other function called.
const browser = ^uint32(0)

// place returns a function and a name that no other function has.
func place(names Names, function uint32) (Function, string) {
	if function == browser {
		return Function{Name: "(browser)"}, "(browser)"
	}
	f := names(function)
	return f, f.text() + " #" + strconv.FormatUint(uint64(function), 10)
}
