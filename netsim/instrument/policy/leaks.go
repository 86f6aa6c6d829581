package policy

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"github.com/eideticker/eideticker/netsim/ecma"
)

//go:embed leaks.js
var leaksJS string

// Fields of leaks, for the stores of a place.
const (
	leakStores = iota
	leakNodes
	leakCycles
	leakDetached
	leakCollected
	leakKept
	leakUnchecked
)

// leaksPolicy searches for nodes of documents that stores in fields keep alive. Each load tests a
// tenth of the stores.
func leaksPolicy() Policy {
	return Policy{
		About: About{"leaks", "Nodes that left the document and stay in memory, with the store that keeps them."},
		Points: []Points{{Kinds: []ecma.Kind{ecma.AssignmentExpression}, Select: storesObject, Edit: Store,
			Call: "store"}},
		Runtime: leaksJS,
		Fields: []Field{{"stores", ""}, {"nodes", ""}, {"cycles", ""}, {"detached", ""}, {"collected", ""},
			{"kept", ""}, {"unchecked", ""}},
		New:     func() State { return &leakState{table{fields: leaksPolicy().Fields, combine: add}} },
		Share:   0.1,
		Objects: true,
	}
}

// storesObject selects stores whose value may be an object.
func storesObject(t *ecma.Tree, node int) bool {
	if t.Operator(node) != "=" || t.Nodes[t.FirstChild(node)].Kind != ecma.MemberExpression {
		return false
	}
	value := node - 1
	for t.Nodes[value].Kind == ecma.ParenthesizedExpression {
		value--
	}
	switch t.Nodes[value].Kind {
	case ecma.Literal, ecma.TemplateLiteral, ecma.UnaryExpression, ecma.UpdateExpression, ecma.BinaryExpression:
		return false
	}
	return true
}

// leakState has the sums of each store.
type leakState struct{ table }

func (s *leakState) Report(func(uint32) Point) Report {
	r := Report{Columns: s.fields}
	counts := map[Verdict]int{}
	for _, n := range slices.Sorted(maps.Keys(s.of)) {
		row := Row{Point: n, Values: s.of[n]}
		v := row.Values
		if v[leakNodes] <= 0 && v[leakCycles] <= 0 {
			continue // it stored no nodes
		}
		switch {
		case v[leakKept] > 0:
			row.Verdict, row.Text = Fail, "proved: the stored object keeps detached nodes"
		case v[leakCycles] > 0:
			row.Verdict, row.Text = More, "suspected: a cycle through a node"
		case v[leakDetached] <= 0:
			row.Verdict, row.Text = More, "no node left the document"
		case v[leakCollected] < v[leakDetached]:
			row.Verdict, row.Text = More, "some nodes were not collected yet, or something else keeps them"
		default:
			row.Verdict = Pass
		}
		counts[row.Verdict]++
		r.Rows = append(r.Rows, row)
	}
	r.Sentence = fmt.Sprintf("Stores that ran: %d → with nodes: %d → that keep detached nodes: %d. "+
		"Without leaks: %d. Undecided: %d.", len(s.of), len(r.Rows), counts[Fail], counts[Pass], counts[More])
	return r.ordered(func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Values[leakKept], a.Values[leakKept]),
			cmp.Compare(b.Values[leakCycles], a.Values[leakCycles]),
			cmp.Compare(b.Values[leakDetached], a.Values[leakDetached]))
	})
}
