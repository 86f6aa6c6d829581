package store

import (
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/session"
)

// unreadable is the state of a run whose folder cannot be understood: its Reason says why. Nothing
// but Delete takes such a folder away.
const unreadable session.State = "unreadable"

// Run has the facts about a run that do not need its recording.
type Run struct {
	ID  string // of its folder, see CheckID
	Set string // ID of the set that it belongs to; empty: it stands alone

	Test     string // empty: a recording that was made without a test
	Device   string
	Browser  string // as asked for; empty is the device's first
	Build    string // the browser's name and version, as it was found
	Label    string
	Branch   string
	Revision string

	State  session.State
	Reason string // why it failed, was rejected or cannot be read
	WarmUp bool

	Started time.Time // by the wall clock of the rig that made it
	Elapsed time.Duration
	Frames  uint64 // stored
	Lost    uint64
	Bytes   int64 // of all files in its folder
	Pinned  bool

	// Verdict is that of the runs that this one was made with, held against their baseline; empty
	// where there is none, or where the run does not count. Base is the ID of what they were held
	// against.
	Verdict stats.Verdict
	Base    string

	Environment result.Environment
	Values      []Value // in Get, and in List where they were asked for
}

// Counts says that the run takes part in comparisons and trends.
func (r *Run) Counts() bool { return r.State == session.Passed && !r.WarmUp }

// Value is a number of a run's results.
type Value struct {
	Window    string // its name, made unique within the run
	Place     int    // of the window in the run, from 0
	Measure   string
	Version   int // of the measure's definition
	Name      string
	Unit      string
	Value     float64
	Low, High float64
	State     analyze.State
	Better    analyze.Better
	Threshold float64
}

// Set is a folder of runs.
type Set struct {
	ID                      string
	Test                    string
	Devices, Browsers       []string // of its runs, each once, in order
	Label, Branch, Revision string   // of its first run
	Started                 time.Time
	Runs                    int                   // in all
	States                  map[session.State]int // how many runs are in each
	Counting                int                   // runs that count
	Bytes                   int64
	Pinned                  int             // runs that are pinned
	Verdicts                []stats.Verdict // of its runs, each once, in order: those of several browsers may differ
}

// Query selects runs or sets. Empty fields do not restrict it. A set matches if one of its runs
// does.
type Query struct {
	// Text has words. Each must begin a word of the run's ID, test, device, browser, label, branch,
	// revision, state, verdict or reason.
	Text string

	Test, Device, Browser, Label, Branch, Revision string
	State                                          session.State
	Verdict                                        stats.Verdict // one of comparison.Verdicts
	Set                                            string        // ID of a set
	From, To                                       time.Time     // started at or after From, before To

	Values bool   // List returns the runs' values too
	Limit  int    // at most MaxLimit; 0 is defaultLimit
	Cursor string // Next of the page before
}

// Bounds of a Query's Limit.
const (
	MaxLimit     = 200
	defaultLimit = 50
)

// Page is a part of an answer, newest first.
type Page struct {
	Runs  []Run
	Next  string // Cursor of the next page; empty: this is the last
	Total int    // on all pages
}

// SetPage is a part of an answer, newest first.
type SetPage struct {
	Sets  []Set
	Next  string
	Total int
}

// TrendQuery says which value is wanted over time. Test, Measure and Value must be given; what else
// is empty does not matter.
type TrendQuery struct {
	Test, Device, Browser, Branch string
	Measure, Value                string
	Window                        string // name; empty: each run's first window that has the value
	From, To                      time.Time
	Limit                         int // points, the newest; at most MaxPoints, 0 is defaultPoints
}

// Bounds of a TrendQuery's Limit.
const (
	MaxPoints     = 1000
	defaultPoints = 100
)

// Trend is a value over time.
type Trend struct {
	Unit   string
	Better analyze.Better
	Points []Point // oldest first
}

// Point is the result of the runs of a set that count, of one browser on one device. It may also be
// a single run.
type Point struct {
	ID                      string // of the set or the run
	Variant                 string // of the set; "": that of browser and device
	Device, Browser         string
	Label, Branch, Revision string
	Started                 time.Time
	N                       int // runs
	Median                  float64
	// Low and High are the 95 % interval of the median if Interval is true, which needs six runs.
	// For a single run they are the bounds of its value.
	Low, High float64
	Interval  bool
	// Verdict is about this point against the one before of the same device, browser and branch;
	// empty where there is none. It looks at this value alone, so over many points one in twenty
	// differs by chance.
	Verdict stats.Verdict
	Before  string // ID of that point
	// why the verdict is missing though an earlier point exists, such as another version of the
	// measure
	Reason string
}

// Policy configures Retain. A field that is 0 does not restrict it.
type Policy struct {
	MaxBytes int64 // that runs and the files of package unused may have together
	MinFree  int64 // bytes that the file system is to have free
	MaxAge   time.Duration
	// UnusedAge is that of archives, traces and caches since their last use; 0: any.
	UnusedAge time.Duration
}
