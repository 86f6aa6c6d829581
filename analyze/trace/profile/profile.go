// Package profile writes traces in the formats of other programs. These are folded stacks and CPU
// profiles of Chromium's DevTools. Others are callgrind, pprof and flame graphs.
//
// Times are as measured, with the cost of the instrumentation. A resumed call is below the call
// that began it. Calls that are more than 500 deep count for the one at that depth. If the stacks
// have more than 4 million entries together, calls with further stacks count for their callers.
package profile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Limits of hostile traces.
const (
	maxDepth = 500
	maxPaths = 4_000_000 // entries of all different stacks
	maxText  = 200       // bytes of a name or an address
)

// Function is the place of a function. Lines and columns count from 1.
type Function struct {
	Name, URL    string
	Line, Column int
	Generator    bool
	Module       string // program or library; empty: scripts
}

// Names returns the place of a function of a trace.
type Names func(function uint32) Function

// bounded returns the place of a function with limited texts. An address keeps its end.
func (n Names) bounded(function uint32) Function {
	f := n(function)
	if len(f.Name) > maxText {
		f.Name = strings.ToValidUTF8(f.Name[:maxText], "") + "…"
	}
	if len(f.URL) > maxText {
		f.URL = "…" + strings.ToValidUTF8(f.URL[len(f.URL)-maxText:], "")
	}
	return f
}

// label returns a name for people, without the separators of formats.
func (f Function) label() string {
	if f.Name == "" {
		return "(anonymous)"
	}
	return clean(f.Name)
}

// text returns the name with the place.
func (f Function) text() string {
	if f.URL == "" {
		if f.Module == "" {
			return f.label()
		}
		return f.label() + " " + clean(path.Base(f.Module))
	}
	return fmt.Sprintf("%s %s:%d", f.label(), clean(f.URL), f.Line)
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
	calls    int64
	samples  int
	children []int32
}

// root is the first node of a tree.
const root = 0

// Tree has functions below their callers. A parent precedes its children.
type Tree struct {
	Name  string // of a realm or a thread
	Unit  string // of the counts of nodes: call or sample; empty: they have none
	nodes []node
	known map[childKey]int32
	room  *int
	count int64
}

type childKey struct {
	parent   int32
	function uint32
}

// Forest are trees that share the limit of entries.
type Forest struct {
	Trees []*Tree
	room  int
}

// Tree adds a tree with a name.
func (f *Forest) Tree(name, unit string) *Tree {
	if len(f.Trees) == 0 {
		f.room = maxPaths
	}
	t := &Tree{Name: clean(strings.TrimSpace(name)), Unit: unit, nodes: []node{{parent: -1}},
		known: map[childKey]int32{}, room: &f.room}
	f.Trees = append(f.Trees, t)
	return t
}

// Child returns the node of a function below another node, 0 is the root. It is that node itself
// beyond the limits.
func (t *Tree) Child(parent int32, function uint32) int32 {
	depth := t.nodes[parent].depth + 1
	if depth > maxDepth {
		return parent
	}
	k := childKey{parent, function}
	if had, ok := t.known[k]; ok {
		return had
	}
	if parent != root && int(depth) > *t.room {
		return parent
	}
	at := int32(len(t.nodes))
	*t.room -= int(depth)
	t.known[k] = at
	t.nodes = append(t.nodes, node{function: function, parent: parent, depth: depth})
	t.nodes[parent].children = append(t.nodes[parent].children, at)
	return at
}

// Add adds time without callees, and calls or samples, to a node.
func (t *Tree) Add(at int32, self, count int64) {
	t.nodes[at].self += self
	t.nodes[at].calls += count
	t.count += count
}

// realm returns the calls of a realm by their callers, and the node of each call.
func (f *Forest) realm(r *trace.Realm) (t *Tree, of []int32) {
	t = f.Tree(realmName(r), "call")
	of = make([]int32, len(r.Calls))
	for i, c := range r.Calls {
		parent := int32(root)
		if c.Parent >= 0 {
			parent = of[c.Parent]
		}
		of[i] = t.Child(parent, c.Function)
		t.Add(of[i], c.Self, 1)
	}
	return t, of
}

// realms returns the calls of all realms.
func realms(t *trace.Trace) *Forest {
	f := &Forest{}
	for _, r := range t.Realms {
		f.realm(r)
	}
	return f
}

// realmName returns the kind and the address of a realm.
func realmName(r *trace.Realm) string {
	return clean(strings.TrimSpace(r.Kind.String() + " " + r.URL))
}

// Folded writes one line per stack with its self time in ns, as flame graph programs read it.
func Folded(w io.Writer, t *trace.Trace, names Names) error { return realms(t).Folded(w, names) }

// Folded writes trees as the function [Folded] does.
func (f *Forest) Folded(w io.Writer, names Names) error {
	out := bufio.NewWriter(w)
	for _, t := range f.Trees {
		nodes := t.nodes
		paths := []string{wording.Short(t.Name, maxText)}
		var visit []int32 // nodes that follow, the next one last
		push := func(children []int32) {
			for i := len(children) - 1; i >= 0; i-- {
				visit = append(visit, children[i])
			}
		}
		for push(nodes[root].children); len(visit) > 0; {
			n := nodes[visit[len(visit)-1]]
			visit = visit[:len(visit)-1]
			paths = append(paths[:n.depth], names.bounded(n.function).text())
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
	t, of := (&Forest{}).realm(r)
	nodes := t.nodes
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
		f := names.bounded(n.function)
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
