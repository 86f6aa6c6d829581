package export

import (
	"fmt"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
)

// Outermost and MaxNodes are for tests.
var Outermost = outermost

const MaxNodes = maxNodes

// TestGrinderBoundsAllThreads: no thread alone has many nodes, and each ends. All calls count.
func TestGrinderBoundsAllThreads(t *testing.T) {
	const threads, functions = 56, maxNodes / 2
	g := NewGrinder()
	for i := range functions {
		g.Function(activity.Function{Module: "m", Name: fmt.Sprint("f", i), Lang: activity.Native})
	}
	calls, at := int64(0), int64(0)
	for i := range threads {
		one, nodes := g.Thread(activity.Thread{Process: 1, ID: int32(i + 1)}), 0
		for f := range uint32(functions) {
			for _, kind := range []activity.Kind{activity.Call, activity.Return} {
				if err := g.Event(activity.Event{At: at, Thread: one, Kind: kind, Ref: f + 1}); err != nil {
					t.Fatal(err)
				}
				at++
			}
			calls++
		}
		for _, c := range g.grinder.threads {
			if c != nil {
				nodes += cap(c.calls.nodes)
			}
		}
		if nodes > maxAllNodes*3/2 {
			t.Fatalf("%d threads have room for %d nodes", i+1, nodes)
		}
	}
	files, err := g.Files(activity.Info{})
	if err != nil || len(files) != threads {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var ran int64
	for _, c := range g.grinder.threads {
		if c != nil {
			ran += c.calls.ran
		}
	}
	if ran != calls {
		t.Errorf("%d calls of 1 ns ran for %d ns", calls, ran)
	}
}

// TestFullGrinder: calls of a thread beyond the limit end the reading.
func TestFullGrinder(t *testing.T) {
	g := NewGrinder()
	for i := range activity.MaxThreads + 1 {
		one := g.Thread(activity.Thread{Process: 1, ID: int32(i + 1)})
		err := g.Event(activity.Event{Thread: one, Kind: activity.Return})
		if full := i == activity.MaxThreads; full != (err != nil) {
			t.Fatalf("thread %d: %v", i+1, err)
		}
	}
}
