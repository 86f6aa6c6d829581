package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// State says how far a result or a value can be trusted.
type State string

const (
	Exact   State = "exact"   // it is the value
	Bounded State = "bounded" // it lies between Low and High
	// Suspected: it counts what looks like what it is named for, and may be something else. It lies
	// between Low and High all the same.
	Suspected State = "suspected"
	Refused   State = "refused" // it was not measured; Refusal says why
)

// Better says which direction of a value users are glad of.
type Better string

const (
	Higher  Better = "higher"
	Lower   Better = "lower"
	Neither Better = "neither"
)

// WorstCase is in the note of a value with bounds for the worst case. They cover everything that
// lost frames may have shown.
const WorstCase = "bounds are the worst case over lost frames"

// TooFew is in the warning of a result that lacks a value since there are too few samples for it.
const TooFew = "are too few for"

// Value is one number of a result. All are finite.
type Value struct {
	Name  string  `json:"name"` // unique within its result, such as "framerate"
	Unit  string  `json:"unit"` // "frames/s", "ms", "frames", for example
	Value float64 `json:"value"`
	Low   float64 `json:"low"` // bounds; equal to Value where State is Exact
	High  float64 `json:"high"`
	State State   `json:"state"`
	// Better and Threshold are for comparing: by which fraction of itself a value may differ before
	// anybody cares.
	Better    Better  `json:"better"`
	Threshold float64 `json:"threshold"`
	Frames    []int   `json:"frames"` // that prove it; empty where it is about all
	Note      string  `json:"note,omitempty"`
	// Text is the value with its unit, BoundsText its bounds, as all reports print them. Package
	// result fills them in.
	Text       string `json:"text,omitempty"`
	BoundsText string `json:"bounds_text,omitempty"`
	// Meaning is a sentence from package glossary.
	Meaning string `json:"meaning,omitempty"`
}

// Series is a value for each of some frames.
type Series struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Holds  bool      `json:"holds"`  // a value holds until the next; else frames between have none
	Frames []int     `json:"frames"` // numbers, ascending
	Values []float64 `json:"values"` // one for each
}

// Evidence is a frame that shows something, and where.
type Evidence struct {
	Kind   string `json:"kind"`   // "torn", "checkerboard", "freeze", for example
	Frame  int    `json:"frame"`  // number
	Rows   []int  `json:"rows"`   // lines of the picture at which something begins, such as below a tear
	Region []int  `json:"region"` // x, y, width and height; empty for the whole content
	Text   string `json:"text"`
}

// Result is what one measure says of one window.
type Result struct {
	Measure string `json:"measure"` // as on the command line: "fps", "loadhist", …
	Version int    `json:"version"` // of the measure's definition
	// the minimum of its values' states, without suspected ones unless all are. It is bounded too
	// if only series are affected by lost frames
	State State `json:"state"`
	// why values are missing, and how to continue
	Refusal  string          `json:"refusal,omitempty"`
	Values   []Value         `json:"values"`
	Series   []Series        `json:"series"`
	Evidence []Evidence      `json:"evidence"`
	Warnings []string        `json:"warnings"`
	Detail   json.RawMessage `json:"detail,omitempty"` // what the measure alone knows, as its file documents

	// Heat is the picture behind the numbers, for the measures that have one.
	Heat *Heat `json:"-"`
}

// Heat counts for each pixel of a region how often it changed.
type Heat struct {
	X, Y, Width, Height int      // of the region, in pixels of the frame
	Counts              []uint32 // row by row
}

// Find returns the value of a name.
func (r *Result) Find(name string) (Value, bool) {
	for _, v := range r.Values {
		if v.Name == name {
			return v, true
		}
	}
	return Value{}, false
}

// Complete sets a result's state, the minimum of its values', and replaces nil lists, so JSON has
// no null. Afterwards each value is finite and within its bounds. Bounds are widened to hold their
// value. A NaN or infinite value is left out, since it would make the whole report unwritable.
func (r Result) Complete() Result {
	r.finite()
	if r.State == "" {
		r.State = Exact
		if len(r.Values) > 0 && !slices.ContainsFunc(r.Values, func(v Value) bool { return v.State != Suspected }) {
			r.State = Suspected
		}
	}
	for i := range r.Values {
		v := &r.Values[i]
		v.Low, v.High = min(v.Low, v.Value), max(v.High, v.Value)
		if v.State == Exact && v.Low < v.High {
			v.State = Bounded
		}
		if v.State == Bounded && r.State == Exact {
			r.State = Bounded
		}
		v.Frames = OrEmpty(v.Frames)
	}
	for i := range r.Series {
		s := &r.Series[i]
		s.Frames, s.Values = OrEmpty(s.Frames), OrEmpty(s.Values)
	}
	for i := range r.Evidence {
		e := &r.Evidence[i]
		e.Rows, e.Region = OrEmpty(e.Rows), OrEmpty(e.Region)
	}
	r.Values, r.Series, r.Evidence, r.Warnings = OrEmpty(r.Values), OrEmpty(r.Series), OrEmpty(r.Evidence),
		OrEmpty(r.Warnings)
	return r
}

// finite leaves out values and series with numbers that are none, and says so.
func (r *Result) finite() {
	no := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
	r.Values = slices.DeleteFunc(r.Values, func(v Value) bool {
		bad := no(v.Value) || no(v.Low) || no(v.High)
		if bad {
			r.Warnings = append(r.Warnings,
				fmt.Sprintf("%s is left out: from the times of these frames it is %v, between %v and %v", v.Name,
					v.Value, v.Low, v.High))
		}
		return bad
	})
	r.Series = slices.DeleteFunc(r.Series, func(s Series) bool {
		bad := slices.ContainsFunc(s.Values, no)
		if bad {
			r.Warnings = append(r.Warnings, fmt.Sprintf("series %s is left out: not all of its values are numbers",
				s.Name))
		}
		return bad
	})
}

// Exactly returns a value without doubt.
func Exactly(name, unit string, value float64, better Better, threshold float64) Value {
	return Between(name, unit, value, value, value, better, threshold)
}

// Between returns a value with bounds. It is exact if they meet.
func Between(name, unit string, value, low, high float64, better Better, threshold float64) Value {
	v := Value{Name: name, Unit: unit, Value: value, Low: low, High: high, State: Bounded, Better: better,
		Threshold: threshold}
	if low == high {
		v.State = Exact
	}
	return v
}

// Detail returns the part of a result that only its measure knows.
func Detail(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("detail of a result: %v", err)) // a type of ours that cannot be encoded
	}
	return b
}

// maxNamed is how many frames a list names.
const maxNamed = 1000

// AppendFrame appends a frame to a list that is not full.
func AppendFrame(list []int, n int) []int {
	if len(list) < maxNamed {
		return append(list, n)
	}
	return list
}

// Add adds values.
func (r *Result) Add(values ...Value) { r.Values = append(r.Values, values...) }

// Warnf adds a warning.
func (r *Result) Warnf(format string, a ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, a...))
}

// OrEmpty returns a list that is not nil.
func OrEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
