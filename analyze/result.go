package analyze

import "encoding/json"

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

// WorstCase is in the note of a value whose bounds cover everything that lost frames may have
// shown, likely or not.
const WorstCase = "bounds are the worst case over lost frames"

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
	// report fills them in.
	Text       string `json:"text,omitempty"`
	BoundsText string `json:"bounds_text,omitempty"`
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
