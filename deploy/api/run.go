package api

// RunInfo is a run in the store.
type RunInfo struct {
	ID             string  `json:"run"`
	Set            string  `json:"set" doc:"ID of the set that it belongs to; empty where it was made alone"`
	Test           string  `json:"test" doc:"empty for a recording without a test"`
	Device         string  `json:"device"`
	Browser        string  `json:"browser"`
	BrowserVersion string  `json:"browser_version"`
	Label          string  `json:"label"`
	Branch         string  `json:"branch"`
	Revision       string  `json:"revision"`
	State          string  `json:"state" doc:"\"running\", \"ok\", \"rejected\", \"failed\", \"unreadable\""`
	Reason         string  `json:"reason,omitempty" doc:"why it failed, was rejected, or cannot be read"`
	StartedWallNS  int64   `json:"started_wall_ns"`
	ElapsedNS      int64   `json:"elapsed_ns"`
	Frames         uint64  `json:"frames" doc:"stored"`
	Lost           uint64  `json:"lost_frames"`
	Bytes          int64   `json:"bytes" doc:"of its folder"`
	Pinned         bool    `json:"pinned" doc:"is never deleted to make room"`
	Verdict        string  `json:"verdict" doc:"of the primary values against the baseline, see verdict.json"`
	Base           string  `json:"base,omitempty" doc:"ID of what they were held against"`
	WarmUp         bool    `json:"warm_up" doc:"takes no part in comparisons"`
	Values         []Value `json:"values" doc:"in lists only the headline ones"`
}

// Value is a number that was measured.
type Value struct {
	Measure string  `json:"measure"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Window  string  `json:"window,omitempty" doc:"of several, its name or number"`
	Value   float64 `json:"value"`
	Low     float64 `json:"low" doc:"the true value is not below"`
	High    float64 `json:"high" doc:"the true value is not above"`
	State   string  `json:"state" doc:"\"exact\" or \"bounded\""`
	Text    string  `json:"text" doc:"the value with its unit, for people"`
}

// ListParams are those of run.list. Empty fields do not restrict the list.
type ListParams struct {
	Text       string `json:"text,omitempty" limit:"300 bytes, 10 words" doc:"words in names, labels and outcomes"`
	Test       string `json:"test,omitempty"`
	Device     string `json:"device,omitempty"`
	Browser    string `json:"browser,omitempty"`
	Label      string `json:"label,omitempty"`
	Branch     string `json:"branch,omitempty"`
	Revision   string `json:"revision,omitempty"`
	State      string `json:"state,omitempty"`
	Verdict    string `json:"verdict,omitempty" doc:"such as regressed, improved or inconclusive"`
	Set        string `json:"set,omitempty"`
	FromWallNS int64  `json:"from_wall_ns,omitempty" doc:"begun then or later"`
	ToWallNS   int64  `json:"to_wall_ns,omitempty" doc:"begun before"`
	Limit      int    `json:"limit,omitempty" limit:"1 to 200" doc:"50 if not given"`
	Cursor     string `json:"cursor,omitempty" doc:"next of the page before"`
}

// Runs is the result of run.list, newest first.
type Runs struct {
	Runs  []RunInfo `json:"runs"`
	Next  string    `json:"next" doc:"cursor of the next page; empty: this is the last"`
	Total int       `json:"total" doc:"of all pages"`
}

// RunID names a run, or a set where that is said.
type RunID struct {
	Run string `json:"run"`
}

// RunDetail is the result of run.get.
type RunDetail struct {
	RunInfo
	Environment map[string]string `json:"environment" doc:"device, browser and rig"`
	Files       []File            `json:"files" doc:"of its folder; each is at /api/v1/runs/RUN/NAME"`
}

// File is one in a run folder.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Deleted is the result of run.delete.
type Deleted struct {
	Run string `json:"run"`
}

// PinParams are those of run.pin.
type PinParams struct {
	Run    string `json:"run"`
	Pinned bool   `json:"pinned"`
}

// SetInfo is runs that were made together.
type SetInfo struct {
	ID            string `json:"set"`
	Test          string `json:"test"`
	Label         string `json:"label"`
	Branch        string `json:"branch"`
	Revision      string `json:"revision"`
	StartedWallNS int64  `json:"started_wall_ns"`
	Runs          int    `json:"runs"`
	OK            int    `json:"ok"`
	Failed        int    `json:"failed"`
	Rejected      int    `json:"rejected"`

	Devices  []string `json:"devices"`
	Browsers []string `json:"browsers"`
	Verdicts []string `json:"verdicts" doc:"of its runs, each once: those of several browsers or devices may differ"`
	Counting int      `json:"counting" doc:"runs that take part in comparisons"`
	Bytes    int64    `json:"bytes"`
	Pinned   int      `json:"pinned" doc:"of its runs"`
}

// Sets is the result of set.list, newest first.
type Sets struct {
	Sets  []SetInfo `json:"sets"`
	Next  string    `json:"next"`
	Total int       `json:"total"`
}

// TrendParams are those of trend.
type TrendParams struct {
	Test       string `json:"test"`
	Device     string `json:"device,omitempty"`
	Browser    string `json:"browser,omitempty"`
	Branch     string `json:"branch,omitempty"`
	Measure    string `json:"measure" doc:"such as fps"`
	Value      string `json:"value" doc:"such as framerate"`
	Window     string `json:"window,omitempty"`
	FromWallNS int64  `json:"from_wall_ns,omitempty"`
	ToWallNS   int64  `json:"to_wall_ns,omitempty"`
	Limit      int    `json:"limit,omitempty" limit:"1 to 1000" doc:"latest points; 200 if not given"`
}

// Trend is the result of trend, oldest first.
type Trend struct {
	Unit   string  `json:"unit"`
	Better string  `json:"better" doc:"\"higher\", \"lower\", or empty where neither is"`
	Points []Point `json:"points"`
}

// Point is a set or a single run in a trend.
type Point struct {
	ID            string  `json:"id" doc:"of the set or the run"`
	Variant       string  `json:"variant,omitempty" doc:"of the set, where it has a name of its own"`
	StartedWallNS int64   `json:"started_wall_ns"`
	Runs          int     `json:"runs" doc:"that count"`
	Device        string  `json:"device"`
	Browser       string  `json:"browser"`
	Median        float64 `json:"median"`
	Interval      bool    `json:"interval" doc:"low and high are valid, which takes six runs"`
	Low           float64 `json:"low" doc:"95 % interval of the median of a set, bounds of a single run"`
	High          float64 `json:"high"`
	Text          string  `json:"text" doc:"the median with its unit, for people"`
	IntervalText  string  `json:"interval_text" doc:"low and high, for people; empty without an interval"`
	Verdict       string  `json:"verdict" doc:"against the point before of the same device, browser and branch"`
	Reason        string  `json:"reason,omitempty" doc:"why the verdict is missing though an earlier point exists"`
	Before        string  `json:"before,omitempty" doc:"ID of that point"`
	Label         string  `json:"label"`
	Revision      string  `json:"revision"`
}

// Baselines is the result of baseline.list and baseline.set.
type Baselines struct {
	Baselines []Baseline `json:"baselines"`
}

// Baseline is a run or a set with a name that others are held against.
type Baseline struct {
	Name string `json:"name" limit:"64 letters, digits and . _ -"`
	ID   string `json:"id" doc:"of a run or a set; empty in baseline.set takes the name away"`
}

// CleanParams are those of store.clean.
type CleanParams struct {
	AgeNS    int64 `json:"age_ns,omitempty" doc:"unused for this time (default: store.unused_age)"`
	MaxBytes int64 `json:"max_bytes,omitempty" doc:"list the longest unused ones until the others have so many; 0: any"`
	Remove   bool  `json:"remove,omitempty" doc:"remove the listed files"`
}

// Cleaned is the result of store.clean.
type Cleaned struct {
	Removed   bool         `json:"removed"`
	LeftBytes int64        `json:"left_bytes" doc:"of files that are not listed"`
	Files     []UnusedFile `json:"files"`
}

// UnusedFile is an archive of a site, a trace or a cache.
type UnusedFile struct {
	Name       string `json:"name" doc:"below the data directory"`
	Bytes      int64  `json:"bytes"`
	UsedWallNS int64  `json:"used_wall_ns" doc:"last use"`
	Why        string `json:"why" doc:"\"expired\", \"unfinished\" or \"over the quota\""`
}
