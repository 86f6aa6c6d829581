package profile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/trace"
)

// Graph has functions with their own costs, and calls between them with the costs of callees.
type Graph struct {
	// Header are lines such as "thread: 3", Events the names of costs, Top the caller of functions
	// without callers.
	Header []string
	Events []string
	Top    string
	// Modules adds the modules of functions.
	Modules bool

	self      map[uint32][]int64
	edges     map[edge]*edgeCost
	functions []uint32
	callees   map[uint32][]uint32
}

// edge is a pair of caller and callee.
type edge struct{ from, to uint32 }

type edgeCost struct {
	calls int64
	cost  []int64
}

// Top is the caller of functions that no other function called.
const Top = ^uint32(0)

func (g *Graph) init() {
	if g.self == nil {
		g.self, g.edges, g.callees = map[uint32][]int64{}, map[edge]*edgeCost{}, map[uint32][]uint32{}
	}
}

// Self adds costs of a function without its callees.
func (g *Graph) Self(function uint32, cost ...int64) {
	g.init()
	self := g.self[function]
	if self == nil {
		g.functions = append(g.functions, function)
		self = make([]int64, len(g.Events))
		g.self[function] = self
	}
	for i, c := range cost {
		self[i] += c
	}
}

// Call adds calls of a function by another one, with costs that include its callees.
func (g *Graph) Call(from, to uint32, calls int64, cost ...int64) {
	e := edge{from, to}
	c := g.edges[e]
	if c == nil {
		g.Self(to)
		if from != Top {
			g.Self(from)
		}
		c = &edgeCost{cost: make([]int64, len(g.Events))}
		g.edges[e] = c
		g.callees[from] = append(g.callees[from], to)
	}
	c.calls += calls
	for i, n := range cost {
		c.cost[i] += n
	}
}

// Write writes the graph in the format of callgrind.
func (g *Graph) Write(w io.Writer, names Names) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "# callgrind format\nversion: 1\ncreator: eideticker\n")
	for _, line := range g.Header {
		fmt.Fprintln(out, clean(line))
	}
	fmt.Fprintf(out, "positions: line\nevents: %s\n", strings.Join(g.Events, " "))
	sum := make([]int64, len(g.Events))
	for _, cost := range g.self {
		for i, c := range cost {
			sum[i] += c
		}
	}
	fmt.Fprintf(out, "summary:%s\n", costs(sum))
	told := compressed{}
	place := func(function uint32) (Function, string) {
		if function == Top {
			return Function{Name: g.Top}, g.Top
		}
		f := names.bounded(function)
		return f, f.text() + " #" + strconv.FormatUint(uint64(function), 10)
	}
	for _, from := range append([]uint32{Top}, g.functions...) {
		f, name := place(from)
		fmt.Fprintln(out)
		if g.Modules {
			fmt.Fprintf(out, "ob=%s\n", told.name("object", f.object()))
		}
		fmt.Fprintf(out, "fl=%s\nfn=%s\n", told.name("file", f.file()), told.name("function", name))
		if from != Top {
			fmt.Fprintf(out, "%d%s\n", f.Line, costs(g.self[from]))
		}
		for _, to := range g.callees[from] {
			callee, name := place(to)
			c := g.edges[edge{from, to}]
			if g.Modules {
				fmt.Fprintf(out, "cob=%s\n", told.name("object", callee.object()))
			}
			fmt.Fprintf(out, "cfi=%s\ncfn=%s\ncalls=%d %d\n%d%s\n", told.name("file", callee.file()),
				told.name("function", name), c.calls, callee.Line, f.Line, costs(c.cost))
		}
	}
	return out.Flush()
}

func costs(all []int64) (text string) {
	for _, c := range all {
		text += " " + strconv.FormatInt(c, 10)
	}
	return text
}

// Callgrind writes self times and calls between functions in the format of callgrind, in ns. Calls
// by the browser have the caller "(browser)".
func Callgrind(w io.Writer, t *trace.Trace, names Names) error {
	g := Graph{Events: []string{"ns"}, Top: "(browser)"}
	g.init()
	for _, r := range t.Realms {
		for _, c := range r.Calls {
			from := Top
			if c.Parent >= 0 {
				from = r.Calls[c.Parent].Function
			}
			g.Self(c.Function, c.Self)
			g.Call(from, c.Function, 1, c.Total)
		}
	}
	return g.Write(w, names)
}

// object returns the module; ??? is an unknown one.
func (f Function) object() string {
	if f.Module == "" {
		return "???"
	}
	return clean(path.Base(f.Module))
}

// file returns the address; ??? is that of an unknown file.
func (f Function) file() string { return cmp.Or(clean(f.URL), "???") }

// compressed has the numbers of the names that callgrind files define once.
type compressed map[[2]string]int

// name returns a name of a kind with its number, and later its number alone.
func (c compressed) name(kind, text string) string {
	k := [2]string{kind, text}
	if n := c[k]; n > 0 {
		return fmt.Sprintf("(%d)", n)
	}
	c[k] = len(c) + 1
	return fmt.Sprintf("(%d) %s", c[k], text)
}
