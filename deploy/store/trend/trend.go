// Package trend keeps the values of scheduled runs in the order of builds: builds, series, points,
// tiles, changes and alerts. It is an SQLite file beside the folder of runs.
//
// The file is an index. [Open] makes a missing, older or broken one anew from the run folders that
// have an origin.json. Changes, alerts, gaps, splits and builds have no folder. Each of these rows
// is also appended to a journal, trend.jsonl, from which a new file gets them. The journal names
// the sets that were added. A new file gets no other set, for example a partial one.
//
//  1. [Read] reads a set's folder. [DB.Add] adds its points and updates the tiles above them.
//  2. [DB.Get] returns a page of a series: points, or the finest tiles that fit.
//  3. [DB.Points] returns points with the values of their runs, for detection.
//
// Runs of several sets of one build are one point. A set that is added again replaces its values.
package trend

import (
	"github.com/eideticker/eideticker/deploy/api"
)

// SeriesKey identifies a series.
type SeriesKey struct {
	Schedule string `json:"schedule"`
	Test     string `json:"test"`
	Window   string `json:"window"`
	Measure  string `json:"measure"`
	Value    string `json:"value"`
	Unit     string `json:"unit"`
	Better   string `json:"better"` // "higher", "lower" or ""
	Version  int    `json:"version"`
	Device   string `json:"device"`
	Network  string `json:"network"`
	Product  string `json:"product"`
	Feed     string `json:"feed"`
	Role     string `json:"role"`
	// Generation counts the splits that were there when its points were added, see [Split].
	Generation int `json:"generation,omitempty"`
}

// Split begins new series of a schedule's test on a device. The clocks of rigs do not matter: it
// counts for sets that are added afterwards.
type Split struct {
	Schedule string `json:"schedule"`
	Test     string `json:"test"`
	Device   string `json:"device"`
	WallNS   int64  `json:"wall_ns"` // of its reason, which tells it from others
	Reason   string `json:"reason"`
}

// Value is that of one run.
type Value struct {
	Run string // its ID
	// Block is the same for the runs of one block, whatever their role. DB.Points makes it unique
	// among the sets of a schedule.
	Block int
	Value float64
}

// Point is one build's values in a series.
type Point struct {
	Seq    int64  // of the subject's build
	Build  string // its own
	Set    string // of several the newest
	WallNS int64  // when its first run started
	Values []Value

	Revision string // of its build, by Points
}

// Measured is a point and its series.
type Measured struct {
	Key       SeriesKey
	Threshold float64 // smallest relevant difference as a fraction; 0: that of stats.UsualThreshold
	Point     Point
}

// Gap is a build without a point. An empty test or device means all of the schedule's.
type Gap struct {
	Schedule string `json:"schedule"`
	Test     string `json:"test"`
	Device   string `json:"device"`
	api.SeriesGap
}
