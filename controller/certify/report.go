package certify

import (
	"fmt"
	"math"

	"github.com/eideticker/eideticker/capture/frame"
)

// Report is what a path does to a signal.
type Report struct {
	Verdict  Verdict    `json:"verdict"`
	Findings []Finding  `json:"findings"`
	Mode     PlayedMode `json:"mode"`
	// NoPattern says why nothing could be judged; empty otherwise.
	NoPattern string    `json:"no_pattern,omitempty"`
	Formats   int       `json:"formats"` // of the recording; one where the signal was steady
	Played    Player    `json:"player"`
	Losses    []Loss    `json:"losses"`
	Time      Temporal  `json:"time"`
	Delay     Delay     `json:"delay"`
	Geometry  Geometry  `json:"geometry"`
	Colour    Colour    `json:"colour"`
	Detail    Detail    `json:"detail"`
	Exactness Exactness `json:"exactness"`

	whole bool // a frame shows one picture of this run, so that pixels could be judged
}

// Tells reports whether anything is known of the path: a recording of something else tells nothing
// of it.
func (r *Report) Tells() bool { return r.NoPattern == "" && r.Time.Judged > 0 }

// Failed lists the properties that failed.
func (r *Report) Failed() (all []string) {
	for _, f := range r.Findings {
		if f.Verdict == Fail {
			all = append(all, f.Property)
		}
	}
	return all
}

// PlayedMode is the played mode and the recorded one.
type PlayedMode struct {
	Output          string `json:"output"`
	Device          string `json:"output_device,omitempty"`
	Width           int    `json:"width_px"`
	Height          int    `json:"height_px"`
	PeriodNum       int64  `json:"period_num_s"`
	PeriodDen       int64  `json:"period_den"`
	LatchNS         int64  `json:"latch_ns"`
	Clocked         bool   `json:"output_clocked"` // pictures change by the signal's own clock
	CapturedWidth   int    `json:"captured_width_px"`
	CapturedHeight  int    `json:"captured_height_px"`
	Pixel           string `json:"pixel_format"`
	Subsampling     string `json:"subsampling"` // of the pixel format itself
	Range           string `json:"colour_range"`
	Matrix          string `json:"colour_matrix"`
	CapturePeriodNS int64  `json:"capture_period_ns"`
	StepNS          int64  `json:"median_step_ns"`
	FittedPeriodFS  int64  `json:"fitted_period_fs"`
	First           int    `json:"first_frame"` // of those that are judged
	Frames          int    `json:"frames"`

	rgb bool
}

// Loss is what the recording says is missing.
type Loss struct {
	Cause  string `json:"cause"`
	Frames uint64 `json:"frames"`

	path bool // the path lost them, not this machine
}

func (r *Report) addLoss(cause frame.Cause, n uint64) {
	for i := range r.Losses {
		if r.Losses[i].Cause == cause.String() {
			r.Losses[i].Frames += n
			return
		}
	}
	path := false
	switch cause {
	case frame.DriverLost, frame.SignalLost, frame.FormatChange, frame.DeviceGone:
		path = true
	}
	r.Losses = append(r.Losses, Loss{cause.String(), n, path})
}

// Verdict is what a finding means for who records through the path.
type Verdict string

const (
	Pass      Verdict = "pass"
	Remark    Verdict = "remark"     // measures are right if they know of it
	Fail      Verdict = "fail"       // measures will be wrong
	NotJudged Verdict = "not judged" // another fault prevents the judgement
)

// Text returns the verdict of a report in words.
func (v Verdict) Text() string {
	switch v {
	case Pass:
		return "passed"
	case Remark:
		return "passed with remarks"
	}
	return "failed"
}

// How sure a finding is.
const (
	exactFinding   = "exact"
	boundedFinding = "bounded"
	refusedFinding = "refused"
)

// Finding is the verdict on one property of the path.
type Finding struct {
	Property string  `json:"property"`
	Verdict  Verdict `json:"verdict"` // pass, remark, fail or not judged
	Kind     string  `json:"kind"`    // exact, bounded, refused
	Sent     string  `json:"sent"`
	Came     string  `json:"came"`
	Advice   string  `json:"advice,omitempty"`
}

// Properties, in the order in which a report has them.
const (
	propertySignal     = "signal"
	propertyPlayer     = "player"
	propertyRate       = "rate"
	propertyDuplicates = "duplicates"
	propertyDrops      = "drops"
	propertyOrder      = "order"
	propertyTearing    = "tearing"
	propertyBlending   = "blending"
	propertyDelay      = "delay"
	propertyScale      = "scale"
	propertyPosition   = "position"
	propertyDetail     = "detail"
	propertyChroma     = "chroma"
	propertyRange      = "range"
	propertyColour     = "colour"
	propertyLevels     = "levels"
	propertyBits       = "bits"
	propertyLosses     = "losses"
)

// Geometry is the picture's place in the frames.
type Geometry struct {
	Copies   int     `json:"strip_copies"` // of the code strip that were found, of 5
	ScaleX   float64 `json:"scale_x"`
	ScaleY   float64 `json:"scale_y"`
	Left     float64 `json:"left_px"` // of the picture, in pixels of the frame
	Top      float64 `json:"top_px"`
	Unscaled bool    `json:"unscaled"`
	// Cut is the part of the picture outside of the frame, in pixels of the picture. Bars are the
	// part of the frame that the picture does not cover, in pixels of the frame. Both are left,
	// top; right, bottom.
	Cut  [4]float64 `json:"cut_px"`
	Bars [4]float64 `json:"bars_px"`
}

// edgeSlack is what the fitted place of an edge may be wrong by, in pixels.
const edgeSlack = 0.75

func (e *evidence) judgeGeometry(at placement) Geometry {
	f, q := e.segment.Layout.Format, e.pattern
	_, unscaled := at.unscaled(q)
	g := Geometry{Copies: len(at.lines), ScaleX: at.scaleX, ScaleY: at.scaleY, Left: at.left, Top: at.top,
		Unscaled: unscaled}
	right := at.left + at.scaleX*float64(q.Width) - float64(f.Width)
	bottom := at.top + at.scaleY*float64(q.Height) - float64(f.Height)
	for i, over := range []float64{-at.left, -at.top, right, bottom} {
		scale := at.scaleX
		if i&1 == 1 {
			scale = at.scaleY
		}
		if math.Abs(over) < edgeSlack {
			continue
		}
		g.Cut[i], g.Bars[i] = max(0, over)/scale, max(0, -over)
	}
	return g
}

// ms formats nanoseconds as milliseconds.
func ms(ns int64) string { return fmt.Sprintf("%.2f ms", float64(ns)/1e6) }

// between formats bounds of a time.
func betweenMS(low, high int64) string {
	if high-low < 1e4 {
		return ms(high)
	}
	return fmt.Sprintf("%.2f to %.2f ms", float64(low)/1e6, float64(high)/1e6)
}
