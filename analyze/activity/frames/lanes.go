package frames

import (
	"math"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
)

const (
	laneSteps   = 600
	minLaneStep = time.Millisecond
	maxLanes    = 1 << 13 // threads with times by step
)

// threadOf is a thread of a trace.
type threadOf struct {
	s      *Source
	number uint32
}

// lane is the time in which a thread ran, in ns: all of it, and by step.
type lane struct {
	sum   int64
	steps []int64
}

// setLanes divides the time of all traces into steps.
func (b *builder) setLanes(traces []*activity.Trace) {
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, t := range traces {
		if info := t.Info(); !info.Clock.None && info.Events > 0 {
			low, _ := info.Clock.Bounds(info.BeginNS)
			_, high := info.Clock.Bounds(info.EndNS)
			from, to = min(from, low), max(to, high)
		}
	}
	if from < to {
		b.from, b.step = from, max((to-from+laneSteps-1)/laneSteps, int64(minLaneStep))
	}
}

// nativeName is the name of the trace of native code. It measures the time of threads.
const nativeName = "native"

// own notes the threads whose time a trace counts. Native code is before others. No time counts
// twice.
func (b *builder) own(s *Source) {
	info := s.Info()
	if info.Way == activity.WaySockets || info.Clock.None {
		return
	}
	for _, t := range s.Threads()[1:] {
		key := [2]int32{t.Process, t.ID}
		if b.owners[key] == nil || info.Name == nativeName {
			b.owners[key] = s
		}
	}
}

// owns reports whether the time of a thread is that of a trace.
func (b *builder) owns(s *Source, number uint32) bool {
	t := s.Threads()[number]
	owner := b.owners[[2]int32{t.Process, t.ID}]
	return owner == nil || owner == s
}

// thread returns the place of a thread in the results. Those of two traces with one number are one.
// Those of one trace are two if their names differ, for the system reuses numbers.
func (b *builder) thread(s *Source, number uint32) int {
	if i, ok := b.places[threadOf{s, number}]; ok {
		return i
	}
	t := s.Threads()[number]
	key := [2]int32{t.Process, t.ID}
	i, ok := b.threads[key]
	if ok && b.origins[i] != s {
		// the browser has longer names of threads, and the system more exact ones of processes
		of, isNative := &b.Threads[i], s.Info().Name == nativeName
		if t.Name != "" && (of.Name == "" || !isNative) {
			of.Name = t.Name
		}
		if t.ProcessName != "" && (of.ProcessName == "" || isNative) {
			of.ProcessName = t.ProcessName
		}
		b.origins[i] = s
	} else if !ok || b.Threads[i].Name != t.Name && t.Name != "" && b.Threads[i].Name != "" {
		i = len(b.Threads)
		b.threads[key] = i
		b.Threads = append(b.Threads, result.ProfileThread{Process: int(t.Process), ID: int(t.ID), Name: t.Name,
			ProcessName: t.ProcessName, FromNS: b.from, StepNS: b.step})
		b.lanes, b.origins = append(b.lanes, lane{}), append(b.origins, s)
	}
	b.places[threadOf{s, number}] = i
	return i
}

// laneOf returns the lane of a thread, until the next thread is added; nil: another trace counts
// its time.
func (b *builder) laneOf(s *Source, number uint32) *lane {
	i := b.thread(s, number) // it may move the lanes
	if !b.owns(s, number) {
		return nil
	}
	return &b.lanes[i]
}

// lane counts a time in which a thread ran.
func (b *builder) lane(s *Source, l *lane, from, to int64) {
	if l == nil {
		return
	}
	l.sum = sum(l.sum, to-from)
	if b.step == 0 || s.Info().Clock.None {
		return
	}
	if l.steps == nil {
		if b.stepped++; b.stepped > maxLanes {
			return
		}
		l.steps = make([]int64, laneSteps+1)
	}
	from, to = s.When(from)-b.from, s.When(to)-b.from
	for k := max(from, 0) / b.step; k*b.step < to && k < int64(len(l.steps)); k++ {
		l.steps[k] += min(to, (k+1)*b.step) - max(from, k*b.step)
	}
}

// add adds the times of another lane.
func (l *lane) add(other *lane) {
	if l == nil {
		return
	}
	l.sum = sum(l.sum, other.sum)
	if l.steps == nil {
		l.steps = other.steps
		return
	}
	for k, ns := range other.steps {
		l.steps[k] += ns
	}
}
