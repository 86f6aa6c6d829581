// Package export writes the activity of a device in formats of other programs. These are callgrind,
// pprof, folded stacks and flame graphs.
package export

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/frames"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/trace/profile"
)

// Selection is a part of a trace: frames, and one thread or all.
type Selection struct {
	Trace    *activity.Trace
	Frames   []result.FrameSpan
	Thread   string // name, number or main thread; empty: all
	Inverted bool   // functions above their callers, in folded stacks and flame graphs
}

// source returns the grouped trace, the spans of the frames, and the chosen threads.
func (s *Selection) source() (of *frames.Source, spans []frames.Spans, chosen []bool, err error) {
	of = frames.NewSource(s.Trace)
	threads := s.Trace.Threads()
	chosen, some := make([]bool, len(threads)), false
	for i, t := range threads[1:] {
		chosen[1+i] = s.Thread == "" || t.Name == s.Thread || strconv.Itoa(int(t.ID)) == s.Thread ||
			s.Thread == "main thread" && t.ID == t.Process && t.ID != 0
		some = some || chosen[1+i]
	}
	if !some {
		return nil, nil, nil, fmt.Errorf("the trace %s has no thread %q", s.Trace.Info().Name, s.Thread)
	}
	return of, split(of.Spans(s.Frames)), chosen, nil
}

// split divides spans into lists without overlaps.
func split(all frames.Spans) (lists []frames.Spans) {
	slices.SortStableFunc(all, func(a, b frames.Span) int { return cmp.Compare(a.From, b.From) })
	for _, s := range all {
		i := slices.IndexFunc(lists, func(l frames.Spans) bool { return l[len(l)-1].To <= s.From })
		if i < 0 {
			i = len(lists)
			lists = append(lists, nil)
		}
		lists[i] = append(lists[i], s)
	}
	return lists
}

// names returns the functions of groups.
func names(of *frames.Source) profile.Names {
	return func(g uint32) profile.Function {
		f := of.Group(int32(g))
		if f.Name == "" {
			f.Name = "(unnamed)"
		}
		return profile.Function{Name: f.Name, URL: f.File, Line: f.Line, Module: f.Module}
	}
}

// threadName returns the name of a thread with its numbers.
func threadName(t activity.Thread) string {
	return strings.TrimSpace(fmt.Sprintf("%s %d (%s %d)", t.Name, t.ID, t.ProcessName, t.Process))
}

// treeKey is a tree of a forest: a thread, of one frame or of all.
type treeKey struct {
	thread uint32
	row    int // -1: all
	calls  bool
}

// forest returns the stacks of threads, and the key of each tree.
func (s *Selection) forest(byFrame bool) (*profile.Forest, []treeKey, *frames.Source, error) {
	of, spans, chosen, err := s.source()
	if err != nil {
		return nil, nil, nil, err
	}
	f, trees := &profile.Forest{}, map[treeKey]*profile.Tree{}
	var keys []treeKey
	err = of.Each(spans, func(p *frames.Part) {
		if !chosen[p.Thread] || p.CPU == 0 {
			return
		}
		key, count, unit := treeKey{p.Thread, -1, !p.Sampled}, int64(1), "sample"
		if byFrame {
			key.row = p.Row
		}
		if key.calls {
			unit, count = "", 0
		}
		t := trees[key]
		if t == nil {
			t = f.Tree(threadName(s.Trace.Threads()[p.Thread]), unit)
			trees[key] = t
			keys = append(keys, key)
		}
		at := int32(0)
		for i := range p.Path {
			g := p.Path[len(p.Path)-1-i]
			if s.Inverted {
				g = p.Path[i]
			}
			at = t.Child(at, uint32(g))
		}
		t.Add(at, p.CPU, count)
	})
	if err == nil && len(keys) == 0 {
		err = fmt.Errorf("the trace %s has no functions in these frames", s.Trace.Info().Name)
	}
	return f, keys, of, err
}

// Folded writes one line per stack with its time in ns.
func (s *Selection) Folded(w io.Writer) error {
	f, _, of, err := s.forest(false)
	if err != nil {
		return err
	}
	return f.Folded(w, names(of))
}

// Flame writes an SVG picture.
func (s *Selection) Flame(w io.Writer) error {
	f, _, of, err := s.forest(false)
	if err != nil {
		return err
	}
	return f.Flame(w, "Functions by thread", names(of))
}

// PProf writes stacks for the program pprof. Their labels are the thread, the frame, and late for
// late frames.
func (s *Selection) PProf(w io.Writer) error {
	one := *s
	one.Inverted = false
	f, keys, of, err := one.forest(true)
	if err != nil {
		return err
	}
	labels, lasted := make([]profile.Labels, len(keys)), int64(0)
	for i, k := range keys {
		frame := s.Frames[k.row]
		labels[i] = profile.Labels{Text: map[string][]string{"thread": {f.Trees[i].Name}},
			Numbers: map[string][]int64{"frame": {int64(frame.Frame)}}}
		if frame.Long {
			labels[i].Text["late"] = []string{"late"}
		}
	}
	for _, frame := range s.Frames {
		lasted += frame.ToNS - frame.FromNS
	}
	return f.PProf(w, lasted, labels, names(of))
}
