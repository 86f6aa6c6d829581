package export_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/export"
	"github.com/eideticker/eideticker/analyze/result"
)

// text returns all files.
func text(t *testing.T, files []*export.File, err error) string {
	t.Helper()
	var out strings.Builder
	for _, f := range files {
		err = errors.Join(err, f.Write(&out))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestGrinderIsExact passes calls of two threads to a grinder and to an index. The calls have more
// different stacks than a tree has nodes. Both write the same counts and times, those of the truth.
func TestGrinderIsExact(t *testing.T) {
	dir, random := t.TempDir(), rand.New(rand.NewPCG(3, 4))
	w, err := activity.NewWriter(dir, activity.Info{Clock: activity.Clock{Exact: true}})
	if err != nil {
		t.Fatal(err)
	}
	g := export.NewGrinder()
	var ids [2][]uint32
	for i, to := range []activity.Sink{w, g} {
		for k := range 2 {
			to.Thread(activity.Thread{Process: 1, ID: int32(k + 1)})
		}
		ids[i] = append(ids[i], 0)
		for k := range 40 {
			ids[i] = append(ids[i], to.Function(activity.Function{Name: fmt.Sprint("f", k+1), Lang: activity.Native}))
		}
		for k := range 2 { // unnamed functions of a module are one
			one := activity.Function{Module: "m", Offset: uint64(k + 1), Lang: activity.Native}
			ids[i] = append(ids[i], to.Function(one))
		}
	}
	name := func(i int) string {
		if i > 40 {
			return "(unnamed) m"
		}
		return fmt.Sprint("f", i)
	}
	edges, self, inclusive, at := map[string]int64{}, map[string]int64{}, map[string]int64{}, int64(1000)
	spend := func(stack []int, ns int64) { // the caller's time is that of each of its outermost calls
		var inner []int32
		for i := len(stack) - 1; i >= 0; i-- {
			inner = append(inner, int32(min(stack[i], 41)))
		}
		caller := "(thread)"
		for _, i := range export.Outermost(nil, inner) {
			inclusive[caller+" > "+name(int(i))] += ns
			caller = name(int(i))
		}
		self[caller] += ns
	}
	put := func(thread uint32, kind activity.Kind, i int) {
		for k, to := range []activity.Sink{w, g} {
			e := activity.Event{At: at, Thread: thread, Kind: kind, Ref: ids[k][i]}
			if err := to.Event(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	var open, nodes [3][]int // nodes are those of the open calls in the tree of all paths
	var last [3]int64
	var tree [3]map[[2]int]int
	for i := range tree {
		tree[i], nodes[i] = map[[2]int]int{}, []int{0}
	}
	for range 700_000 {
		thread := 1 + random.Uint32N(2)
		stack := open[thread]
		if n := len(stack); n > 0 {
			spend(stack, at-last[thread])
		}
		last[thread] = at
		if n := len(stack); n == 0 || n < 30 && random.IntN(100) < 55 {
			i, caller := 1+random.IntN(42), "(thread)"
			if n > 0 {
				caller = name(stack[n-1])
			}
			edges[caller+" > "+name(i)]++
			put(thread, activity.Call, i)
			open[thread] = append(stack, i)
			key := [2]int{nodes[thread][len(stack)], min(i, 41)}
			if _, ok := tree[thread][key]; !ok {
				tree[thread][key] = len(tree[thread]) + 1
			}
			nodes[thread] = append(nodes[thread][:len(stack)+1], tree[thread][key])
		} else {
			put(thread, activity.Return, stack[n-1])
			open[thread] = stack[:n-1]
		}
		at += random.Int64N(100)
	}
	for thread := range uint32(3) {
		for n := len(open[thread]); n > 0; n-- {
			if n == len(open[thread]) {
				spend(open[thread], at-last[thread])
			}
			put(thread, activity.Return, open[thread][n-1])
		}
	}
	if len(tree[1]) <= export.MaxNodes || len(tree[2]) <= export.MaxNodes {
		t.Fatalf("%d and %d paths fit in a tree", len(tree[1]), len(tree[2]))
	}
	info, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	trace, err := activity.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	of := export.Selection{Trace: trace, Frames: []result.FrameSpan{{FromNS: info.BeginNS, ToNS: info.EndNS + 1}}}
	direct, err := g.Files(info)
	got := text(t, direct, err)
	files, err := of.Callgrind()
	if indexed := text(t, files, err); indexed != got {
		t.Errorf("%d bytes, the index has %d others", len(got), len(indexed))
	}
	counted, cost, within := map[string]int64{}, map[string]int64{}, map[string]int64{}
	names, caller, callee, called := map[string]string{}, "", "", false
	function := regexp.MustCompile(`^(c?)fn=(\(\d+\))(?: (.*) #\d+| (.*))?$`)
	for line := range strings.Lines(got) {
		line = strings.TrimSpace(line)
		if m := function.FindStringSubmatch(line); m != nil {
			if m[3]+m[4] != "" {
				names[m[2]] = m[3] + m[4]
			}
			if m[1] == "" {
				caller = names[m[2]]
			} else {
				callee = names[m[2]]
			}
		} else if line == "" {
			caller = ""
		} else if n, ok := strings.CutPrefix(line, "calls="); ok {
			n, _, _ = strings.Cut(n, " ")
			calls, _ := strconv.ParseInt(n, 10, 64)
			counted[caller+" > "+callee] += calls
			called = true
		} else if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "0" {
			if ns, _ := strconv.ParseInt(fields[1], 10, 64); called {
				within[caller+" > "+callee] += ns
			} else {
				cost[caller] += ns
			}
			called = false
		}
	}
	none := func(_ string, n int64) bool { return n == 0 } // recursions alone have no calls, or no time
	maps.DeleteFunc(counted, none)
	maps.DeleteFunc(within, none)
	maps.DeleteFunc(inclusive, none)
	equal(t, "calls", counted, edges)
	equal(t, "own time", cost, self)
	equal(t, "inclusive time", within, inclusive)
}
