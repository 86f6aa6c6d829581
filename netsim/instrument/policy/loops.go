package policy

import (
	_ "embed"
	"fmt"

	"github.com/eideticker/eideticker/netsim/ecma"
)

//go:embed loops.js
var loopsJS string

// loopIterations is the first field of loops.
const loopIterations = 0

// loopsPolicy warns of loops with many iterations or a long time in one task. A function that calls
// itself counts as a loop.
func loopsPolicy() Policy {
	loops := []ecma.Kind{ecma.ForStatement, ecma.WhileStatement, ecma.DoWhileStatement, ecma.ForInStatement,
		ecma.ForOfStatement}
	functions := []ecma.Kind{ecma.FunctionDeclaration, ecma.FunctionExpression, ecma.ArrowFunctionExpression}
	fields := []Field{{"iterations", ""}, {"last run", "ms"}}
	return Policy{
		About: About{"loops", "Loops and recursion with a million iterations or 2 s in one task."},
		Points: []Points{{Kinds: loops, Edit: Loop, Call: "lp"},
			{Kinds: functions, Select: callsItself, Edit: Head, Call: "fn"}},
		Runtime: loopsJS,
		Fields:  fields,
		New:     func() State { return newLoopState(fields) },
	}
}

// maxBody limits the nodes in which a function may call itself.
const maxBody = 20_000

// callsItself reports whether a function contains a call of its name.
func callsItself(t *ecma.Tree, node int) bool {
	name := t.FunctionName(node)
	first := int(t.Nodes[node].First)
	if name == "" || node-first > maxBody {
		return false
	}
	for i := first; i < node; i++ {
		if t.Nodes[i].Kind != ecma.CallExpression {
			continue
		}
		if callee := t.Text(t.FirstChild(i)); callee == name || callee == "this."+name {
			return true
		}
	}
	return false
}

// maxLoopEvents limits the events of a run.
const maxLoopEvents = 500

// loopState has the largest values of each loop that was warned of.
type loopState struct {
	table
	events []Event
}

func newLoopState(fields []Field) State {
	s := &loopState{}
	s.fields, s.combine = fields, func(_ int, had, x float64) float64 { return max(had, x) }
	s.finish = func(r *Report, _ []float64) {
		for i := range r.Rows {
			r.Rows[i].Verdict = Fail
		}
		r.Events = s.events
		switch n := len(r.Rows); n {
		case 0:
			r.Sentence = "Each loop ran for less than a million iterations and 2 s in a task."
		case 1:
			r.Sentence = "1 loop ran for a million iterations or 2 s in a task."
		default:
			r.Sentence = fmt.Sprintf("%d loops ran for a million iterations or 2 s in a task.", n)
		}
	}
	return s
}

func (s *loopState) Add(v Value) {
	if v.Field == loopIterations && len(s.events) < maxLoopEvents {
		s.events = append(s.events, Event{At: v.At, Kind: "loop", Point: v.Point,
			Text: fmt.Sprintf("%.0f iterations", v.Number)})
	}
	s.table.Add(v)
}
