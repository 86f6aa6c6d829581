package export

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/frames"
	"github.com/eideticker/eideticker/analyze/trace/profile"
)

// File is a part of a profile in the format of callgrind: that of one thread.
type File struct {
	graph profile.Graph
	names profile.Names
	ran   int64
}

// Write writes the file.
func (f *File) Write(w io.Writer) error { return f.graph.Write(w, f.names) }

// collected is the graph of a thread.
type collected struct {
	graph    *profile.Graph
	sampled  bool
	ran      int64
	before   int // calls that began before the frames
	after    int // calls that did not return within them
	lastPath []int32
}

// Callgrind returns the files of all threads that ran, the busiest first. Calls have exact counts.
// Those of samples are unknown, and written as 0. A recursion counts once, at its outermost frame.
func (s *Selection) Callgrind() ([]*File, error) {
	of, spans, chosen, err := s.source()
	if err != nil {
		return nil, err
	}
	threads := map[uint32]*collected{}
	get := func(thread uint32, sampled bool) *collected {
		c := threads[thread]
		if c == nil {
			events := []string{"WallNs", "CpuNs"}
			if sampled {
				events = []string{"Samples", "CpuNs"}
			}
			c = &collected{graph: &profile.Graph{Events: events, Top: "(thread)", Modules: true}, sampled: sampled}
			threads[thread] = c
		}
		return c
	}
	// Calls come first: a thread with calls has these, without its samples.
	samples := true
	for sampled := false; samples; sampled = true {
		samples = false
		err = of.Each(spans, func(p *frames.Part) {
			samples = samples || p.Sampled && !sampled
			if !chosen[p.Thread] || p.Sampled != sampled {
				return
			}
			if c := get(p.Thread, sampled); c.sampled == sampled {
				costs := [2]int64{p.Wall, p.CPU}
				if sampled {
					costs[0] = 1
				}
				c.add(p.Path, costs)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if err := s.count(of, spans, threads); err != nil {
		return nil, err
	}
	return s.files(of, threads), nil
}

// add adds a stack, innermost first.
func (c *collected) add(stack []int32, costs [2]int64) {
	c.ran += costs[1]
	path := outermost(c.lastPath[:0], stack)
	c.lastPath = path
	from := profile.Top
	for _, g := range path {
		c.graph.Call(from, uint32(g), 0, costs[:]...)
		from = uint32(g)
	}
	c.graph.Self(from, costs[:]...)
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

// count counts the calls within the frames, and the calls that are open at their begin or end.
func (s *Selection) count(of *frames.Source, all []frames.Spans, threads map[uint32]*collected) error {
	for _, spans := range all {
		for i := 0; i < len(spans); {
			from, to := spans[i].From, spans[i].To
			for i++; i < len(spans) && spans[i].From == to; i++ {
				to = spans[i].To // frames that follow each other
			}
			if err := s.countWithin(of, from, to, threads); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Selection) countWithin(of *frames.Source, from, to int64, threads map[uint32]*collected) error {
	open := func(at int64, f func(c *collected, n int)) error {
		states, err := s.Trace.At(at)
		for _, st := range states {
			if c := threads[st.Thread]; c != nil && !c.sampled {
				f(c, len(st.Calls))
			}
		}
		return err
	}
	if err := open(from, func(c *collected, n int) { c.before += n }); err != nil {
		return err
	}
	err := s.Trace.Walk(from, to, activity.Visitor{Event: func(e activity.Event, st *activity.State) {
		c := threads[e.Thread]
		if c == nil || c.sampled || e.Kind != activity.Call && e.Kind != activity.Slice {
			return
		}
		caller := profile.Top
		if n := len(st.Calls); n > 0 {
			caller = uint32(of.GroupOf(st.Calls[n-1].Function))
		}
		c.graph.Call(caller, uint32(of.GroupOf(e.Ref)), 1)
	}})
	if err != nil {
		return err
	}
	return open(to, func(c *collected, n int) { c.after += n })
}

// files returns the files in order, with their headers.
func (s *Selection) files(of *frames.Source, threads map[uint32]*collected) (files []*File) {
	var order []uint32
	for thread := range threads {
		order = append(order, thread)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(threads[b].ran, threads[a].ran), cmp.Compare(a, b))
	})
	info := s.Trace.Info()
	for part, thread := range order {
		c, t := threads[thread], s.Trace.Threads()[thread]
		c.graph.Header = []string{fmt.Sprintf("pid: %d", t.Process),
			"cmd: " + cmp.Or(info.Target, t.ProcessName, info.Name),
			fmt.Sprintf("part: %d", part+1), fmt.Sprintf("thread: %d", t.ID),
			"desc: Thread: " + threadName(t),
			fmt.Sprintf("desc: Trace: %s %s, %d frames", info.Engine, info.Way, len(s.Frames))}
		if c.sampled {
			c.graph.Header = append(c.graph.Header, "desc: Calls: unknown, written as 0")
		} else {
			c.graph.Header = append(c.graph.Header,
				fmt.Sprintf("desc: Open calls: %d began before, %d end after these frames", c.before, c.after))
		}
		files = append(files, &File{*c.graph, names(of), c.ran})
	}
	return files
}
