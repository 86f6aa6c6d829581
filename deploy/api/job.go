package api

import (
	"encoding/json"
	"strings"
)

// StartParams are those of run.start. One of Test, URL and Upload names the test.
type StartParams struct {
	Test     string    `json:"test,omitempty" doc:"name of a test of the suite"`
	URL      string    `json:"url,omitempty" limit:"2048 bytes; http or https" doc:"address to load until it is still"`
	Upload   *Upload   `json:"upload,omitempty" doc:"a test file of the caller's own"`
	Gestures *Gestures `json:"gestures,omitempty" doc:"with url: inputs on the page"`
	Network  string    `json:"network,omitempty" doc:"profile of the link; a url is recorded once and then replayed"`
	Script   []string  `json:"script,omitempty" doc:"policies that instrument the page's scripts (default: the test's)"`
	Profile  string    `json:"profile,omitempty" doc:"such as samples,js,sockets (default: the test's)"`
	// TraceLimit and Strict are those of the profile.
	TraceLimit int64 `json:"trace_limit_bytes,omitempty" limit:"0 to 2 GiB" doc:"of an engine (default: 2 GiB)"`
	Strict     bool  `json:"strict,omitempty" doc:"reject runs whose profile is not complete"`
	// ProfiledOnly leaves the cost of the profile unknown.
	ProfiledOnly bool `json:"profiled_only,omitempty" doc:"make no plain runs between several profiled ones"`
	// WhyChanged leaves the runs that decide plain.
	WhyChanged bool      `json:"why_changed,omitempty" doc:"explain a changed primary value by more runs"`
	Variants   []Variant `json:"variants,omitempty" limit:"2 to 16" doc:"take turns, the base first"`

	Devices  []string `json:"devices,omitempty" doc:"devices to run on, in turns; \"local\" if none is given"`
	Browsers []string `json:"browsers,omitempty" doc:"or KIND@FEED:BUILD, in turns; the device's first if not given"`

	Repeat     int      `json:"repeat,omitempty" limit:"1 to 10000" doc:"runs per browser and device (default: test's)"`
	WarmUp     *int     `json:"warm_up,omitempty" limit:"0 to 10000" doc:"runs before them that do not count"`
	CooldownNS int64    `json:"cooldown_ns,omitempty" limit:"0 to 24 h" doc:"pause between runs"`
	Retries    *int     `json:"retries,omitempty" limit:"0 to 10000" doc:"retries of bad captures (default: repeat)"`
	MaxLost    *float64 `json:"max_lost,omitempty" limit:"0 to 1" doc:"max share of lost frames (default: 0.05)"`
	UntilFail  bool     `json:"until_fail,omitempty" doc:"run again and again until a run fails"`
	Seed       uint64   `json:"seed,omitempty" doc:"same order of turns as a job of that seed; chosen if 0"`
	NoVideo    bool     `json:"no_video,omitempty" doc:"make no video"`
	Videos     int      `json:"videos,omitempty" doc:"counted runs of each variant with a video; 0: all runs"`

	FilmstripStepNS int64 `json:"filmstrip_step_ns,omitempty" limit:"20 ms to 1 min" doc:"0: by the length of a window"`
	Vitals          bool  `json:"vitals,omitempty" doc:"read web vitals; for tests of the rig's suite"`
	Fresh           bool  `json:"fresh,omitempty" doc:"with a url and a network: record the site again"`

	Label    string `json:"label,omitempty" limit:"128 bytes" doc:"what the runs are found by"`
	Branch   string `json:"branch,omitempty" limit:"128 bytes" doc:"of the tested program"`
	Revision string `json:"revision,omitempty" limit:"128 bytes" doc:"of the tested program"`

	Baseline string `json:"baseline,omitempty" limit:"400 bytes" doc:"name, or ID of a run or set; see the verdict"`
	// JudgeUnlike is for the stored verdict.
	JudgeUnlike bool `json:"judge_unlike,omitempty" doc:"judge the runs though they were not measured as the baseline"`

	Reservation string `json:"reservation,omitempty" doc:"key of the devices' reservation, where there is one"`

	Class string `json:"class,omitempty" doc:"\"now\", \"check\", \"watch\" or \"fill\": its share (default: now)"`
	// Origin says what a scheduled job is for. Clients cannot set it.
	Origin json.RawMessage `json:"-"`
	// Keep names jobs that run one after the other on a device of a fleet. Clients cannot set it.
	Keep string `json:"-"`
}

// The classes of jobs. Those that wait share the rig as 8 to 4 to 2 to 1.
const (
	ClassNow   = "now"   // a person waits for it
	ClassCheck = "check" // a program does, or a change is confirmed
	ClassWatch = "watch" // a schedule
	ClassFill  = "fill"  // older builds
)

// Variant changes the test of a job. Parts that are not given are those of the job.
type Variant struct {
	Name     string    `json:"name,omitempty" limit:"64 bytes: letters, digits, . - _" doc:"default: the test's name"`
	Test     string    `json:"test,omitempty"`
	URL      string    `json:"url,omitempty" limit:"2048 bytes; http or https"`
	Upload   *Upload   `json:"upload,omitempty"`
	Gestures *Gestures `json:"gestures,omitempty"`
	Network  string    `json:"network,omitempty"`
	Device   string    `json:"device,omitempty"`
	Browser  string    `json:"browser,omitempty" doc:"a kind, or KIND@FEED[:BUILD] for a build of a feed"`
}

// Gestures are inputs on any page, in this order. The last one is measured.
type Gestures struct {
	Hover  []string `json:"hover,omitempty" doc:"selectors of CSS, or X,Y in pixels or percent"`
	Click  []string `json:"click,omitempty" doc:"as hover"`
	Text   string   `json:"text,omitempty" limit:"1000 bytes" doc:"to type"`
	Scroll bool     `json:"scroll,omitempty"`
}

// Upload is a test file with what it needs. It sees nothing of the rig's own files.
type Upload struct {
	Test  string            `json:"test" doc:"name of the test file among the files, such as my-test.yaml"`
	Files map[string]string `json:"files" limit:"32 files, 1 MiB; test file 64 KiB; no folders" doc:"contents by name"`
}

// Job is something that a rig has been asked to do.
type Job struct {
	ID    string `json:"job" doc:"also the ID of the run or the set that it makes"`
	Kind  string `json:"kind" doc:"\"run\", \"record\" or \"analyze\""`
	State string `json:"state" doc:"\"queued\", \"running\", \"ok\", \"failed\", \"cancelled\", \"interrupted\""`
	// Reason is a sentence.
	Reason   string   `json:"reason,omitempty" doc:"why it failed, or what it waits for"`
	Fault    string   `json:"fault,omitempty" doc:"of a failed run: \"lab\", or \"product\" for the tested program"`
	Owner    string   `json:"owner" doc:"name of the token that asked for it"`
	Test     string   `json:"test"`
	Label    string   `json:"label,omitempty"`
	Devices  []string `json:"devices"`
	Browsers []string `json:"browsers"`
	Position int      `json:"position" doc:"in the queue, from 1; 0 where it does not wait"`

	QueuedWallNS  int64 `json:"queued_wall_ns"`
	StartedWallNS int64 `json:"started_wall_ns" doc:"0: not yet"`
	EndedWallNS   int64 `json:"ended_wall_ns" doc:"0: not yet"`

	Seed   uint64     `json:"seed"`
	Done   int        `json:"runs_done" doc:"runs that are over, of whatever state"`
	Total  int        `json:"runs_total" doc:"as planned; retries come on top; 0 unknown"`
	Phase  *Phase     `json:"phase,omitempty" doc:"what it is at"`
	Runs   []Made     `json:"runs" doc:"those that are over; the last 200"`
	Params *StartView `json:"params,omitempty" doc:"settings of a job of kind run"`
}

// StartView is a job's description of its parameters.
type StartView struct {
	Repeat    int  `json:"repeat"`
	WarmUp    int  `json:"warm_up"`
	Retries   int  `json:"retries"`
	UntilFail bool `json:"until_fail"`
	NoVideo   bool `json:"no_video"`
	// Variants name the folders of a set.
	Variants []string `json:"variants" doc:"that take turns; the others are compared with the first"`
	Plain    []string `json:"plain,omitempty" doc:"variants without the profile of the next one, for its cost"`
}

// Made is a run of a job that is over.
type Made struct {
	Run     string `json:"run" doc:"its ID"`
	Variant string `json:"variant" doc:"browser and device"`
	State   string `json:"state" doc:"\"ok\", \"rejected\" or \"failed\""`
	Reason  string `json:"reason,omitempty"`
	WarmUp  bool   `json:"warm_up,omitempty"`
}

// Phase is a part of a job.
type Phase struct {
	Name       string `json:"name"`
	Run        string `json:"run,omitempty" doc:"\"2 of 6\", where a job makes several runs"`
	Done       int    `json:"done" doc:"in the phase's own unit, mostly frames"`
	Total      int    `json:"total" doc:"0 unknown"`
	EstimateNS int64  `json:"estimate_ns" doc:"time that is left of the phase; 0 unknown"`
	SinceNS    int64  `json:"since_ns" doc:"time since it began"`
}

// JobID names a job.
type JobID struct {
	Job string `json:"job"`
}

// Jobs is the result of job.list.
type Jobs struct {
	Jobs []Job `json:"jobs" doc:"that wait or are at work, in order; then those that ended, latest first, 200 at most"`
}

// RecordParams are those of record.start.
type RecordParams struct {
	Device      string `json:"device"`
	DurationNS  int64  `json:"duration_ns,omitempty" limit:"0 to 24 h" doc:"0: until record.stop, at most 24 h"`
	KeepLastNS  int64  `json:"keep_last_ns,omitempty" limit:"1 s to 10 min" doc:"keep only the last so many"`
	Label       string `json:"label,omitempty" limit:"128 bytes"`
	Reservation string `json:"reservation,omitempty" doc:"key of the device's reservation, where there is one"`
}

// StopParams are those of record.stop.
type StopParams struct {
	Device string `json:"device"`
}

// KeepParams are those of record.keepLast.
type KeepParams struct {
	Device string `json:"device"`
	Label  string `json:"label,omitempty" limit:"128 bytes"`
}

// Recorded is the result of record.stop and record.keepLast.
type Recorded struct {
	Run string `json:"run" doc:"ID of the recording; empty where the last seconds were kept and are dropped"`
}

// AnalyzeParams are those of analyze.start.
type AnalyzeParams struct {
	Run       string   `json:"run" doc:"whose recording is measured; its results are replaced"`
	Measures  []string `json:"measures,omitempty" doc:"empty: all that apply"`
	Tolerance *int     `json:"tolerance,omitempty" limit:"0 to 255" doc:"max difference of equal samples"`
	Region    []int    `json:"region_px,omitempty" limit:"x, y, width, height" doc:"area (default: the content)"`
	From      int      `json:"from_frame,omitempty" doc:"with to_frame: measure these frames, not those of markers"`
	To        int      `json:"to_frame,omitempty" doc:"not included"`
	NoVideo   bool     `json:"no_video,omitempty"`
}

// CompareParams are those of compare.
type CompareParams struct {
	Base      string  `json:"base" doc:"ID of a run or a set, or the name of a baseline"`
	With      string  `json:"with" doc:"the same, of the runs compared with it"`
	Threshold float64 `json:"threshold,omitempty" limit:"0 to 10" doc:"min difference, 0.03 is 3 % (default: test's)"`
	Primary   string  `json:"primary,omitempty" doc:"values that decide, with commas (default: the test's)"`
	JudgeAll  bool    `json:"judge_all,omitempty" doc:"other tested values decide too"`
	// JudgeUnlike judges sides that were not measured alike.
	JudgeUnlike bool `json:"judge_unlike,omitempty" doc:"judge sides that were not measured alike"`
}

// Primaries returns the names of the primary values.
func (p CompareParams) Primaries() (names []string) {
	for name := range strings.SplitSeq(p.Primary, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Compared is the result of compare.
type Compared struct {
	Base       string          `json:"base" doc:"ID of the compared run or set"`
	With       string          `json:"with"`
	Outcome    string          `json:"outcome" doc:"\"passed\", \"regressed\" or \"inconclusive\""`
	Sentence   string          `json:"sentence" doc:"why, in words; empty where it passed"`
	Comparison json.RawMessage `json:"comparison" doc:"what eideticker compare --json prints"`
}
