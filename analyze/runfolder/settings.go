package runfolder

import (
	"time"

	"github.com/eideticker/eideticker/analyze/checkerboard"
	"github.com/eideticker/eideticker/analyze/fps"
	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/tearing"
	"github.com/eideticker/eideticker/capture/frame"
)

// Settings are what an analysis is asked for. The zero value measures all that applies: between
// markers where there are any, else everything.
type Settings struct {
	Measures []string
	Primary  []string // values to read first, as the test declares
	Variants []string // of load figures; empty as load.Options says
	// Options of single measures.
	FPS          fps.Options
	Tearing      tearing.Options
	Checkerboard checkerboard.Options
	Response     response.Options
	// Whether the delay and the scan-out of Response are to be used in place of those that the
	// recording tells.
	OwnDelay, OwnScanOut bool

	Region        *frame.Region // in place of the content region
	Masks         []frame.Region
	Tolerance     int
	MinPixels     int
	AutoTolerance bool // both are calibrated on each window's held green, and on the pattern
	Strict        bool // a lost frame in a window is an error

	PatternFrom, PatternTo int // frames that hold a pattern to calibrate on, To not included; 0, 0 for none

	From, To  int // frames, To not included; 0, 0 for windows by markers
	Markers   bool
	Still     time.Duration // where no red comes: the content ends before a stillness this long
	EndEvent  string        // or with the last event of this kind; a stillness lasts beyond that event
	Limit     time.Duration // or so long after s
	Begin     string        // the content begins with the first event of this kind; empty: with its first change
	T0        string        // kind of the event that began it; empty for navigation, launch and input
	Nonce     string        // that markers must carry
	Name      string        // of the only window, or of the recording
	KeepStrip bool          // the code strip counts as content
}

// describe returns the settings as in results.json.
func (s *Settings) describe() result.Settings {
	d := result.Settings{Tolerance: s.Tolerance, MinPixels: s.MinPixels, Strict: s.Strict, Measures: s.Measures,
		Primary: s.Primary}
	if s.Region != nil {
		d.Region = box(*s.Region)
	}
	for _, m := range s.Masks {
		d.Masks = append(d.Masks, box(m))
	}
	return d
}

func box(r frame.Region) []int { return []int{r.X, r.Y, r.Width, r.Height} }
