package trace

import "github.com/eideticker/eideticker/netsim/instrument/record"

// Step is a change of the stack by one call.
type Step struct {
	At   int64
	Call int32 // index in the realm's calls
	Kind StepKind
}

// StepKind is the kind of a change of the stack.
type StepKind uint8

// The kinds of steps. A call that ended before its finally block continues without a step.
const (
	Called StepKind = iota
	Resumed
	Returned
	Suspended
	Threw
	Unknown // its end is unknown
)

// Steps calls step for each change of the stack and note for each note, in the order of the
// records. It returns false when one of them does.
func (r *Realm) Steps(step func(Step) bool, note func(Note) bool) bool {
	type frame struct {
		call      int32
		continued bool
	}
	var stack []frame
	notes := r.Notes
	pop := func(at int64, kind StepKind) bool {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return top.continued || step(Step{at, top.call, kind})
	}
	for i, at := range r.at {
		for ; len(notes) > 0 && notes[0].step <= i; notes = notes[1:] {
			if !note(notes[0]) {
				return false
			}
		}
		top, code := r.top[i]&^flags, r.codes[i]
		switch r.top[i] & flags {
		case extra:
			continue
		case pushed:
			call, kind := int32(top>>2), Called
			if code == record.Resume {
				kind = Resumed
			}
			continued := code == record.Caught || code == record.Reopen
			stack = append(stack, frame{call, continued})
			if !continued && !step(Step{at, call, kind}) {
				return false
			}
			continue
		case closed:
			kind := Returned
			if code == record.Suspend {
				kind = Suspended
			}
			if len(stack) > 0 && !pop(at, kind) {
				return false
			}
		}
		for len(stack) > 0 && (top >= lost || stack[len(stack)-1].call != int32(top>>2)) {
			kind := Unknown
			if top != lost {
				if kind = Suspended; r.Calls[stack[len(stack)-1].call].Threw { // else in a for await
					kind = Threw
				}
			}
			if !pop(at, kind) {
				return false
			}
		}
	}
	for _, n := range notes {
		if !note(n) {
			return false
		}
	}
	return true
}
