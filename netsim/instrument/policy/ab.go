package policy

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/pattern"
)

//go:embed ab.js
var abJS string

// Fields of ab for the original. Those of the replacement follow.
const (
	abCalls = iota
	abReturns
	abTimed
	abTime
	abOfVersion
)

// Replacement is another text for a function.
type Replacement struct {
	// Function is a name, or a name and a place: "slow (app.js:12)", "slow (app.js)".
	Function string
	// Text is a function expression.
	Text string
}

// AB describes the loads of an A/B test.
type AB struct {
	Replacements []Replacement
	// Share is the probability that a load runs the replacements.
	Share float64
	// A load runs the same version again with the same seed and number. A negative number is
	// replaced by a random one for each realm.
	Seed uint32
	Load int
}

// maxReplacements limits the functions of an A/B test.
const maxReplacements = 20

// NameAB is the name of the policy that needs replacements.
const NameAB = "ab"

// abPolicy lists ab. It needs replacements: see [AB.Policy].
func abPolicy() Policy {
	return Policy{
		About:   About{NameAB, "Times and exceptions of a function and of another text for it."},
		Objects: true,
		Fields: []Field{{"calls", ""}, {"returns", ""}, {"timed", ""}, {"time", "ms"},
			{"calls of B", ""}, {"returns of B", ""}, {"timed of B", ""}, {"time of B", "ms"}},
		New: func() State { return &abState{of: map[uint32]map[int]*[2 * abOfVersion]float64{}} },
	}
}

// Policy returns the policy ab for functions and their replacements.
func (o AB) Policy() (Policy, error) {
	p := abPolicy()
	switch {
	case len(o.Replacements) == 0:
		return p, errors.New("policy ab: it needs a replacement for a function")
	case len(o.Replacements) > maxReplacements:
		return p, fmt.Errorf("policy ab: %d replacements, at most %d are allowed", len(o.Replacements), maxReplacements)
	case !(o.Share >= 0 && o.Share <= 1):
		return p, fmt.Errorf("policy ab: share %g must be from 0 to 1", o.Share)
	}
	for _, r := range o.Replacements {
		named, err := parsePlace(r.Function)
		if err != nil {
			return p, fmt.Errorf("policy ab: %w", err)
		}
		line, err := oneLine(r.Text)
		if err != nil {
			return p, fmt.Errorf("policy ab: replacement of %s: %w", r.Function, err)
		}
		p.Points = append(p.Points, Points{
			Kinds:  []ecma.Kind{ecma.FunctionDeclaration, ecma.FunctionExpression, ecma.ArrowFunctionExpression},
			Select: replaceable, At: named.matches, Edit: Replace, Call: "ab", Text: line})
	}
	p.Runtime = fmt.Sprintf("const SEED=%d,LOAD=%d,SHARE=%g;\n", int32(o.Seed), o.Load, o.Share) + abJS
	return p, nil
}

// replaceable selects functions that can be called with another text. A constructor of a class has
// no object before it calls super. A generator's calls do not run it.
func replaceable(t *ecma.Tree, node int) bool {
	n := t.Nodes[node]
	if n.Flags&(ecma.Async|ecma.Generator) != 0 || isConstructor(t, node) {
		return false
	}
	if n.Kind != ecma.ArrowFunctionExpression {
		return true
	}
	for child := range t.Children(node) {
		if t.Nodes[child].Kind == ecma.Params {
			for p := range t.Children(child) {
				if t.Nodes[p].Kind != ecma.Identifier {
					return false
				}
			}
		}
	}
	return true
}

// functionPlace names a function.
type functionPlace struct {
	name, file   string
	line, column int // 0: any
}

var placed = pattern.New(`^(.+?) \((.+?)(?::(\d{1,9}))?(?::(\d{1,9}))?\)$`)

func parsePlace(text string) (p functionPlace, err error) {
	if p.name = text; text == "" || len(text) > 1000 {
		return p, fmt.Errorf("function %.40q: must be a name, such as \"slow\" or \"slow (app.js:12)\"", text)
	}
	if m := placed.FindStringSubmatch(text); m != nil {
		p.name, p.file = m[1], m[2]
		p.line, _ = strconv.Atoi(m[3]) // digits, or nothing
		p.column, _ = strconv.Atoi(m[4])
	}
	if p.name == "anonymous function" {
		p.name = "(anonymous)" // reports have other words
	}
	return p, nil
}

func (p functionPlace) matches(name, url string, line, column int) bool {
	return p.name == name && (p.line == 0 || p.line == line) && (p.column == 0 || p.column == column) &&
		(p.file == "" || url == p.file || strings.HasSuffix(url, "/"+strings.TrimPrefix(p.file, "/")))
}

// Judge compares samples. Package stats has the tests.
type Judge interface {
	// Times compares the times of loads with a version each. Text has averages with bounds.
	Times(a, b []float64) (v Verdict, text string)
	// Rates returns the probability that k of n and l of m differ so much by chance.
	Rates(k, n, l, m int) float64
}

// Judged is a state whose report needs a judge. Without one, its rows have no verdicts.
type Judged interface{ Use(Judge) }

// abState has the sums of each point and realm, which is a load.
type abState struct {
	of    map[uint32]map[int]*[2 * abOfVersion]float64
	judge Judge
}

func (s *abState) Use(j Judge) { s.judge = j }

func (s *abState) Add(v Value) {
	if s.of[v.Point] == nil {
		s.of[v.Point] = map[int]*[2 * abOfVersion]float64{}
	}
	of := s.of[v.Point][v.Realm]
	if of == nil {
		of = &[2 * abOfVersion]float64{}
		s.of[v.Point][v.Realm] = of
	}
	of[v.Field] += v.Number
}

// maxCounted limits the claims of pages. A test of rates takes time in proportion to it.
const maxCounted = 1e6

// version sums the loads of a version.
type version struct {
	loads         []float64 // mean time of a call, in ms
	calls, thrown int
}

func versionOf(realms map[int]*[2 * abOfVersion]float64, first int) (v version) {
	calls, returns := 0.0, 0.0
	for _, realm := range slices.Sorted(maps.Keys(realms)) {
		of := realms[realm][first : first+abOfVersion]
		if of[abTimed] > 0 {
			v.loads = append(v.loads, of[abTime]/of[abTimed])
		}
		calls += of[abCalls]
		returns += of[abReturns]
	}
	v.calls = int(min(max(0, calls), maxCounted))
	v.thrown = int(min(max(0, calls-returns), float64(v.calls)))
	return v
}

func (v *version) mean() float64 {
	sum := 0.0
	for _, x := range v.loads {
		sum += x
	}
	return sum / float64(max(len(v.loads), 1))
}

// worseRate is the probability below which more exceptions are a failure.
const worseRate = 0.05

// Report compares the versions.
func (s *abState) Report(func(uint32) Point) Report {
	r := Report{Columns: []Field{{"loads", ""}, {"calls", ""}, {"exceptions", ""}, {"mean", "ms"}, {"loads of B", ""},
		{"calls of B", ""}, {"exceptions of B", ""}, {"mean of B", "ms"}}}
	counts := map[Verdict]int{}
	for _, n := range slices.Sorted(maps.Keys(s.of)) {
		a, b := versionOf(s.of[n], 0), versionOf(s.of[n], abOfVersion)
		row := Row{Point: n, Values: append(a.values(), b.values()...), Verdict: More}
		switch {
		case len(a.loads) == 0:
			row.Text = "only the replacement ran"
		case len(b.loads) == 0:
			row.Text = "only the original ran"
		case s.judge != nil:
			row.Verdict, row.Text = s.judge.Times(a.loads, b.loads)
			if p := s.judge.Rates(a.thrown, a.calls, b.thrown, b.calls); p < worseRate {
				row.Text += fmt.Sprintf("; exceptions differ: %d of %d calls, and %d of %d", a.thrown, a.calls,
					b.thrown, b.calls)
				if float64(b.thrown)*float64(a.calls) > float64(a.thrown)*float64(b.calls) {
					row.Verdict = Fail
				}
			}
		}
		counts[row.Verdict]++
		r.Rows = append(r.Rows, row)
	}
	if len(r.Rows) == 0 {
		r.Sentence = "No function with a replacement ran. Its name must be that of a report, such as slow (app.js:12)."
		return r
	}
	r.Sentence = fmt.Sprintf("Replaced functions that ran: %d. Better or equal: %d. Worse: %d. Undecided: %d.",
		len(r.Rows), counts[Pass], counts[Fail], counts[More])
	return r
}

func (v *version) values() []float64 {
	return []float64{float64(len(v.loads)), float64(v.calls), float64(v.thrown), v.mean()}
}

// ABRun returns the values of a run that is a load, from a row of its report. Reports of several
// runs come from one state: each run is a realm.
func ABRun(row []float64) (all []float64) {
	const loads, calls, thrown, mean, columns = 0, 1, 2, 3, 4
	for v := 0; v+columns <= len(row) && v < 2*columns; v += columns {
		all = append(all, row[v+calls], row[v+calls]-row[v+thrown], min(row[v+loads], 1), row[v+mean])
	}
	return all
}
