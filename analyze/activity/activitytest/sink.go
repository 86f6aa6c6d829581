// Package activitytest has a sink, and packed files, for tests of readers of traces.
package activitytest

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
)

// Sink keeps all records in memory.
type Sink struct {
	Threads   []activity.Thread
	Functions []activity.Function
	Events    []activity.Event
	stacks    []frame
	Faults    []string // events with impossible numbers or times
}

type frame struct{ callers, function uint32 }

// add returns the number of a thing that equals another one by a test.
func add[T any](all *[]T, one T, equal func(T) bool) uint32 {
	i := slices.IndexFunc(*all, equal)
	if i < 0 {
		i = len(*all)
		*all = append(*all, one)
	}
	return uint32(i + 1)
}

// Thread implements [activity.Sink]. A later name replaces an earlier one.
func (s *Sink) Thread(t activity.Thread) uint32 {
	n := add(&s.Threads, t, func(o activity.Thread) bool {
		return o.Process == t.Process && o.ID == t.ID && o.Start == t.Start
	})
	o := &s.Threads[n-1]
	o.Name, o.ProcessName = cmp.Or(t.Name, o.Name), cmp.Or(t.ProcessName, o.ProcessName)
	return n
}

// Function implements [activity.Sink].
func (s *Sink) Function(f activity.Function) uint32 {
	return add(&s.Functions, f, func(o activity.Function) bool { return o == f })
}

// Stack implements [activity.Sink].
func (s *Sink) Stack(callers, function uint32) uint32 {
	if int(callers) > len(s.stacks) || function == 0 || int(function) > len(s.Functions) {
		s.Faults = append(s.Faults, fmt.Sprintf("stack of %d and %d", callers, function))
		return 0
	}
	f := frame{callers, function}
	return add(&s.stacks, f, func(o frame) bool { return o == f })
}

// Depth returns the largest number of functions in a stack.
func (s *Sink) Depth() (most int) {
	depths := make([]int, len(s.stacks)+1)
	for i, f := range s.stacks {
		depths[i+1] = depths[f.callers] + 1
		most = max(most, depths[i+1])
	}
	return most
}

// Event implements [activity.Sink].
func (s *Sink) Event(e activity.Event) error {
	s.Events = append(s.Events, e)
	switch {
	case int(e.Thread) > len(s.Threads) || e.Thread == 0 && e.Kind != activity.Counter && e.Kind != activity.Lost &&
		e.Kind != activity.Instant:
	case e.Kind == activity.Sample && int(e.Ref) > len(s.stacks):
	case e.Kind == activity.Slice && (e.Ref == 0 || int(e.Ref) > len(s.Functions) || e.Value < 0):
	case e.At < 0 || e.At > 1<<61:
	default:
		return nil
	}
	s.Faults = append(s.Faults, fmt.Sprint(e))
	return nil
}

var kinds = map[activity.Kind]string{activity.Sample: "sample", activity.Out: "out", activity.Woken: "woken",
	activity.In: "in", activity.Call: "call", activity.Return: "return", activity.Slice: "slice",
	activity.Instant: "instant", activity.Counter: "counter", activity.FlowOut: "flow-out", activity.FlowIn: "flow-in",
	activity.Lost: "lost"}

// Lines returns a line per event in the order of times: time, thread, kind, names, value.
func (s *Sink) Lines() (lines []string) {
	events := slices.Clone(s.Events)
	slices.SortStableFunc(events, func(a, b activity.Event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range events {
		thread, name := "-", ""
		if e.Thread > 0 {
			thread = s.Threads[e.Thread-1].Name
		}
		switch e.Kind {
		case activity.Sample, activity.Out:
			name = s.StackText(e.Ref)
		case activity.Slice, activity.Instant, activity.Counter, activity.Call, activity.Return:
			name = s.Functions[e.Ref-1].Name
		}
		lines = append(lines, fmt.Sprintf("%d %s %s %s %d", e.At, thread, kinds[e.Kind], name, e.Value))
	}
	return lines
}

// Unpacked returns the content of a gzip file.
func Unpacked(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// StackText returns the functions of a stack, outermost first.
func (s *Sink) StackText(id uint32) string {
	var names []string
	for ; id > 0; id = s.stacks[id-1].callers {
		f := s.Functions[s.stacks[id-1].function-1]
		if f.Name == "" {
			f.Name = fmt.Sprintf("%s+%#x", f.Module, f.Offset)
		}
		names = append(names, f.Name)
	}
	slices.Reverse(names)
	return strings.Join(names, ";")
}
