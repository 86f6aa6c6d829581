package frames

import (
	"cmp"
	"slices"

	"github.com/eideticker/eideticker/analyze/result"
)

// finish sorts and limits the lists.
func (b *builder) finish() {
	for i := range b.Threads {
		t := &b.Threads[i]
		t.RunningNS = b.lanes[i].sum
		for k, ns := range b.lanes[i].steps {
			if int64(k)*b.step+b.from < b.last() {
				t.Lane = append(t.Lane, uint8(max(0, min(100, ns/max(b.step/100, 1)))))
			}
		}
	}
	threads := b.order(len(b.Threads), result.MaxThreads, b.threadUses(), func(i, k int) int {
		return cmp.Compare(b.Threads[k].RunningNS, b.Threads[i].RunningNS)
	})
	b.Threads = picked(b.Threads, threads)
	functions := b.order(len(b.Functions), result.MaxProfileFunctions, b.functionUses(), func(i, k int) int {
		return cmp.Or(cmp.Compare(b.Functions[k].SelfNS, b.Functions[i].SelfNS),
			cmp.Compare(b.Functions[k].TotalNS, b.Functions[i].TotalNS))
	})
	b.Functions = picked(b.Functions, functions)
	b.renumber(placesOf(threads), placesOf(functions))
	slices.SortStableFunc(b.Events, func(a, b result.ProfileEvent) int {
		return cmp.Compare(a.EarliestNS, b.EarliestNS)
	})
	if left := len(b.Events) - result.MaxProfileEvents; left > 0 {
		b.Events, b.EventsLeft = b.Events[:result.MaxProfileEvents], b.EventsLeft+int64(left)
	}
	b.Warnings = b.Warnings[:min(len(b.Warnings), result.MaxGaps)]
}

func (b *builder) last() (ns int64) {
	for _, t := range b.Traces {
		ns = max(ns, t.EndNS)
	}
	return ns
}

// order returns the used ones and then the first others, up to a limit, in order.
func (b *builder) order(n, most int, used map[int]bool, compare func(i, k int) int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, compare)
	others := most - len(used)
	return slices.DeleteFunc(all, func(i int) bool {
		if !used[i] {
			others--
		}
		most--
		return most < 0 || !used[i] && others < 0
	})
}

func picked[T any](all []T, order []int) []T {
	chosen := make([]T, len(order))
	for k, i := range order {
		chosen[k] = all[i]
	}
	return chosen
}

// placesOf returns the new places by the old ones.
func placesOf(order []int) map[int]int {
	places := map[int]int{}
	for k, i := range order {
		places[i] = k
	}
	return places
}

// functionUses returns the functions that other parts refer to.
func (b *builder) functionUses() map[int]bool {
	used := map[int]bool{}
	b.eachFunction(func(i *int) { used[*i] = true })
	delete(used, -1)
	return used
}

// threadUses returns the threads of late frames.
func (b *builder) threadUses() map[int]bool {
	used := map[int]bool{}
	for _, l := range b.Late {
		for _, a := range l.Threads {
			used[a.Thread] = true
		}
		for _, w := range l.Work {
			used[w.Thread] = true
		}
	}
	return used
}

func (b *builder) eachFunction(f func(*int)) {
	var nodes func([]result.ProfileNode)
	nodes = func(all []result.ProfileNode) {
		for i := range all {
			f(&all[i].Function)
			nodes(all[i].Callers)
		}
	}
	for i := range b.Late {
		for k := range b.Late[i].Threads {
			a := &b.Late[i].Threads[k]
			f(&a.Function)
			nodes(a.Tree)
			for n := range a.Waits {
				for m := range a.Waits[n].Functions {
					f(&a.Waits[n].Functions[m])
				}
			}
		}
	}
	for i := range b.Tests {
		f(&b.Tests[i].Function)
	}
}

func (b *builder) eachThread(f func(*int)) {
	for i := range b.Late {
		for k := range b.Late[i].Threads {
			a := &b.Late[i].Threads[k]
			f(&a.Thread)
			for n := range a.Waits {
				f(&a.Waits[n].WokenBy)
			}
		}
		for k := range b.Late[i].Work {
			f(&b.Late[i].Work[k].Thread)
		}
	}
	for i := range b.Events {
		if i < result.MaxProfileEvents {
			f(&b.Events[i].Thread)
		}
	}
}

// renumber replaces places in lists by new ones. Those that are left out become -1.
func (b *builder) renumber(threads, functions map[int]int) {
	replace := func(places map[int]int) func(*int) {
		return func(i *int) {
			k, ok := places[*i]
			if *i = k; !ok {
				*i = -1
			}
		}
	}
	b.eachThread(replace(threads))
	b.eachFunction(replace(functions))
}
