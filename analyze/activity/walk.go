package activity

// Visitor gets the course of a trace. Functions that are nil are not called.
type Visitor struct {
	// Piece is a time in which the state of a thread did not change.
	Piece func(s *State, from, to int64)
	// Event is called before the event is applied. The state is nil for events of all threads.
	Event func(e Event, s *State)
}

// maxGaps limits the gaps of all threads that a walk applies.
const maxGaps = 10_000

// Walk visits the course of all threads from a time to another, or to the end of the trace.
func (t *Trace) Walk(from, to int64, v Visitor) error {
	if n := len(t.blocks); n == 0 || from >= to {
		return nil
	} else if end := max(t.info.EndNS, t.blocks[n-1].last+1); to > end {
		to = end
	}
	from = max(from, t.blocks[0].first)
	states, err := t.At(from)
	if err != nil {
		return err
	}
	w := walk{Visitor: v, now: begin(states)}
	for i := range w.now.of {
		w.now.of[i].end(from)
	}
	w.from = from
	gaps := 0
	for e, err := range t.Events(from, to) {
		if err != nil {
			return err
		}
		if e.Thread > 0 {
			s := w.now.get(e.Thread)
			w.advance(s, e.At)
			if v.Event != nil {
				v.Event(e, s)
			}
			s.Step(e)
			continue
		}
		if v.Event != nil {
			v.Event(e, nil)
		}
		if gaps++; e.Kind == Lost && gaps <= maxGaps {
			w.all(e.At)
			for i := range w.now.of {
				w.now.of[i].Step(e)
			}
		}
	}
	w.all(to)
	return nil
}

type walk struct {
	Visitor
	now  states
	from int64
	seen []int64 // end of the last piece, by thread
}

func (w *walk) all(at int64) {
	for i := 1; i < len(w.now.of); i++ {
		w.advance(&w.now.of[i], at)
	}
}

// advance visits the pieces of a thread until a time. A piece ends where a slice ends.
func (w *walk) advance(s *State, at int64) {
	for int(s.Thread) >= len(w.seen) {
		w.seen = append(w.seen, w.from)
	}
	seen := &w.seen[s.Thread]
	for {
		next := at
		n := len(s.Calls)
		if n > 0 {
			next = min(next, s.Calls[n-1].End)
		}
		if next > *seen {
			if w.Piece != nil {
				w.Piece(s, *seen, next)
			}
			*seen = next
		}
		if n == 0 || s.Calls[n-1].End > at {
			return
		}
		s.Calls = s.Calls[:n-1]
	}
}
