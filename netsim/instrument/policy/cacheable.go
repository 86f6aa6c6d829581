package policy

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"github.com/eideticker/eideticker/netsim/ecma"
)

//go:embed cacheable.js
var cacheableJS string

// Fields of cacheable, for the calls of a function. Times are in ms.
const (
	cacheCalls = iota
	cacheHits
	cacheMismatches
	cacheTime
	cacheSaved
	cacheSkipped
	cacheKeys
)

// cacheablePolicy finds functions whose equal arguments are always followed by equal results.
func cacheablePolicy() Policy {
	functions := []ecma.Kind{ecma.FunctionDeclaration, ecma.FunctionExpression, ecma.ArrowFunctionExpression}
	return Policy{
		About: About{"cacheable", "Functions whose results depend on their arguments only, and savings of a cache."},
		Points: []Points{{Kinds: functions, Select: returnsValue, Edit: Frame, Call: "cached", Note: hints,
			This: true}},
		Runtime: cacheableJS,
		Fields: []Field{{"calls", ""}, {"hits", ""}, {"mismatches", ""}, {"time", "ms"}, {"saved", "ms"},
			{"skipped", ""}, {"keys", ""}},
		New:     func() State { return &cacheState{table{fields: cacheablePolicy().Fields, combine: add}} },
		Objects: true,
	}
}

// returnsValue selects functions that may be cacheable: they return a value at once, all parameters
// are plain names, and neither arguments nor a constructor's object are read.
func returnsValue(t *ecma.Tree, node int) bool {
	n := t.Nodes[node]
	if n.Flags&(ecma.Async|ecma.Generator) != 0 || node-int(n.First) > maxHinted || isConstructor(t, node) {
		return false
	}
	isArrow := n.Kind == ecma.ArrowFunctionExpression
	returns := n.Flags&ecma.Expression != 0
	for child := range t.Children(node) {
		if t.Nodes[child].Kind != ecma.Params {
			continue
		}
		for p := range t.Children(child) {
			if t.Nodes[p].Kind != ecma.Identifier {
				return false
			}
		}
	}
	return !contains(t, node, func(i int) bool {
		switch inner := t.Nodes[i]; inner.Kind {
		case ecma.ReturnStatement:
			returns = returns || inner.Flags&ecma.Argument != 0
		case ecma.ThisExpression, ecma.Super:
			return isArrow
		case ecma.MetaProperty:
			return true
		case ecma.Identifier:
			return t.Text(i) == "arguments"
		}
		return false
	}) && returns
}

// isConstructor reports whether a function is the constructor of a class.
func isConstructor(t *ecma.Tree, node int) bool {
	return node+1 < len(t.Nodes) && t.Nodes[node+1].Kind == ecma.MethodDefinition &&
		t.Text(t.FirstChild(node+1)) == "constructor"
}

// cacheState has the sums of each function.
type cacheState struct{ table }

// Report lists the functions that ran. The sentence is the way to the cacheable ones.
func (s *cacheState) Report(points func(uint32) Point) Report {
	r := Report{Columns: []Field{{"calls", ""}, {"hit rate", "%"}, {"mean", "ms"}, {"saving", "ms"}}}
	repeated, equal, pure, saving := 0, 0, 0, 0.0
	for _, n := range slices.Sorted(maps.Keys(s.of)) {
		v := s.of[n]
		compared := v[cacheHits] + v[cacheMismatches]
		measured := max(v[cacheHits]+v[cacheMismatches]+v[cacheKeys], 1)
		row := Row{Point: n, Values: []float64{v[cacheCalls], 100 * v[cacheHits] / max(v[cacheCalls], 1),
			v[cacheTime] / measured, 0}}
		if compared > 0 {
			repeated++
		}
		note := points(n).Note
		switch {
		case v[cacheMismatches] > 0:
			row.Verdict, row.Text = Fail, "equal arguments had other results"
		case compared == 0:
			row.Verdict, row.Text = More, "no call had the arguments of another"
		default:
			equal++
			row.Values[3] = v[cacheSaved]
			if row.Verdict = Pass; note != "" {
				row.Verdict, row.Text = More, "side effects possible: "+note
			} else {
				pure++
				saving += v[cacheSaved]
			}
		}
		r.Rows = append(r.Rows, row)
	}
	r.Sentence = fmt.Sprintf("Functions that ran: %d → with repeated arguments: %d → whose results were always equal: "+
		"%d → without a sign of side effects: %d. A cache for the last ones saves at most %.3g ms.",
		len(s.of), repeated, equal, pure, saving)
	return r.ordered(func(a, b Row) int {
		return cmp.Or(cmp.Compare(rank[a.Verdict], rank[b.Verdict]), cmp.Compare(b.Values[3], a.Values[3]),
			cmp.Compare(b.Values[0], a.Values[0]))
	})
}

// rank orders verdicts in a report.
var rank = map[Verdict]int{Pass: 0, More: 1, Fail: 2}
