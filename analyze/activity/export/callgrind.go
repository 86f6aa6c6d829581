package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/frames"
	"github.com/eideticker/eideticker/analyze/trace/profile"
)

// File is a part of a profile in the format of callgrind: that of one thread.
type File struct {
	graph profile.Graph
	names profile.Names
}

// Write writes the file.
func (f *File) Write(w io.Writer) error { return f.graph.Write(w, f.names) }

// collected has the stacks of a thread.
type collected struct {
	calls, samples stacks
	before         int // calls that began before the frames
	after          int // calls that did not return within them
}

// stacks count in a tree of functions below their callers, which is added to the graph at times.
type stacks struct {
	graph *profile.Graph
	any   bool // within the spans
	ran   int64
	nodes []callNode // 0 is the root
	known map[callKey]int32
	cache [64]int32 // of known
	open  []int32   // nodes of open calls
	last  int64     // time of the last event, in a [Grinder]
}

type callKey struct {
	callers int32
	group   uint32
}

type callNode struct {
	callKey
	calls int64
	costs [2]int64
}

// maxNodes limits the tree of a thread, and maxAllNodes those of all threads of a [Grinder].
const maxNodes, maxAllNodes = 1 << 16, 1 << 20

func newStacks(event string) stacks {
	return stacks{graph: &profile.Graph{Events: []string{event, "CpuNs"}, Top: "(thread)", Modules: true},
		nodes: make([]callNode, 1), known: map[callKey]int32{}}
}

// push returns the node of a function below another node.
func (s *stacks) push(callers int32, group uint32) int32 {
	key := callKey{callers, group}
	cached := &s.cache[(uint32(callers)*31+group)%uint32(len(s.cache))]
	if n := *cached; n > 0 && s.nodes[n].callKey == key {
		return n
	}
	n, ok := s.known[key]
	if !ok {
		n = int32(len(s.nodes))
		s.nodes = append(s.nodes, callNode{callKey: key})
		s.known[key] = n
	}
	*cached = n
	return n
}

func (s *stacks) add(node int32, first, cpu int64) {
	s.any = true
	s.ran += cpu
	costs := &s.nodes[node].costs
	costs[0] += first
	costs[1] += cpu
}

// call adds the begin of a call.
func (s *stacks) call(callers int32, group uint32, times int64) {
	n := s.push(callers, group)
	s.nodes[n].calls += times
	s.open = append(s.open, n)
	if len(s.nodes) > maxNodes {
		s.flush()
	}
}

// top returns the node of the innermost open call.
func (s *stacks) top() int32 {
	if n := len(s.open); n > 0 {
		return s.open[n-1]
	}
	return 0
}

// flush adds the tree to the graph. It keeps the open calls alone, and without any no memory.
func (s *stacks) flush() {
	var whole, path []int32
	for _, n := range s.nodes[1:] {
		if n.calls > 0 {
			caller := profile.Top
			if n.callers > 0 {
				caller = s.nodes[n.callers].group
			}
			s.graph.Call(caller, n.group, n.calls)
		}
		if n.costs == [2]int64{} {
			continue
		}
		whole = append(whole[:0], int32(n.group))
		for i := n.callers; i > 0; i = s.nodes[i].callers {
			whole = append(whole, int32(s.nodes[i].group))
		}
		path = outermost(path[:0], whole)
		from := profile.Top
		for _, g := range path {
			s.graph.Call(from, uint32(g), 0, n.costs[:]...)
			from = uint32(g)
		}
		s.graph.Self(from, n.costs[:]...)
	}
	open := make([]uint32, len(s.open))
	for i, n := range s.open {
		open[i] = s.nodes[n].group
	}
	s.nodes, s.open, s.cache = s.nodes[:1], s.open[:0], [64]int32{}
	if clear(s.known); len(open) == 0 {
		s.nodes, s.known = make([]callNode, 1), map[callKey]int32{}
	}
	for _, group := range open {
		s.open = append(s.open, s.push(s.top(), group))
	}
}

// grinder collects the stacks of threads.
type grinder struct {
	group   func(function uint32) uint32
	stack   func(id uint32) (callers, function uint32)
	within  []frames.Spans
	chosen  []bool       // by thread; nil: all
	threads []*collected // by number
}

func (g *grinder) get(thread uint32) *collected {
	for int(thread) >= len(g.threads) {
		g.threads = append(g.threads, nil)
	}
	c := g.threads[thread]
	if c == nil && (g.chosen == nil || g.chosen[thread]) {
		c = &collected{calls: newStacks("WallNs"), samples: newStacks("Samples")}
		g.threads[thread] = c
	}
	return c
}

// inside returns how much of a time is within the spans. Spans that overlap count each.
func (g *grinder) inside(from, to int64) (ns int64) {
	for _, spans := range g.within {
		ns += spans.Within(from, to)
	}
	return ns
}

// calls returns the node of the open calls of a thread.
func (g *grinder) calls(s *stacks, open []activity.OpenCall) int32 {
	s.open = s.open[:min(len(s.open), len(open))]
	for i := len(s.open); i < len(open); i++ { // the first ones of the walk
		s.open = append(s.open, s.push(s.top(), g.group(open[i].Function)))
	}
	return s.top()
}

func (g *grinder) piece(of *activity.State, from, to int64) {
	if len(of.Calls) == 0 {
		return
	}
	c := g.get(of.Thread)
	if c == nil {
		return
	}
	if ns := g.inside(from, to); ns > 0 {
		cpu := ns
		if of.On == activity.OffCPU {
			cpu = 0
		}
		c.calls.add(g.calls(&c.calls, of.Calls), ns, cpu)
	}
}

func (g *grinder) event(e activity.Event, of *activity.State) {
	sample := e.Kind == activity.Sample && e.Ref > 0
	if !sample && e.Kind != activity.Call && e.Kind != activity.Slice {
		return
	}
	c, times := g.get(e.Thread), g.inside(e.At, e.At+1)
	switch {
	case c == nil || times == 0 && sample:
	case sample:
		s := &c.samples
		if len(s.nodes) > maxNodes {
			s.flush()
		}
		s.add(g.sampled(s, e.Ref), times, times*e.Value)
	default:
		s := &c.calls
		s.call(g.calls(s, of.Calls), g.group(e.Ref), times)
	}
}

// sampled returns the node of a stack.
func (g *grinder) sampled(s *stacks, stack uint32) int32 {
	if stack == 0 {
		return 0
	}
	callers, function := g.stack(stack)
	return s.push(g.sampled(s, callers), g.group(function))
}

// Callgrind returns the files of all threads that ran, the busiest first. Calls have exact counts.
// Those of samples are unknown, and written as 0. A recursion counts once, at its outermost frame.
func (s *Selection) Callgrind() ([]*File, error) {
	of, spans, chosen, err := s.source()
	if err != nil {
		return nil, err
	}
	group := func(function uint32) uint32 { return uint32(of.GroupOf(function)) }
	g := &grinder{group: group, stack: s.Trace.Stack, within: spans, chosen: chosen}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, all := range spans {
		first, last = min(first, all[0].From), max(last, all[len(all)-1].To)
	}
	if err := s.Trace.Walk(first, last, activity.Visitor{Piece: g.piece, Event: g.event}); err != nil {
		return nil, err
	}
	if err := s.count(spans, g.threads); err != nil {
		return nil, err
	}
	return g.files(of, len(s.Frames)), nil
}

// outermost appends a stack with the outermost function first, and each function once. If the
// innermost function called itself, the functions between are left out.
func outermost(path, stack []int32) []int32 {
	for i := len(stack) - 1; i >= 0; i-- {
		k := slices.Index(path, stack[i])
		switch {
		case k < 0:
			path = append(path, stack[i])
		case i == 0:
			path = path[:k+1]
		}
	}
	return path
}

// Grinder is a sink that counts the calls of a whole trace, and does not keep it. The events of a
// thread must come in the order of time. Events other than calls and returns are left out.
type Grinder struct {
	*activity.Tables
	grinder
	nodes int // of all threads
	room  int // for nodes, until the next flush
}

// NewGrinder returns a grinder without calls.
func NewGrinder() *Grinder { return &Grinder{Tables: activity.NewTables(), room: maxAllNodes} }

// Function implements activity.Sink. Functions of one group have one number.
func (g *Grinder) Function(f activity.Function) uint32 { return g.Tables.Function(frames.Key(f)) }

// Event implements activity.Sink.
func (g *Grinder) Event(e activity.Event) error {
	if e.Kind != activity.Call && e.Kind != activity.Return {
		return nil
	}
	s := &g.get(e.Thread).calls
	top := s.top()
	if ns := e.At - s.last; top > 0 && ns > 0 {
		s.add(top, ns, ns)
	}
	if s.last = e.At; e.Kind == activity.Call {
		g.nodes -= len(s.nodes)
		s.call(top, e.Ref, 1)
		if g.nodes += len(s.nodes); g.nodes > g.room {
			g.flush()
		}
	} else if top > 0 {
		s.open = s.open[:len(s.open)-1]
	}
	return g.Full()
}

// flush adds the trees of all threads to their graphs.
func (g *Grinder) flush() {
	g.nodes = 0
	for _, c := range g.threads {
		if c != nil && len(c.calls.nodes) > 1 {
			c.calls.flush()
			g.nodes += len(c.calls.nodes) - 1
		}
	}
	g.room = max(maxAllNodes, 2*g.nodes) // open calls remain
}

// Files returns the files of all threads, as [Selection.Callgrind] does.
func (g *Grinder) Files(info activity.Info) ([]*File, error) {
	t, err := g.Trace(info)
	if err != nil {
		return nil, err
	}
	return g.files(frames.NewSource(t), 1), nil
}

// count counts the calls that are open at the begin and at the end of the frames.
func (s *Selection) count(all []frames.Spans, threads []*collected) error {
	open := func(at int64, add func(c *collected, n int)) error {
		states, err := s.Trace.At(at)
		for _, st := range states {
			if int(st.Thread) < len(threads) && threads[st.Thread] != nil {
				add(threads[st.Thread], len(st.Calls))
			}
		}
		return err
	}
	for _, spans := range all {
		for i := 0; i < len(spans); {
			from, to := spans[i].From, spans[i].To
			for i++; i < len(spans) && spans[i].From == to; i++ {
				to = spans[i].To // frames that follow each other
			}
			if err := errors.Join(open(from, func(c *collected, n int) { c.before += n }),
				open(to, func(c *collected, n int) { c.after += n })); err != nil {
				return err
			}
		}
	}
	return nil
}

// files returns the files in order, with their headers. Threads with calls have no samples.
func (g *grinder) files(of *frames.Source, selected int) (files []*File) {
	var order []int
	ran := func(i int) int64 { return g.threads[i].chosen().ran }
	for i, c := range g.threads {
		if c != nil && c.chosen() != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ran(b), ran(a)) })
	info := of.Info()
	for part, thread := range order {
		c, t := g.threads[thread], of.Threads()[thread]
		s := c.chosen()
		s.flush()
		s.graph.Header = []string{fmt.Sprintf("pid: %d", t.Process),
			"cmd: " + cmp.Or(info.Target, t.ProcessName, info.Name),
			fmt.Sprintf("part: %d", part+1), fmt.Sprintf("thread: %d", t.ID),
			"desc: Thread: " + threadName(t),
			fmt.Sprintf("desc: Trace: %s %s, %d frames", info.Engine, info.Way, selected)}
		if s == &c.samples {
			s.graph.Header = append(s.graph.Header, "desc: Calls: unknown, written as 0")
		} else {
			s.graph.Header = append(s.graph.Header,
				fmt.Sprintf("desc: Open calls: %d began before, %d end after these frames", c.before, c.after))
		}
		files = append(files, &File{*s.graph, names(of)})
	}
	return files
}

// chosen returns the calls, else the samples; nil: none.
func (c *collected) chosen() *stacks {
	switch {
	case c.calls.any:
		return &c.calls
	case c.samples.any:
		return &c.samples
	}
	return nil
}
