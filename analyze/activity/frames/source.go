package frames

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
)

// Source is a trace with its functions in groups. Functions of a module without names are one
// group.
type Source struct {
	*activity.Trace
	groups   []int32  // by number of a function
	work     []string // by group: see workOf
	named    []activity.Function
	stamps   []int // by group, of the last stack
	stamp    int
	gaps     []gap // with lost records, if searched
	searched bool
}

// gap is a span with lost records of a thread; 0: of all.
type gap struct {
	Span
	thread uint32
	cause  string
}

// NewSource groups the functions of a trace.
func NewSource(t *activity.Trace) *Source {
	s := &Source{Trace: t, groups: make([]int32, len(t.Functions()))}
	known := map[activity.Function]int32{}
	for i, f := range t.Functions() {
		key := Key(f)
		g, ok := known[key]
		if !ok {
			g = int32(len(s.named))
			known[key] = g
			if f.Name == "" {
				f = key
			}
			s.named, s.work = append(s.named, f), append(s.work, workOf(f))
		}
		s.groups[i] = g
	}
	s.stamps = make([]int, len(s.named))
	return s
}

// Key returns the part of a function that is the same for all functions of its group.
func Key(f activity.Function) activity.Function {
	key := activity.Function{Name: f.Name, Module: f.Module, File: f.File, Lang: f.Lang}
	switch {
	case f.Name == "":
		return activity.Function{Module: f.Module, Lang: f.Lang}
	case f.Lang == activity.Script:
		key.Line, key.Offset = f.Line, f.Offset // anonymous functions, and minified scripts
	}
	return key
}

// recorded reports whether the trace has the records of a span: see [Source.findGaps]. Its first
// half may be before the trace.
func (s *Source) recorded(of Span) bool {
	info := s.Info()
	cut := info.Cut != "" && of.To > info.EndNS
	return !cut && of.From+(of.To-of.From)/2 >= info.BeginNS && of.From < info.EndNS &&
		!slices.ContainsFunc(s.gaps, func(g gap) bool { return g.meets(of) })
}

func (g *gap) meets(of Span) bool { return g.From < of.To && g.To > of.From }

// lost states the gaps within a span, and a begin of the trace.
func (s *Source) lost(of Span) (texts []string) {
	if begin := s.Info().BeginNS; of.From < begin && begin < of.To {
		texts = append(texts, fmt.Sprintf("%s begins %d ms before the frame", s.Info().Name,
			(of.To-begin)/int64(time.Millisecond)))
	}
	for _, g := range s.gaps {
		if !g.meets(of) {
			continue
		}
		text := s.Info().Name + " lost records"
		if t := s.Threads()[g.thread]; g.thread > 0 && t.Name != "" {
			text += " of " + t.Name
		}
		if g.cause != "" {
			text += ": " + g.cause
		}
		if !slices.Contains(texts, text) && len(texts) < result.MaxLateThreads {
			texts = append(texts, text)
		}
	}
	return texts
}

// findGaps finds the gaps of a trace, if it lost records.
func (s *Source) findGaps() error {
	const maxGaps = 1000
	if s.searched || s.Info().Lost == 0 {
		return nil
	}
	s.searched = true
	var cause activity.Event // an instant
	for e, err := range s.Events(math.MinInt64/4, math.MaxInt64/4) {
		if err != nil {
			return err
		}
		if e.Kind == activity.Instant && activity.CauseOf(s.Functions()[e.Ref]) != "" {
			cause = e
		}
		if e.Kind != activity.Lost {
			continue
		}
		gap := gap{Span{From: e.At, To: e.At + max(e.Value, 1)}, e.Thread, ""}
		if cause.Ref > 0 && cause.At == e.At && cause.Thread == e.Thread {
			gap.cause = activity.CauseOf(s.Functions()[cause.Ref])
		}
		if n := len(s.gaps); n == maxGaps { // the last one takes the rest
			s.gaps[n-1].To, s.gaps[n-1].thread = max(s.gaps[n-1].To, gap.To), 0
		} else {
			s.gaps = append(s.gaps, gap)
		}
	}
	return nil
}

// Group returns the function that stands for a group.
func (s *Source) Group(g int32) activity.Function { return s.named[g] }

// stackOf appends the groups of a stack, innermost first.
func (s *Source) stackOf(to []int32, stack uint32) []int32 {
	for stack != 0 {
		callers, f := s.Stack(stack)
		to = append(to, s.groups[f])
		stack = callers
	}
	return to
}

// callsOf appends the groups of open calls, innermost first.
func (s *Source) callsOf(to []int32, calls []activity.OpenCall) []int32 {
	for i := len(calls) - 1; i >= 0; i-- {
		to = append(to, s.groups[calls[i].Function])
	}
	return to
}

// once calls a function for each group of a stack. A recursion counts once.
func (s *Source) once(path []int32, f func(g int32, depth int)) {
	s.stamp++
	for i, g := range path {
		if s.stamps[g] != s.stamp {
			s.stamps[g] = s.stamp
			f(g, len(path)-i)
		}
	}
}

// Between returns the times of the trace for a span of the recording. Other clocks use the middle
// of their bounds.
func (s *Source) Between(from, to int64) (int64, int64) {
	clock := s.Info().Clock
	low, high := clock.Inverse(from)
	low2, high2 := clock.Inverse(to)
	return low + (high-low)/2, low2 + (high2-low2)/2
}

// When returns the recording's time of a time of the trace.
func (s *Source) When(at int64) int64 {
	clock := s.Info().Clock
	low, high := clock.Bounds(at)
	return low + (high-low)/2
}

var languages = map[activity.Language]string{activity.Native: "native", activity.Script: "javascript",
	activity.Kernel: "kernel", activity.Category: "category"}

func functionOf(f activity.Function) result.ProfileFunction {
	of := result.ProfileFunction{Name: f.Name, Module: f.Module, File: f.File, Line: f.Line,
		Language: languages[f.Lang], Calls: -1}
	if f.Lang == activity.Script && f.File != "" { // WebAssembly has an index there
		of.Column = int(f.Offset)
	}
	return of
}

// GroupOf returns the group of a function by its number.
func (s *Source) GroupOf(function uint32) int32 { return s.groups[function] }
