package result

import "encoding/json"

// Script is the JavaScript that ran during a recording, as its instrumentation reported it. Times
// ending in _ns are on the recording's clock, durations in ns. They are claims of the page.
type Script struct {
	// Sentence states the longest function and counts late frames and errors.
	Sentence string         `json:"sentence"`
	Policies []string       `json:"policies"`
	Programs ScriptPrograms `json:"programs"`
	// Plain are the programs that were served without instrumentation.
	Plain []PlainScript `json:"plain"`
	// Realms are global objects of JavaScript, in the order in which they started.
	Realms []ScriptRealm `json:"realms"`
	// ClockNS is the width of the bounds between the clocks of page and recording; the widest of
	// all realms.
	ClockNS int64 `json:"clock_ns"`
	Records int64 `json:"records"` // that arrived
	Lost    int64 `json:"lost"`    // records, by all causes
	Gaps    []Gap `json:"gaps"`
	// LostText is about lost records; empty without any.
	LostText string `json:"lost_text"`
	// Brief are calls that were counted, but not recorded; absent: none.
	Brief *BriefCalls `json:"brief,omitempty"`
	Cost  ScriptCost  `json:"cost"`
	// Functions are those with the longest self time, longest first. Those that ran in late frames
	// are among them.
	Functions []Function `json:"functions"`
	// Tasks are the longest spans in which a realm ran scripts without a break, ordered by begin.
	Tasks      []Task        `json:"tasks"`
	TasksLeft  int64         `json:"tasks_left_out"`
	Errors     []ScriptError `json:"errors"` // in order of time
	ErrorsLeft int64         `json:"errors_left_out"`
	Late       []LateFrame   `json:"late"` // worst first
	// Requests are the longest ones of at least 50 ms that the pages state, in order of time.
	Requests []SlowRequest `json:"requests,omitempty"`
	// Reports are those of policies with points, in their order.
	Reports []PolicyReport `json:"reports"`
	// Plan is the selection of functions; absent: all were measured.
	Plan     *ScriptPlan `json:"plan,omitempty"`
	Warnings []string    `json:"warnings"`
	Log      string      `json:"log"` // script.log; empty if it is missing
}

// ScriptPrograms counts the programs that a run served.
type ScriptPrograms struct {
	Served       int    `json:"served"`
	Instrumented int    `json:"instrumented"`
	Bytes        int64  `json:"bytes"` // of all, before
	CoveredBytes int64  `json:"covered_bytes"`
	AddedBytes   int64  `json:"added_bytes"`
	Functions    int    `json:"functions"`
	CalledOfThem int    `json:"functions_called"`
	Text         string `json:"text"` // the coverage in words
}

// PlainScript is a program without instrumentation, and the reason.
type PlainScript struct {
	URL    string `json:"url"`
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// ScriptPlan is the selection of functions of a run, after it.
type ScriptPlan struct {
	Adapt       string  `json:"adapt"`       // loads, live, or empty
	Probability float64 `json:"probability"` // of a function to be measured in a load; 0: all are
	Points      int     `json:"points"`      // functions of the programs
	Active      int     `json:"active"`      // functions with recorded calls
	Slow        int     `json:"slow"`        // functions whose calls last longer than 5 ms
	// Share is the part of the points that the loads so far have tested.
	Share  float64 `json:"share"`
	Loads  int     `json:"loads"`
	Needed int     `json:"needed"` // loads that test 95 % of the points; 0: too many
	Stable bool    `json:"stable"` // only slow functions are measured from now on
	Plain  bool    `json:"plain"`  // the scripts of this run stayed plain, for comparison
	// Dropped counts points of programs that have changed.
	Dropped int    `json:"dropped"`
	Off     string `json:"off"`  // policies that later runs are without, and why
	Text    string `json:"text"` // all in words
}

// Kinds of realms.
const (
	RealmWindow = "window"
	RealmFrame  = "frame"
	RealmWorker = "worker"
	RealmNode   = "node"
)

// ScriptRealm is a global object of JavaScript.
type ScriptRealm struct {
	Kind string `json:"kind"`
	URL  string `json:"url"` // of its document or program
}

// Gap is a part of a realm's records that is lost.
type Gap struct {
	FromNS  int64  `json:"from_ns"`
	ToNS    int64  `json:"to_ns"`
	Records int64  `json:"records"`
	Cause   string `json:"cause"`
	Realm   int    `json:"realm"` // index in Realms; -1: unknown
}

// UnmarshalJSON reads a gap. Those of earlier versions have no realm.
func (g *Gap) UnmarshalJSON(raw []byte) error {
	type gap Gap
	read := gap{Realm: -1}
	err := json.Unmarshal(raw, &read)
	*g = Gap(read)
	return err
}

// ScriptCost is the time that the instrumentation itself used.
type ScriptCost struct {
	PerCallNS Span   `json:"per_call_ns"` // calibrated in the page
	CountedNS Span   `json:"counted_ns"`  // in the whole recording
	Text      string `json:"text"`        // both in words
}

// Function is one function of a script with the times of its calls.
type Function struct {
	Name   string `json:"name"` // "(anonymous)" without one
	URL    string `json:"url"`
	Line   int    `json:"line"`   // from 1; 0 unknown
	Column int    `json:"column"` // from 1; 0 unknown
	// Source is the file by the program's source map; empty: unknown. SourceLine counts from 1.
	Source     string `json:"source"`
	SourceLine int    `json:"source_line"`

	Calls int64 `json:"calls"`
	// Brief are those without records. Times are those of the others.
	Brief int64 `json:"brief,omitempty"`
	Self  Span  `json:"self_ns"` // without the functions that it called
	Total Span  `json:"total_ns"`
	Min   Span  `json:"min_ns"`
	Mean  Span  `json:"mean_ns"`
	Max   Span  `json:"max_ns"`
	// Natives are the longest calls in a slow function, which are parts of its self time.
	Natives []NativeCall `json:"natives,omitempty"`
	// Place to MaxText are texts for people.
	Place      string `json:"place"` // such as app.js:12, with a map src/App.tsx:12, app.js:1:5120
	SelfText   string `json:"self_text"`
	SelfBounds string `json:"self_bounds_text"`
	TotalText  string `json:"total_text"`
	MeanText   string `json:"mean_text"`
	MaxText    string `json:"max_text"`
}

// NativeCall is the time of a call in a slow function. The called function is usually native.
type NativeCall struct {
	Name   string `json:"name"` // such as JSON.parse()
	Line   int    `json:"line"` // in the program of the slow function
	Column int    `json:"column"`
	Self   Span   `json:"self_ns"` // without instrumented functions that it called
	Text   string `json:"text"`    // such as 230 ms in JSON.parse() (app.js:12)
}

// BriefCalls counts calls that the page counted only: each was brief, and a task had too many to
// record. Their time is self time of their callers.
type BriefCalls struct {
	Calls int64 `json:"calls"`
	Most  Place `json:"most"` // of the function with most of them
}

// Task is a span without a return to the browser's event loop.
type Task struct {
	BeginNS int64 `json:"begin_ns"`
	EndNS   int64 `json:"end_ns"`
	// Function has the longest self time of the task; -1: it is not in Functions.
	Function int `json:"function"`
	Realm    int `json:"realm"` // index in Realms
	Calls    int `json:"calls"`
}

// Kinds of errors.
const (
	ErrorThrown    = "error"     // nobody caught it
	errorRejection = "rejection" // of a promise that nobody handled
	errorCaught    = "caught"    // a program caught it
	ErrorResource  = "resource"  // an element's file did not load
)

// ScriptError is an error that a page had, and the first frame after it.
type ScriptError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	URL     string `json:"url"`
	Line    int    `json:"line"`   // from 1; 0 unknown
	Column  int    `json:"column"` // from 1; 0 unknown
	// Source and SourceLine are those of Function.
	Source     string `json:"source"`
	SourceLine int    `json:"source_line"`

	AtNS  int64   `json:"at_ns"` // of the first
	Count int     `json:"count"`
	Frame int     `json:"frame"` // the first changed frame after it; -1: none
	Stack []Place `json:"stack"` // innermost first
	Place string  `json:"place"` // text of URL and line
}

// Place is an entry of a stack.
type Place struct {
	Function string `json:"function"`
	URL      string `json:"url"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	// Source and SourceLine are those of Function.
	Source     string `json:"source"`
	SourceLine int    `json:"source_line"`

	Text string `json:"text"` // such as load (app.js:12)
}

// LateFrame is a frame that appeared late, and the functions that ran while the screen stood still.
type LateFrame struct {
	Window int `json:"window"` // index in windows
	Frame  int `json:"frame"`
	// Response states that FromNS is an input and Frame its answer. With Load, they are the begin of
	// a load and its first change.
	Response bool `json:"response"`
	Load     bool `json:"load,omitempty"`
	// The screen showed the frame before from FromNS to ToNS.
	FromNS    int64         `json:"from_ns"`
	ToNS      int64         `json:"to_ns"`
	Functions []RanMeantime `json:"functions"` // longest first
	// Native is the longest call in the first function, if it has a quarter of that time.
	Native *NativeCall `json:"native,omitempty"`
	// Callers are those of the first function, nearest first. The first one has three quarters of its
	// time: it called the function, or with Within the functions that did.
	Callers []Place `json:"callers,omitempty"`
	Within  bool    `json:"within,omitempty"`
	// Brief are the calls without records that happened meanwhile; absent: none.
	Brief *BriefCalls `json:"brief,omitempty"`
	// UnexplainedNS is the time in which no instrumented script ran.
	UnexplainedNS Span `json:"unexplained_ns"`
	// Sentence states the cause in words.
	Sentence string `json:"sentence"`
}

func (l *LateFrame) span() FrameSpan {
	return FrameSpan{Window: l.Window, Frame: l.Frame, FromNS: l.FromNS, ToNS: l.ToNS, Response: l.Response,
		Load: l.Load}
}

// PolicyReport is what a policy found, as a table of places.
type PolicyReport struct {
	Policy   string         `json:"policy"`
	Sentence string         `json:"sentence"`
	Points   int            `json:"points"` // nodes that the policy wants
	Active   int            `json:"active"` // those with insertions in this run
	Columns  []PolicyColumn `json:"columns"`
	Rows     []PolicyRow    `json:"rows"`
	Left     int            `json:"rows_left_out"`
}

// PolicyColumn names the values of a table.
type PolicyColumn struct {
	Name string `json:"name"`
	Unit string `json:"unit"` // empty for counts
}

// PolicyRow is a place with a value per column.
type PolicyRow struct {
	Name    string    `json:"name"` // a short text of the node
	URL     string    `json:"url"`
	Line    int       `json:"line"`
	Column  int       `json:"column"`
	Values  []float64 `json:"values"`
	Verdict string    `json:"verdict"` // pass, fail, more, or empty
	Text    string    `json:"text"`
	// Place and Texts are for people.
	Place string   `json:"place"`
	Texts []string `json:"texts"` // of the values
}

// RanMeantime is the self time of a function within a span.
type RanMeantime struct {
	Function int  `json:"function"` // index in functions
	Self     Span `json:"self_ns"`
}

// Limits of the lists. script.log has everything.
const (
	MaxFunctions = 200
	MaxTasks     = 2000
	MaxErrors    = 100
	MaxLate      = 20
	MaxPlain     = 200
	MaxGaps      = 100
	MaxRealms    = 64
	MaxRequests  = 200
	MaxStack     = 50
	MaxNatives   = 3 // of a function
	MaxCallers   = 8
	maxReports   = 20
	maxColumns   = 16
	// MaxPolicyRows limits the rows of a report.
	MaxPolicyRows = 200
)
