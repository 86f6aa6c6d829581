package activity

import (
	"math"
	"slices"
)

// Unended is the end of a call that has not returned.
const Unended = math.MaxInt64

// OpenCall is a call or a slice that has begun.
type OpenCall struct {
	Function   uint32
	Begin, End int64 // End is Unended for a call
}

// Running states whether a thread is on a CPU.
type Running uint8

// The states. Traces without switches have only the first.
const (
	Unseen Running = iota
	OnCPU
	OffCPU
)

// State is the state of a thread at a time.
type State struct {
	Thread uint32
	Calls  []OpenCall // outermost first
	On     Running
	Since  int64 // begin of On
	// Off a CPU: the reason, the stack that waits, and by which thread it was woken at which time.
	Reason  Reason
	Stack   uint32
	Woken   int64 // Unended: not yet
	WokenBy uint32
	// Lost is the end of the last gap in the thread's records.
	Lost int64
}

// Step applies an event of the thread, or one of all threads.
func (s *State) Step(e Event) {
	s.end(e.At)
	switch e.Kind {
	case Out:
		s.On, s.Since, s.Reason, s.Stack, s.Woken, s.WokenBy = OffCPU, e.At, e.Value, e.Ref, Unended, 0
		switch e.Value {
		case Preempted:
			s.Woken = e.At
		case Ended:
			s.On = Unseen
		}
	case Woken:
		if s.On == OffCPU && s.Woken == Unended {
			s.Woken, s.WokenBy = e.At, e.Ref
		}
	case In:
		s.On, s.Since = OnCPU, e.At
	case Call:
		s.Calls = append(s.Calls, OpenCall{e.Ref, e.At, Unended})
	case Slice:
		s.Calls = append(s.Calls, OpenCall{e.Ref, e.At, e.At + e.Value})
	case Return:
		if i := s.caller(e.Ref); i >= 0 {
			s.Calls = s.Calls[:i]
		}
	case Lost:
		s.Lost = max(s.Lost, e.At+e.Value)
		s.On, s.Since = Unseen, e.At
	}
}

// end removes the slices that ended before or at a time.
func (s *State) end(at int64) {
	for n := len(s.Calls); n > 0 && s.Calls[n-1].End <= at; n-- {
		s.Calls = s.Calls[:n-1]
	}
}

// caller returns the place of the innermost open call of a function; -1: none.
func (s *State) caller(function uint32) int {
	for i := len(s.Calls) - 1; i >= 0; i-- {
		if s.Calls[i].Function == function && s.Calls[i].End == Unended {
			return i
		}
	}
	return -1
}

// innermost returns the place of the innermost open call; -1: none.
func (s *State) innermost() int {
	for i := len(s.Calls) - 1; i >= 0; i-- {
		if s.Calls[i].End == Unended {
			return i
		}
	}
	return -1
}

// states are those of all threads that had events.
type states struct {
	of    []State // by thread
	seen  []int   // gaps of all threads that a thread's state has, by thread
	gaps  int
	lost  Event // the last of them, with the latest end
	opens int   // open calls of all threads
}

// get returns the state of a thread, after the last gap of all threads.
func (s *states) get(thread uint32) *State {
	for int(thread) >= len(s.of) {
		s.of = append(s.of, State{Thread: uint32(len(s.of))})
		s.seen = append(s.seen, 0)
	}
	of := &s.of[thread]
	if s.seen[thread] < s.gaps {
		s.seen[thread] = s.gaps
		of.Step(s.lost)
	}
	return of
}

func (s *states) step(e Event) {
	if e.Thread == 0 {
		if e.Kind == Lost {
			e.Value = max(e.At+e.Value, s.lost.At+s.lost.Value) - e.At
			s.lost = e
			s.gaps++
		}
		return
	}
	of := s.get(e.Thread)
	before := len(of.Calls)
	of.Step(e)
	s.opens += len(of.Calls) - before
}

// begin returns states that begin with those of a block.
func begin(all []State) (s states) {
	for i := range all {
		of := s.get(all[i].Thread)
		*of = all[i]
		of.Calls = slices.Clone(of.Calls)
	}
	return s
}

// busy returns copies of the states that differ from that of a new thread.
func (s *states) busy(at int64) (all []State) {
	s.opens = 0
	for i := 1; i < len(s.of); i++ {
		of := s.get(uint32(i))
		of.end(at)
		s.opens += len(of.Calls)
		if len(of.Calls) > 0 || of.On != Unseen || of.Lost > at {
			one := *of
			one.Calls = slices.Clone(of.Calls)
			all = append(all, one)
		}
	}
	return all
}
