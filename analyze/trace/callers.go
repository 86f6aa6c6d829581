package trace

import (
	"cmp"
	"slices"
	"sort"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Callers returns the functions that called a function within a span of the recording, the nearest
// one first. They are those of its longest time. The nearest one has at least three quarters of the
// self time there, or the result is empty. Calls that were suspended have no caller: another
// function may have resumed them. Calls count for the function that of returns. A function that
// calls itself is not among them.
func (r *Realm) Callers(function uint32, of func(uint32) uint32, from, to timeline.Time, most int) (all []uint32) {
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
	whole, functions, calls := int64(0), map[uint32]int64{}, map[int32]int64{}
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
			functions[of(r.Calls[c].Function)] += ran
		}
	}
	longest := int32(-1)
	for c, ran := range calls {
		if n := functions[of(r.Calls[c].Function)]; 4*n >= 3*whole && whole > 0 && (longest < 0 ||
			cmp.Or(cmp.Compare(ran, calls[longest]), cmp.Compare(longest, c)) > 0) {
			longest = c
		}
	}
	for c := longest; c >= 0 && len(all) < most && r.Calls[c].Function > 0; c = r.Calls[c].Parent {
		if f := of(r.Calls[c].Function); f != function && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}
