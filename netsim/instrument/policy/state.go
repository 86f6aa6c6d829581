package policy

import (
	"cmp"
	"maps"
	"slices"
)

// Field is a number that a policy's runtime sends for points.
type Field struct{ Name, Unit string }

// Value is a claim of a page: an increment that tally sent, or a number that value sent.
type Value struct {
	Realm  int // index in the run's realms
	Point  uint32
	Field  int
	Number float64
	// At is in ns on the recording's clock. Increments have the time at which they were sent.
	At int64
}

// State collects the values of a run. Values are claims of pages. Their points and fields exist.
type State interface {
	Add(Value)
	Report(points func(number uint32) Point) Report
}

// Point is a node with insertions.
type Point struct {
	Number       uint32
	Policy, Name string // Name is a short text of the node
	URL, Hash    string // of the program
	Line, Column int    // from 1
	Start, End   uint32 // bytes of the program
	Note         string
}

// Report is a table of points.
type Report struct {
	Sentence string
	Columns  []Field
	Rows     []Row
	Left     int // rows that are left out
	Events   []Event
}

// Row has a value per column.
type Row struct {
	Point   uint32
	Values  []float64
	Verdict Verdict
	Text    string
}

// Verdict is the result of a test of a point.
type Verdict string

// The verdicts. Rows of other policies have none.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	More Verdict = "more" // more samples are needed
)

// Event is something that happened at a point. The recording gets it.
type Event struct {
	At    int64 // ns on the recording's clock
	Kind  string
	Point uint32
	Text  string
}

// maxRows limits the rows of a report.
const maxRows = 200

// table is a state with a row of numbers for each point that has values.
type table struct {
	fields  []Field
	combine func(field int, had, x float64) float64
	// finish writes the sentence and the verdicts. It gets the sums over all points.
	finish func(r *Report, sums []float64)
	order  int // the field by which rows are in descending order
	of     map[uint32][]float64
}

// newSums returns a state that adds the values of each point. The sentence gets the number of
// points with values, and the sums over all points. The first field orders the rows.
func newSums(fields []Field, sentence func(points int, sums []float64) string) State {
	finish := func(r *Report, sums []float64) { r.Sentence = sentence(len(r.Rows), sums) }
	return &table{fields: fields, combine: add, finish: finish}
}

func add(_ int, had, x float64) float64 { return had + x }

func (s *table) Add(v Value) {
	of := s.of[v.Point]
	if of == nil {
		if of = make([]float64, len(s.fields)); s.of == nil {
			s.of = map[uint32][]float64{}
		}
		s.of[v.Point] = of
	}
	of[v.Field] = s.combine(v.Field, of[v.Field], v.Number)
}

func (s *table) Report(func(uint32) Point) Report {
	r, sums := Report{Columns: s.fields}, make([]float64, len(s.fields))
	for _, n := range slices.Sorted(maps.Keys(s.of)) {
		for i, x := range s.of[n] {
			sums[i] += x
		}
		r.Rows = append(r.Rows, Row{Point: n, Values: s.of[n]})
	}
	s.finish(&r, sums)
	return r.ordered(func(a, b Row) int { return cmp.Compare(b.Values[s.order], a.Values[s.order]) })
}

// ordered returns the report with its rows in an order. It keeps maxRows.
func (r Report) ordered(compare func(a, b Row) int) Report {
	slices.SortStableFunc(r.Rows, compare)
	if n := len(r.Rows) - maxRows; n > 0 {
		r.Rows, r.Left = r.Rows[:maxRows], n
	}
	return r
}
