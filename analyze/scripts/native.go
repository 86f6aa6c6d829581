package scripts

import (
	"cmp"
	"slices"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/trace"
)

// leastShare is the inverse of the part of a function's self time from which on a call is listed.
const leastShare = 20

// callerOf returns the slow function for which the self time of a call counts. Functions count for
// themselves.
func (r *Run) callerOf(number uint32) uint32 {
	_, f := r.Function(number)
	if f == nil || f.Caller == 0 {
		return number
	}
	if _, caller := r.Function(f.Caller); caller == nil || caller.Caller > 0 {
		return number
	}
	return f.Caller
}

// withNatives returns times by function, longest first. Those of calls in slow functions count for
// these functions, and are returned by them.
func (r *Run) withNatives(all []trace.Share) (functions []trace.Share, natives map[uint32][]trace.Share) {
	natives, index := map[uint32][]trace.Share{}, map[uint32]int{}
	for _, s := range all {
		caller := r.callerOf(s.Function)
		if caller != s.Function {
			natives[caller] = append(natives[caller], s)
		}
		i, ok := index[caller]
		if !ok {
			i = len(functions)
			index[caller] = i
			functions = append(functions, trace.Share{Function: caller})
		}
		of := &functions[i].Self
		of.Value, of.Low, of.High = of.Value+s.Self.Value, of.Low+s.Self.Low, of.High+s.Self.High
	}
	slices.SortStableFunc(functions, longer)
	for _, of := range natives {
		slices.SortStableFunc(of, longer)
	}
	return functions, natives
}

func longer(a, b trace.Share) int { return cmp.Compare(b.Self.Value, a.Self.Value) }

// nativeOf describes a call in a slow function.
func (r *Run) nativeOf(s trace.Share) result.NativeCall {
	_, f := r.Function(s.Function)
	return result.NativeCall{Name: f.Name, Line: f.Line, Column: f.Column, Self: span(s.Self)}
}
