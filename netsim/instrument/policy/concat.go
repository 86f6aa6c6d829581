package policy

import (
	_ "embed"
	"fmt"
	"math"

	"github.com/eideticker/eideticker/netsim/ecma"
)

//go:embed concat.js
var concatJS string

// Fields of concat. Times are those of 10,000 pieces in the page's browser.
const (
	concatDepth = iota
	concatBytes
	concatPlus
	concatJoin
)

// concatPolicy warns of strings that grow by many concatenations.
func concatPolicy() Policy {
	kinds := []ecma.Kind{ecma.BinaryExpression, ecma.AssignmentExpression}
	fields := []Field{{"warned at depth", ""}, {"bytes", "B"}, {"+", "ms"}, {"join", "ms"}}
	return filter(Policy{
		About:   About{"concat", "Strings that grow by more than 100 concatenations, and the bytes of each place."},
		Points:  []Points{{Kinds: kinds, Select: isSum, Edit: Right, Call: "cat"}},
		Runtime: concatJS,
		Fields:  fields,
		New:     func() State { return newConcatState(fields) },
	}, mayConcatenate)
}

func isSum(t *ecma.Tree, node int) bool {
	op := t.Operator(node)
	return op == "+" || op == "+="
}

// mayConcatenate leaves out sums with a number in the source.
func mayConcatenate(t *ecma.Tree, node int) bool {
	for child := range t.Children(node) {
		first := t.Text(child)[0]
		if t.Nodes[child].Kind == ecma.Literal && (first == '.' || first >= '0' && first <= '9') {
			return false
		}
	}
	return true
}

// concatLimit is the largest depth without a warning.
const concatLimit = 100

// concatState has the largest depth and the bytes of each place, and the shortest times.
type concatState struct {
	table
	plus, join float64
}

func newConcatState(fields []Field) State {
	s := &concatState{plus: math.Inf(1), join: math.Inf(1)}
	s.fields, s.order = fields[:concatPlus], concatBytes
	s.combine = func(field int, had, x float64) float64 {
		if field == concatDepth {
			return max(had, x)
		}
		return had + x
	}
	s.finish = s.describe
	return s
}

func (s *concatState) Add(v Value) {
	switch v.Field {
	case concatPlus:
		s.plus = min(s.plus, v.Number)
	case concatJoin:
		s.join = min(s.join, v.Number)
	default:
		s.table.Add(v)
	}
}

func (s *concatState) describe(r *Report, sums []float64) {
	deep := 0
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Values[concatDepth] > concatLimit {
			row.Verdict = Fail
			deep++
		}
	}
	r.Sentence = fmt.Sprintf("Places whose strings grew by more than %d concatenations: %d. All places made %.0f kB.",
		concatLimit, deep, sums[concatBytes]/1000)
	if !math.IsInf(s.plus, 1) && !math.IsInf(s.join, 1) {
		r.Sentence += fmt.Sprintf(" 10,000 pieces took %.2f ms with + and %.2f ms with join in this browser.",
			s.plus, s.join)
	}
}
