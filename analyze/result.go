package analyze

import "github.com/eideticker/eideticker/analyze/measure"

// Callers of Analyze use the types of package measure by these names.
type (
	Area      = measure.Area
	Better    = measure.Better
	Evidence  = measure.Evidence
	Heat      = measure.Heat
	Moment    = measure.Moment
	Recording = measure.Recording
	Result    = measure.Result
	Series    = measure.Series
	State     = measure.State
	Times     = measure.Times
	Value     = measure.Value
	Window    = measure.Window
)

const (
	Exact     = measure.Exact
	Bounded   = measure.Bounded
	Suspected = measure.Suspected
	Refused   = measure.Refused
	Higher    = measure.Higher
	Lower     = measure.Lower
	Neither   = measure.Neither
	WorstCase = measure.WorstCase
	TooFew    = measure.TooFew
	None      = measure.None
	ByMarkers = measure.ByMarkers
	ByEnd     = measure.ByEnd
)
