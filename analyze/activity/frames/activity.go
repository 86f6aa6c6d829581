package frames

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
)

// Activity is the activity of a thread within a span of the trace's clock.
type Activity struct {
	Thread                     uint32
	Running, Runnable, Waiting int64
	// Low and High bound Running.
	Low, High int64
	// Switches reports whether the three times are measured. Running is else that of samples, or
	// that of calls, which may have waited.
	Switches bool
	// Tree has functions with their callers (inverted), or with the functions that they called.
	Tree        *Tree
	Waits       []Wait // longest first; of up to 1,024 callers
	fromSamples bool   // at least one
	// Longest is the innermost named function that ran for at least half of the time, and scripts
	// before others; -1: none.
	Longest Node
	// Work has the times of the browser's own work by its kind.
	Work map[string]int64
}

// Wait is the waits of a thread for one caller in its program.
type Wait struct {
	NS      int64 // within the span, of all of them
	Times   int
	Begin   int64 // of the longest one, as the rest
	End     int64
	Path    []int32 // groups, innermost first
	WokenBy uint32
}

// Tree has functions below functions. The first node is the root.
type Tree struct{ Nodes []Node }

// Node is a group of functions below another one.
type Node struct {
	Group    int32
	Depth    int32
	Parent   int32
	NS       int64
	Samples  int64
	runs     int64
	last     int64 // number of the last sample of the thread, from 1
	period   int64 // the longest of a sample
	unsure   bool  // calls that may have waited
	Children []int32
}

// Bounds returns the bounds of the time.
func (n *Node) Bounds() (low, high int64) {
	low, high = n.NS-n.runs*n.period, n.NS+n.runs*n.period
	if n.unsure {
		low = 0
	}
	return max(0, low), high
}

// part is a time with a stack: one sample or a piece of calls.
type part struct {
	ns     int64
	sample int64 // its number in the thread, from 1; 0: none
	unsure bool
}

func (n *Node) add(p part) {
	n.NS += p.ns
	n.unsure = n.unsure || p.unsure
	if p.sample > 0 {
		n.Samples++
		n.period = max(n.period, p.ns)
		if n.last != p.sample-1 || n.runs == 0 {
			n.runs++
		}
		n.last = p.sample
	}
}

// maxNodes bounds the nodes of a tree. Further ones count for those above them only.
const maxNodes = 1 << 16

type edge struct {
	parent int32
	group  int32
}

// collector collects the activity of one thread.
type collector struct {
	Activity
	of       *Source
	from     int64
	inverted bool
	depth    int // of the tree
	known    map[edge]int32
	totals   map[int32]*total // by group
	waits    map[string]*Wait // by caller
	samples  int64
	lastAt   int64
	all      Node // all samples
	called   Node // all pieces of calls
}

type total struct {
	Node
	self   int64
	depths int64 // sum
	times  int64
}

// Options select the form of trees.
type Options struct {
	Thread  func(uint32) bool // nil: all
	TopDown bool
	Depth   int // of trees
}

// Within returns the activity of threads within a span of the trace's clock, the busiest first.
func (s *Source) Within(from, to int64, o Options) ([]Activity, error) {
	threads := map[uint32]*collector{}
	get := func(thread uint32) *collector {
		c := threads[thread]
		if c == nil && (o.Thread == nil || o.Thread(thread)) {
			c = &collector{of: s, from: from, inverted: !o.TopDown, depth: cmp.Or(o.Depth, activity.MaxDepth),
				known: map[edge]int32{}, totals: map[int32]*total{}, waits: map[string]*Wait{}}
			c.Thread, c.Tree = thread, &Tree{[]Node{{Parent: -1, Group: -1}}}
			threads[thread] = c
		}
		return c
	}
	var path []int32
	err := s.Walk(from, to, activity.Visitor{
		Piece: func(st *activity.State, from, to int64) {
			c := get(st.Thread)
			if c == nil {
				return
			}
			c.switched(st, to-from)
			if len(st.Calls) > 0 && st.On != activity.OffCPU {
				path = s.callsOf(path[:0], st.Calls)
				p := part{ns: to - from, unsure: st.On == activity.Unseen}
				c.called.add(p)
				c.add(path, p)
				c.addWork(st.Calls, p.ns)
			}
		},
		Event: func(e activity.Event, st *activity.State) {
			if st == nil || e.Kind != activity.Sample && e.Kind != activity.In {
				return
			}
			c := get(e.Thread)
			switch {
			case c == nil:
			case e.Kind == activity.In:
				c.wait(st, e.At)
			default:
				path = s.stackOf(path[:0], e.Ref)
				c.sampled(path, e)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	left, err := s.At(to)
	if err != nil {
		return nil, err
	}
	for i := range left {
		if c := threads[left[i].Thread]; c != nil {
			c.wait(&left[i], to)
		}
	}
	var all []Activity
	for _, c := range threads {
		if c.end(); c.Running+c.Runnable+c.Waiting > 0 {
			all = append(all, c.Activity)
		}
	}
	slices.SortFunc(all, func(a, b Activity) int {
		return cmp.Or(cmp.Compare(b.Running, a.Running), cmp.Compare(a.Thread, b.Thread))
	})
	return all, nil
}

// switched counts a time by the state of the thread.
func (c *collector) switched(s *activity.State, ns int64) {
	switch {
	case s.On == activity.Unseen:
		return
	case s.On == activity.OnCPU:
		c.Running += ns
	case s.Woken == activity.Unended:
		c.Waiting += ns
	default:
		c.Runnable += ns
	}
	c.Switches = true
}

func (c *collector) sampled(path []int32, e activity.Event) {
	p := part{ns: e.Value, sample: c.samples + 1}
	if c.samples++; e.At-c.lastAt > 2*e.Value { // the thread did not run meanwhile
		p.sample++
		c.samples++
	}
	c.lastAt = e.At
	c.all.add(p)
	c.add(path, p)
}

// add adds a time to the tree and to its functions.
func (c *collector) add(path []int32, p part) {
	c.of.once(path, func(g int32, depth int) {
		t := c.totals[g]
		if t == nil {
			t = &total{Node: Node{Group: g}}
			c.totals[g] = t
		}
		t.Node.add(p)
		t.depths += int64(depth)
		t.times++
		if g == path[0] {
			t.self += p.ns
		}
	})
	at := int32(0)
	for i := range min(len(path), c.depth) {
		g := path[i]
		if !c.inverted {
			g = path[len(path)-1-i]
		}
		next, ok := c.known[edge{at, g}]
		if !ok && len(c.Tree.Nodes) >= maxNodes {
			break
		} else if !ok {
			next = int32(len(c.Tree.Nodes))
			c.known[edge{at, g}] = next
			c.Tree.Nodes = append(c.Tree.Nodes, Node{Group: g, Parent: at, Depth: c.Tree.Nodes[at].Depth + 1})
			c.Tree.Nodes[at].Children = append(c.Tree.Nodes[at].Children, next)
		}
		at = next
		c.Tree.Nodes[at].add(p)
	}
}

// wait adds the wait that a state ends with at a time. Times without a wake are waits too.
func (c *collector) wait(s *activity.State, at int64) {
	if s.On != activity.OffCPU || s.Reason != activity.Waits {
		return
	}
	w := Wait{Times: 1, Begin: s.Since, End: min(at, s.Woken), WokenBy: s.WokenBy}
	if w.End <= c.from || w.End <= w.Begin {
		return
	}
	w.NS = w.End - max(w.Begin, c.from)
	if s.Stack != 0 {
		w.Path = c.of.stackOf(nil, s.Stack)
	} else {
		w.Path = c.of.callsOf(nil, s.Calls)
	}
	w.Path = slices.DeleteFunc(w.Path, func(g int32) bool {
		f := c.of.Group(g)
		return f.Lang == activity.Kernel && strings.HasPrefix(strings.TrimLeft(f.Name, "_"), "schedule")
	})
	var key []byte
	for _, g := range c.of.callers(w.Path) {
		key = binary.AppendVarint(key, int64(g))
	}
	switch had := c.waits[string(key)]; {
	case had != nil:
		w.NS, w.Times = had.NS+w.NS, had.Times+1
		if w.End-w.Begin <= had.End-had.Begin {
			w.Begin, w.End, w.Path, w.WokenBy = had.Begin, had.End, had.Path, had.WokenBy
		}
		*had = w
	case len(c.waits) < maxWaits:
		c.waits[string(key)] = &w
	}
}

// callers returns a stack without its part in the kernel. A stack of the kernel alone stays.
func (s *Source) callers(path []int32) []int32 {
	outer := slices.IndexFunc(path, func(g int32) bool { return s.Group(g).Lang != activity.Kernel })
	return path[max(outer, 0):]
}

// maxWaits bounds the callers that are kept.
const maxWaits = 1024

// end completes the activity.
func (c *collector) end() {
	if !c.Switches {
		c.Running = c.all.NS
		c.Low, c.High = c.all.Bounds()
		if c.called.NS > c.Running {
			c.Running, c.Low, c.High = c.called.NS, 0, c.called.NS
		}
	} else {
		c.Low, c.High = c.Running, c.Running
	}
	c.fromSamples = c.all.Samples > 0
	for _, w := range c.waits {
		c.Waits = append(c.Waits, *w)
	}
	slices.SortFunc(c.Waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Begin, b.Begin), slices.Compare(a.Path, b.Path))
	})
	for i := range c.Tree.Nodes {
		n := &c.Tree.Nodes[i]
		slices.SortStableFunc(n.Children, func(a, b int32) int {
			return cmp.Compare(c.Tree.Nodes[b].NS, c.Tree.Nodes[a].NS)
		})
	}
	c.Longest = Node{Group: -1}
	var best *total
	for _, t := range c.totals {
		f := c.of.Group(t.Group)
		if !describes(f, t.self, t.NS) {
			continue
		}
		if whole := max(c.all.NS, c.called.NS); f.Name != "" && 2*t.NS >= whole && (best == nil || c.deeper(t, best)) {
			best = t
		}
	}
	if best != nil {
		c.Longest = best.Node
	}
}

// describes reports whether a function's name describes its total time. Released browsers have
// names only for functions that begin a program or a thread. Such a name describes its own work.
func describes(f activity.Function, self, total int64) bool {
	switch f.Name {
	case "main", "_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone", "__clone3",
		"ChromeMain", "XRE_main", "XRE_InitChildProcess":
		return f.Lang != activity.Native || 2*self >= total
	}
	return f.Lang != activity.Kernel || !result.EnablesInterrupts(f.Name)
}

// deeper reports whether a function describes the time better than another one.
func (c *collector) deeper(a, b *total) bool {
	f, g := c.of.Group(a.Group), c.of.Group(b.Group)
	if as, bs := f.Lang == activity.Script, g.Lang == activity.Script; as != bs {
		return as
	}
	if c := cmp.Compare(a.depths*b.times, b.depths*a.times); c != 0 {
		return c > 0
	}
	return a.Group < b.Group
}
