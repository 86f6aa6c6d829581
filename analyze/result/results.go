package result

import (
	"slices"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/noise"
	"github.com/eideticker/eideticker/analyze/vitals"
)

const (
	// Schema is the name of the file format.
	Schema = "eideticker.results"
	// Version is the schema's version. Fields may be added to a version. A field that is removed or
	// changes its meaning makes a new one.
	Version = 1
	// FileName is the name of the results in a run folder.
	FileName = "results.json"
)

// Results are the measured values of one recording. Frames count from 0 through the recording.
// Times are on its clock, in ns.
type Results struct {
	Schema      string      `json:"schema"`  // Schema
	Version     int         `json:"version"` // Version
	Recording   Recording   `json:"recording"`
	Environment Environment `json:"environment"`
	Settings    Settings    `json:"settings"`
	// Quality is about the whole recording. Reports show it above every other number.
	Quality analyze.Result `json:"quality"`
	Windows []Window       `json:"windows"`
	Network *Network       `json:"network,omitempty"` // of the run's test network
	Script  *Script        `json:"script,omitempty"`  // of instrumented pages
	Profile *Profile       `json:"profile,omitempty"` // of the device's processes
	// Vitals are the page's claims about itself, where they were asked for.
	Vitals      *vitals.Claims `json:"vitals,omitempty"`
	Video       *Video         `json:"video,omitempty"`
	Pictures    []Picture      `json:"pictures"`     // that belong to no window
	RetriedRuns int            `json:"retried_runs"` // earlier attempts of this run
	Notes       []string       `json:"notes"`        // sentences about the run as a whole
}

// Recording is the analysed recording.
type Recording struct {
	ID            string `json:"id"`           // the recording's own; empty where it has none
	Name          string `json:"name"`         // for people
	File          string `json:"file"`         // in the run folder; empty where it is not there
	Frames        int    `json:"frames"`       // stored
	Lost          uint64 `json:"lost"`         // produced by the source and not stored
	Width         int    `json:"width_px"`     // of the first format
	Height        int    `json:"height_px"`    // of the first format
	PixelFormat   string `json:"pixel_format"` // V4L2 fourcc
	PeriodNS      int64  `json:"period_ns"`    // fitted time from frame to frame; 0 unknown
	StartedWallNS int64  `json:"started_wall_ns"`
	DurationNS    int64  `json:"duration_ns"` // first frame to last
	OwnClock      bool   `json:"own_clock"`   // times are those of an imported file
	Unclosed      bool   `json:"unclosed"`    // cut off or still growing
}

// Environment describes the place of a run by the Env keys. Unknown ones are left out.
type Environment map[string]string

// Keys of an Environment.
const (
	EnvDUT     = "dut"     // device under test: its name or model
	EnvOS      = "os"      // the device's system and version
	EnvKernel  = "kernel"  // the device's
	EnvBrowser = "browser" // name and build
	EnvBuild   = "build"   // the browser's, of a feed
	EnvInput   = "input"   // input driver and how real it is
	// reports of the device before the run: sentences, with "; " between them
	EnvHealth        = "health"
	EnvNetwork       = "network"        // profile of the test network
	EnvSignal        = "signal"         // mode, such as 1920x1080p59.94
	EnvSource        = "source"         // kind of the source: v4l2, x11, video, synth
	EnvCard          = "card"           // the capture device
	EnvRig           = "rig"            // name of the rig
	EnvRigBuild      = "rig_build"      // version of the program that recorded
	EnvRigOS         = "rig_os"         // the rig's system and kernel
	EnvAnalysisBuild = "analysis_build" // version of the program that analysed
	EnvVitals        = "vitals"         // "observed" if the page's claims were read, which adds load
	EnvScript        = "script"         // policies that instrumented the page's scripts, which adds load
	EnvProfile       = "profile"        // parts of the recorded activity, which adds load
	EnvTemperature   = "temperature"    // the device's, with its unit
	EnvGovernor      = "governor"       // of the device's processors
	EnvMachineShared = "machine_shared" // "yes" if browser and recorder shared it, else "no"
)

// EnvironmentKeys returns the documented keys in the order in which people want to read them.
func EnvironmentKeys() []string {
	return []string{
		EnvDUT, EnvOS, EnvKernel, EnvBrowser, EnvBuild, EnvNetwork, EnvSignal, EnvSource, EnvCard, EnvRig, EnvRigBuild,
		EnvRigOS, EnvAnalysisBuild, EnvVitals, EnvScript, EnvProfile,
		EnvTemperature, EnvGovernor, EnvMachineShared, EnvInput, EnvHealth,
	}
}

// Settings are the options of the analysis.
type Settings struct {
	Region    []int    `json:"region"`     // as [x, y, width, height]; empty: found, or everything
	Masks     [][]int  `json:"masks"`      // regions that do not count
	Tolerance int      `json:"tolerance"`  // τ, of an 8-bit sample; 0 is exact
	MinPixels int      `json:"min_pixels"` // m: pixels that may differ in equal frames
	Strict    bool     `json:"strict"`     // a lost frame in a window is an error
	Measures  []string `json:"measures"`   // empty: all that apply
	// Primary has the values to read first that the test declares; empty: the usual ones.
	Primary []string `json:"primary"`
}

// Kinds of windows.
const (
	Markers = "markers" // between green and red
	Frames  = "frames"  // a range that was given
	End     = "end"     // from a green to a stillness, an event or a time limit
	All     = "all"     // everything
)

// Window is a part of the recording with its results.
type Window struct {
	Name string `json:"name"` // for people, such as the page's
	Kind string `json:"kind"` // Markers, Frames, End or All
	// Green to Red are g, s, e and r of measures.md. Green is the last frame of the held green, Start
	// the first that differs. End is the last frame of the content, Red the first full red. Green
	// and Red are -1 without markers.
	Green   int   `json:"green_frame"`
	Start   int   `json:"start_frame"`
	End     int   `json:"end_frame"`
	Red     int   `json:"red_frame"`
	StartNS int64 `json:"start_ns"` // time of s
	EndNS   int64 `json:"end_ns"`   // time of r, or of e without r
	Region  []int `json:"region"`   // of the content, as [x, y, width, height]
	// Masks to Noise were used in this window: as asked for, found or calibrated. Masks include the
	// code strip and the payload block.
	Masks     [][]int            `json:"masks"`
	Tolerance int                `json:"tolerance"`       // τ, of an 8-bit sample
	MinPixels int                `json:"min_pixels"`      // m
	Noise     *noise.Calibration `json:"noise,omitempty"` // where τ and m were calibrated
	T0        *T0                `json:"t0,omitempty"`
	Times     FrameTimes         `json:"frame_times"`
	// Answer is shown first. It follows from the rest of the window.
	Answer  Answer           `json:"answer"`
	Results []analyze.Result `json:"results"`
	// Channel is the account of the page's messages; nil: it has no payload block.
	Channel *Channel `json:"channel,omitempty"`
	// Claims are the page's own numbers: "fps.framerate" is about that value, in its unit.
	Claims map[string]float64 `json:"claims"`
	// ClaimTexts are the claims as reports print them.
	ClaimTexts map[string]string `json:"claim_texts,omitempty"`
	// Checks compare measured numbers with drawn ones, where these are known.
	Checks []Check `json:"checks"`
	// Pictures are of this window.
	Pictures []Picture `json:"pictures"`
	Warnings []string  `json:"warnings"` // such as a torn marker, or lost frames
}

// Check is one number three times: measured, drawn, and claimed by the page.
type Check struct {
	What     string   `json:"what"`
	Unit     string   `json:"unit"`
	Measured Span     `json:"measured"`
	Drawn    Span     `json:"drawn"` // as the page counted, without measuring
	Claimed  *float64 `json:"claimed,omitempty"`
	Agrees   bool     `json:"agrees"` // measured and drawn
	// Unchecked checks neither agree nor fail. Note says why.
	Unchecked bool   `json:"unchecked,omitempty"`
	Frames    []int  `json:"frames"` // in which they do not agree
	Note      string `json:"note,omitempty"`
	// Texts of the numbers as reports print them.
	MeasuredText   string `json:"measured_text,omitempty"`
	MeasuredBounds string `json:"measured_bounds_text,omitempty"`
	DrawnText      string `json:"drawn_text,omitempty"`
	DrawnBounds    string `json:"drawn_bounds_text,omitempty"`
	ClaimedText    string `json:"claimed_text,omitempty"`
}

// Failed reports whether the measured number differs from the drawn one.
func (k *Check) Failed() bool { return !k.Agrees && !k.Unchecked }

// Span is a number with its bounds.
type Span struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// T0 is the command from which load figures count.
type T0 struct {
	AtNS          int64  `json:"at_ns"`
	UncertaintyNS int64  `json:"uncertainty_ns"`
	Source        string `json:"source"` // what it was: "navigation", "input", …
}

// FrameTimes are the times of a window's stored frames, which follow each other in number. Times
// are relative to the window's start_ns. The three lists are of one length.
type FrameTimes struct {
	First    int     `json:"first_frame"`
	Time     []int64 `json:"time_ns"` // sequence × fitted period
	Earliest []int64 `json:"earliest_ns"`
	Latest   []int64 `json:"latest_ns"`
	Lost     []Loss  `json:"lost"`
}

// Loss is a hole among the frames.
type Loss struct {
	Before int    `json:"before_frame"` // number of the stored frame behind it
	Frames uint64 `json:"frames"`
	Cause  string `json:"cause"`
}

// Network is the link of the run: its conditions, their measurement right before, and its traffic.
type Network struct {
	Profile    string  `json:"profile"` // empty where it has no name
	RTTAskedNS int64   `json:"rtt_asked_ns"`
	RTTNS      int64   `json:"rtt_ns"`
	DownAsked  int64   `json:"down_asked_bits_per_second"` // 0: not limited
	Down       int64   `json:"down_bits_per_second"`
	UpAsked    int64   `json:"up_asked_bits_per_second"`
	Up         int64   `json:"up_bits_per_second"`
	LossAsked  float64 `json:"loss_asked_fraction"` // each way
	Loss       float64 `json:"loss_fraction"`
	Requests   int     `json:"requests"`
	// of them, that there was nothing to answer with: 4xx, 5xx, or no answer
	Missed       int    `json:"missed"`
	NamesRefused int    `json:"names_refused"` // queries for names that are none of the test network's
	Connections  int    `json:"connections"`   // over which something was asked
	BytesUp      int64  `json:"bytes_up"`      // of IP packets, that the device sent
	BytesDown    int64  `json:"bytes_down"`    // and was given
	File         string `json:"file"`          // network.har; empty where it is not there
	// List is of the first requests, in the order in which they began.
	List []Request `json:"list"`
	// ByType and ByDomain are the traffic of all requests, without names and handshakes.
	ByType   []vitals.Traffic `json:"by_type"`
	ByDomain []vitals.Traffic `json:"by_domain"`
}

// MostRequests is how many a list has; the HAR file has all.
const MostRequests = 1000

// Request is one that was seen on the network. Times are those at the device; a part whose time is
// not known, or that it did not have, is -1.
type Request struct {
	Method    string `json:"method"`
	URL       string `json:"url"` // cut where it is long
	Status    int    `json:"status"`
	Protocol  string `json:"protocol"` // http/1.1, h2, h3
	Priority  string `json:"priority"` // as the field of RFC 9218 has it
	Reused    bool   `json:"reused"`   // its connection was there before it
	BeginNS   int64  `json:"begin_ns"` // of the first of its parts, on the recording's clock
	NameNS    int64  `json:"name_ns"`
	ConnectNS int64  `json:"connect_ns"`
	TLSNS     int64  `json:"tls_ns"`
	WaitNS    int64  `json:"wait_ns"`          // from its first byte until the device had the first of the answer
	LoadNS    int64  `json:"load_ns"`          // until it had the last
	EndNS     int64  `json:"end_ns,omitempty"` // when it had the last; 0 unknown
	// packets told when the device had first and last byte; else the HAR file has between what they
	// lie
	Exact        bool  `json:"exact"`
	WireBytes    int64 `json:"wire_bytes"`
	BodyBytes    int64 `json:"body_bytes"` // as they came, packed if they were
	DecodedBytes int64 `json:"decoded_bytes"`
}

// Video shows the recording; the page seeks in it by the map that package render writes beside it.
type Video struct {
	File string `json:"file"`
	Map  string `json:"map"`
}

// Kinds of pictures.
const (
	PictureHeatMap    = "heatmap"
	PictureFilmstrip  = "filmstrip"
	PictureProgress   = "progress"
	PictureFrameTimes = "frametimes"
	PictureEvidence   = "evidence"
	PictureWaterfall  = "waterfall" // requests under the filmstrip, on one axis of time
)

// Picture is a file that shows something.
type Picture struct {
	Kind    string `json:"kind"`
	File    string `json:"file"`
	Data    string `json:"data,omitempty"` // the numbers behind it, such as heatmap.npy
	Text    string `json:"text"`           // what it shows, a sentence
	Measure string `json:"measure"`        // whose it is; empty where it is of no single one
	Frame   int    `json:"frame"`          // which it shows; -1 where it is about several
}

// Filmstrips returns the files of filmstrips. The first one is that of the first window.
func (r *Results) Filmstrips() (files []string) {
	all := slices.Clone(r.Pictures)
	for i := range r.Windows {
		all = append(all, r.Windows[i].Pictures...)
	}
	for _, p := range all {
		if p.Kind == PictureFilmstrip {
			files = append(files, p.File)
		}
	}
	return files
}
