package result

// Profile is the activity of the device's processes during a recording. Times ending in _ns are on
// the recording's clock, durations in ns.
type Profile struct {
	// Sentence states the first finding.
	Sentence string         `json:"sentence"`
	Traces   []ProfileTrace `json:"traces"`
	// Functions are those that other parts refer to, and those with the longest self time.
	Functions []ProfileFunction `json:"functions"`
	Threads   []ProfileThread   `json:"threads"` // busiest first
	// Late are the late frames with the activity before them, worst first.
	Late []ProfileLate `json:"late"`
	// Tests compare shares of functions in late and in other frames, least p first.
	Tests []ProfileTest `json:"tests"`
	// TestText states the result of the tests, such as inconclusive and its reason.
	TestText string `json:"test_text"`
	// LateFrames and OtherFrames are those of the tests.
	LateFrames  int `json:"late_frames"`
	OtherFrames int `json:"other_frames"`
	// Events are the first garbage collections, long tasks, layouts and missed deadlines.
	Events     []ProfileEvent `json:"events"`
	EventsLeft int64          `json:"events_left_out"`
	// Claims compare traces' claims about frames with the captured frames.
	Claims []ProfileClaims `json:"claims"`
	// Sockets has the longest waits for sockets of each thread, longest first.
	Sockets  []SocketWait `json:"sockets"`
	Warnings []string     `json:"warnings"`
}

// ProfileTrace is one trace of a run.
type ProfileTrace struct {
	Name    string `json:"name"`
	Engine  string `json:"engine"`
	Way     string `json:"way"`
	Why     string `json:"why"`
	Events  int64  `json:"events"`
	Lost    int64  `json:"lost"`
	BeginNS int64  `json:"begin_ns"`
	EndNS   int64  `json:"end_ns"`
	// ClockNS is the half width of the clock's bounds; 0: the recording's clock.
	ClockNS int64  `json:"clock_ns"`
	Clock   string `json:"clock_text"`
	// Unnamed and Cut are shares of the samples: their innermost function has no name, and their
	// stack ends too early.
	Unnamed float64 `json:"unnamed"`
	Cut     float64 `json:"cut"`
	Text    string  `json:"text"` // all in words
}

// ProfileFunction is a function of any language.
type ProfileFunction struct {
	Name   string `json:"name"`
	Module string `json:"module"`
	File   string `json:"file"`
	Line   int    `json:"line"`   // from 1; 0 unknown
	Column int    `json:"column"` // from 1; 0 unknown
	// Language is native, javascript, kernel, category or empty.
	Language string `json:"language"`
	Calls    int64  `json:"calls"`   // -1: unknown, it was sampled
	SelfNS   int64  `json:"self_ns"` // on a CPU
	TotalNS  int64  `json:"total_ns"`
	Text     string `json:"text"` // such as Layout (chromium) or heavyLoop (app.js:4)
}

// ProfileThread is a thread with its activity in lanes of equal length over the recording.
type ProfileThread struct {
	Process     int    `json:"process"`
	ID          int    `json:"id"`
	Name        string `json:"name"`
	ProcessName string `json:"process_name"`
	RunningNS   int64  `json:"running_ns"`
	// Lane has the share of each step, in percent, for which the thread was on a CPU.
	Lane   []uint8 `json:"lane"`
	FromNS int64   `json:"from_ns"` // begin of the first step
	StepNS int64   `json:"step_ns"`
	Text   string  `json:"text"` // such as CrRendererMain (chromium 4711)
}

// ProfileLate is a late frame with the activity of threads before it.
type ProfileLate struct {
	Window int `json:"window"`
	Frame  int `json:"frame"`
	// Response states that FromNS is an input and Frame its answer. With Load, they are the begin of
	// a load and its first change.
	Response bool            `json:"response"`
	Load     bool            `json:"load,omitempty"`
	FromNS   int64           `json:"from_ns"` // time of the unique frame before it
	ToNS     int64           `json:"to_ns"`
	Threads  []ProfileActive `json:"threads"` // busiest first; a blocked one is first or second
	// Work is the longest work of the browser itself, such as layout. The function may contain it.
	Work []ProfileWork `json:"work"`
	// Lost states records that the traces lost meanwhile, and the causes.
	Lost []string `json:"lost"`
	// Sentence states the longest activity in words. It is measured.
	Sentence string `json:"sentence"`
	// Suspected states the last response that ended within the interval, before the picture was
	// sampled; empty: none. No measurement relates it to the frame.
	Suspected string `json:"suspected"`
}

// Span returns the time before the frame. It does not state whether that is long.
func (l *ProfileLate) Span() FrameSpan {
	return FrameSpan{Window: l.Window, Frame: l.Frame, FromNS: l.FromNS, ToNS: l.ToNS, Response: l.Response,
		Load: l.Load}
}

// ProfileWork is the time of a thread with a kind of the browser's own work, with its waits.
type ProfileWork struct {
	Kind   string `json:"kind"`   // such as layout
	Thread int    `json:"thread"` // index in Threads
	NS     int64  `json:"ns"`
}

// ProfileActive is the activity of a thread within a span. Its three times add up to the span, if
// switches were recorded.
type ProfileActive struct {
	Thread   int  `json:"thread"` // index in Threads
	Running  Span `json:"running_ns"`
	Runnable Span `json:"runnable_ns"`
	Waiting  Span `json:"waiting_ns"`
	// Function is the innermost named function that ran for at least half of the time, scripts before
	// others. It is an index in Functions; -1: none.
	Function   int  `json:"function"`
	FunctionNS Span `json:"function_ns"`
	// Sampled states that the times of functions are those of samples.
	Sampled bool `json:"sampled"`
	// Tree has the longest functions with their callers: the inverted tree.
	Tree []ProfileNode `json:"tree"`
	// Waits are the longest waits with the functions that waited.
	Waits []ProfileWait `json:"waits"`
	// Blocked states that the frame may have waited for this thread: the first of its waits took at
	// least half of the span, and the thread ran before and after it.
	Blocked bool   `json:"blocked"`
	Text    string `json:"text"` // such as ran 83 of 96 ms, waited 13 ms
}

// ProfileNode is a function, and below it the functions that called it.
type ProfileNode struct {
	Function int           `json:"function"` // index in Functions; -1: left out
	NS       int64         `json:"ns"`
	LowNS    int64         `json:"low_ns"`
	HighNS   int64         `json:"high_ns"`
	Samples  int64         `json:"samples"` // 0: measured calls
	Text     string        `json:"text"`    // such as 80 ms
	Callers  []ProfileNode `json:"callers"`
}

// ProfileWait is the waits of a thread for one caller in its program.
type ProfileWait struct {
	NS    int64 `json:"ns"`    // within the span, of all of them
	Times int   `json:"times"` // number of waits
	// BeginNS, EndNS, Functions and WokenBy are those of the longest one.
	BeginNS int64 `json:"begin_ns"`
	EndNS   int64 `json:"end_ns"`
	// Functions are those that waited, innermost first; indices in Functions, or -1.
	Functions []int  `json:"functions"`
	WokenBy   int    `json:"woken_by"` // index in Threads; -1 unknown
	Text      string `json:"text"`     // such as waited 12 ms in futex, below WaitableEvent::Wait
}

// ProfileTest compares a function's share of frame time in late frames and in others.
type ProfileTest struct {
	Function int     `json:"function"` // index in Functions
	LateNS   int64   `json:"late_ns"`  // mean of late frames
	LowNS    int64   `json:"low_ns"`   // 95 % bootstrap interval of that mean
	HighNS   int64   `json:"high_ns"`
	OtherNS  int64   `json:"other_ns"` // mean of other frames
	FrameNS  int64   `json:"frame_ns"` // mean length of late frames
	Frames   int     `json:"frames"`   // late ones
	P        float64 `json:"p"`        // after Holm's correction
	Named    bool    `json:"named"`    // p is below 5 %, and the share is larger by 5 %
	Text     string  `json:"text"`
}

// ProfileEvent is something that a trace reports, such as a garbage collection.
type ProfileEvent struct {
	Kind       string `json:"kind"` // gc, long-task, layout, missed-frame, measure
	Name       string `json:"name"`
	Thread     int    `json:"thread"` // index in Threads; -1 unknown
	EarliestNS int64  `json:"earliest_ns"`
	LatestNS   int64  `json:"latest_ns"`
	DurationNS int64  `json:"duration_ns"`
	Frame      int    `json:"frame"` // the first changed frame after it; -1 none
	Text       string `json:"text"`
}

// ProfileClaims compares the claims of a trace about frames with the captured frames of a window.
type ProfileClaims struct {
	Trace   string `json:"trace"`
	Window  int    `json:"window"`
	By      string `json:"by"`      // ByStrip or ByOrder; empty: no claim has a captured frame
	Frames  int    `json:"frames"`  // that the trace claims to be presented
	Matched int    `json:"matched"` // of them
	// Delay is the time from the claimed present to the captured frame: the median, and the bounds of
	// 95 %.
	Delay Span `json:"delay_ns"`
	// Jank counts claims of late, partial and dropped frames. Of them, Harmless come with a captured
	// frame that is not late.
	Jank     int `json:"jank"`
	Harmless int `json:"jank_without_effect"`
	// Late counts late captured frames. CalledGood are those that the trace calls good, and
	// GoodFrames the first of them.
	Late       int    `json:"late"`
	CalledGood int    `json:"late_called_good"`
	GoodFrames []int  `json:"good_frames"`
	Text       string `json:"text"`
}

// Ways to match claims with captured frames.
const (
	ByStrip = "strip"
	ByOrder = "order"
)

// SocketWait is a wait of a thread for a socket, joined to a request.
type SocketWait struct {
	Thread  int    `json:"thread"` // index in Threads; -1 unknown
	Call    string `json:"call"`   // such as poll, recvfrom
	BeginNS int64  `json:"begin_ns"`
	EndNS   int64  `json:"end_ns"`
	Bytes   int64  `json:"bytes"`
	Request string `json:"request"` // address without a query; empty: unknown
	// LinkNS is the time at which the last of these bytes were at the device; 0 unknown.
	LinkNS int64 `json:"link_ns"`
	// WokenNS is the time at which the thread woke the next one, WokenThread, after it read them; 0
	// unknown.
	WokenNS     int64  `json:"woken_ns"`
	WokenThread int    `json:"woken_thread"` // index in Threads; -1 unknown
	Text        string `json:"text"`
}

// Limits of the lists of a profile. The traces have everything.
const (
	MaxTraces  = 16
	MaxThreads = 192
	// MaxProfileFunctions includes those of trees.
	MaxProfileFunctions = 1000
	maxLane             = 1000
	MaxLateThreads      = 5
	MaxTree             = 8 // functions below one
	MaxTreeDepth        = 6
	MaxWaits            = 3
	MaxWaitStack        = 10
	MaxTests            = 20
	TestLevel           = 0.05 // a function is named below it
	MaxProfileEvents    = 2000
	MaxClaims           = 100
	MaxWork             = 4
	maxSocketWaits      = 3 * MaxThreads
)

// Kinds of the browser's own work, as sentences name them.
const (
	WorkStyle   = "style recalculation"
	WorkLayout  = "layout"
	WorkPaint   = "painting"
	WorkDecode  = "image decoding"
	WorkCompile = "script compilation"
	WorkGC      = "garbage collection"
)

// Kinds of events of a profile.
const (
	EventGC       = "gc"
	EventLongTask = "long-task"
	EventLayout   = "layout"
	EventMissed   = "missed-frame"
	EventMeasure  = "measure" // of the page's own, by performance.measure
)
