package trace

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sort"

	"github.com/eideticker/eideticker/capture/timeline"
)

// maxAbove bounds the callers of a call, which are looked at.
const maxAbove = 100

// Callers returns the functions that called a function within a span of the recording, the
// nearest one first. They are those of its longest time. The first one has at least three
// quarters of the self time there, or the result is empty. It is direct if it called the
// function itself. Calls that were suspended have no caller: another function may have resumed
// them. Calls count for the function that of returns. A function that calls itself is not among
// them.
func (r *Realm) Callers(function uint32, of func(uint32) uint32, from, to timeline.Time, most int) (all []uint32,
	direct bool) {
	mid := window{int64(from - r.Offset.Mid()), int64(to - r.Offset.Mid())}
	above := map[int32]int32{} // by call of the function: the nearest call of another one
	caller := func(call int32) int32 {
		p := call
		for p >= 0 && of(r.Calls[p].Function) == function {
			if known, ok := above[p]; ok {
				p = known
				break
			}
			p = r.Calls[p].Parent
		}
		for c := call; c != p; c = r.Calls[c].Parent {
			if _, ok := above[c]; ok {
				break
			}
			above[c] = p
		}
		return p
	}
	whole, calls := int64(0), map[int32]int64{}
	first := max(0, sort.Search(len(r.at), func(i int) bool { return r.at[i] > mid.from })-1)
	for i := first; i < len(r.at) && r.at[i] < mid.to; i++ {
		end := int64(never)
		if i+1 < len(r.at) {
			end = r.at[i+1]
		}
		top := r.top[i] &^ flags
		if top >= lost || of(r.Calls[top>>2].Function) != function {
			continue
		}
		ran := mid.overlap(r.at[i], end)
		whole += ran
		if call := int32(top >> 2); r.Calls[call].spans > 1 {
			continue
		} else if c := caller(call); c >= 0 {
			calls[c] += ran
		}
	}
	nearest, functions := map[uint32]int64{}, map[uint32]int64{}
	counted := map[uint32]int32{} // the last call that counted for a function
	for c, ran := range calls {
		nearest[of(r.Calls[c].Function)] += ran
		for f := range r.above(c) {
			if f = of(f); counted[f] != c+1 {
				functions[f] += ran
				counted[f] = c + 1
			}
		}
	}
	enough := func(f uint32) bool { return f != function && whole > 0 && 4*functions[f] >= 3*whole }
	mostOf := func(f uint32) bool { return 4*nearest[f] >= 3*whole }
	direct = slices.ContainsFunc(slices.Collect(maps.Keys(nearest)), mostOf)
	longest := int32(-1)
	for c, ran := range calls {
		if direct && !mostOf(of(r.Calls[c].Function)) {
			continue
		}
		if longest < 0 || cmp.Or(cmp.Compare(ran, calls[longest]), cmp.Compare(longest, c)) > 0 {
			longest = c
		}
	}
	if longest < 0 {
		return nil, false
	}
	for f := range r.above(longest) {
		f = of(f)
		if len(all) == 0 && !enough(f) || f == function || slices.Contains(all, f) {
			continue
		}
		if all = append(all, f); len(all) == most {
			break
		}
	}
	return all, direct
}

// above yields the functions of a call and of its callers, the nearest one first. The caller of an
// async function is the one that called it first.
func (r *Realm) above(call int32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for n := 0; call >= 0 && n < maxAbove && r.Calls[call].Function > 0; n++ {
			if !yield(r.Calls[call].Function) {
				return
			}
			call = r.Calls[call].Parent
		}
	}
}
