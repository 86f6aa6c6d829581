package result

import (
	"encoding/json"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/noise"
	"github.com/eideticker/eideticker/analyze/vitals"
)

// sample returns results in which every field has a value.
func sample() *Results {
	claimed := 63.0
	r := &Results{
		Schema: Schema, Version: Version,
		Recording: Recording{
			ID: "5f1c9a4e", Name: "canvas.eid", File: "recording.eid", Frames: 300, Lost: 2, Width: 1280, Height: 720,
			PixelFormat: "BGR4", PeriodNS: 16_683_350, StartedWallNS: 1_700_000_000_000_000_000,
			DurationNS: 5_021_688_350, OwnClock: true, Unclosed: true,
		},
		Environment: Environment{EnvBrowser: "Chromium 140.0.7339.185", EnvOS: "Debian 12", EnvMachineShared: "yes"},
		Settings: Settings{
			Region: []int{0, 0, 1280, 720}, Masks: [][]int{{10, 20, 30, 40}}, Tolerance: 3, MinPixels: 12, Strict: true,
			Measures: []string{"fps"}, Primary: []string{"fps.framerate"},
		},
		Quality: analyze.Result{
			Measure: "quality", Version: 1, State: analyze.Exact,
			Values: []analyze.Value{{
				Name: "lost", Unit: "frames", Value: 2, Low: 2, High: 2, State: analyze.Exact, Better: analyze.Lower,
				Frames: []int{120},
			}},
			Warnings: []string{"2 frames were lost before frame 120: ring full"},
		},
		Network: &Network{
			Profile: "3g", RTTAskedNS: 300_000_000, RTTNS: 300_400_000, DownAsked: 1_600_000, Down: 1_597_000,
			UpAsked: 768_000, Up: 766_000, LossAsked: 0.01, Loss: 0.011,
			Requests: 12, Missed: 1, NamesRefused: 3, Connections: 2, BytesUp: 12_345, BytesDown: 345_678,
			File:     "network.har",
			ByType:   []vitals.Traffic{{Name: "document", Requests: 12, Bytes: 345_000}},
			ByDomain: []vitals.Traffic{{Name: "page.test", Requests: 12, Bytes: 345_000}},
			List: []Request{{
				Method: "GET", URL: "http://page.test/load.html", Status: 200, Protocol: "http/1.1", Priority: "u=0, i",
				Reused: true, BeginNS: 900_100_000, NameNS: 300_500_000, ConnectNS: 300_300_000,
				TLSNS: 301_000_000, WaitNS: 302_000_000, LoadNS: 40_000_000,
				EndNS: 2_150_000_000, Exact: true, WireBytes: 3_300,
				BodyBytes: 3_000, DecodedBytes: 9_000,
			}},
		},
		Vitals: &vitals.Claims{
			Sentence: "The page claims its largest paint after 640 ms; its pixels were seen after 650 ms.",
			Result: analyze.Result{Measure: vitals.Name, Version: 1, State: analyze.Bounded, Values: []analyze.Value{
				{Name: "lcp", Unit: "ms", Value: 640, Low: 640, High: 640, State: analyze.Exact, Better: analyze.Lower},
				{Name: "lcp_seen", Unit: "ms", Value: 650, Low: 634, High: 651, State: analyze.Bounded,
					Better: analyze.Lower, Frames: []int{103}},
				{Name: "cls", Unit: "score", State: analyze.Refused, Better: analyze.Lower,
					Note: "this browser does not offer it"},
			}},
			Element: "img#hero", Region: []int{100, 60, 400, 300}, OriginNS: 910_000_000, OriginWithinNS: 1_300_000,
			Timings:  []vitals.Timing{{Name: "until hero", AtMS: 3.5, LastMS: &claimed}},
			Errors:   []string{"TypeError: x is not a function"},
			ByType:   []vitals.Traffic{{Name: "image", Requests: 2, Bytes: 40_000}},
			ByDomain: []vitals.Traffic{{Name: "page.test", Requests: 2, Bytes: 40_000}},
		},
		Windows: []Window{{
			Name: "canvas", Kind: Markers, Green: 100, Start: 101, End: 104, Red: 106, StartNS: 1_000_000_000,
			EndNS:  1_083_416_750,
			Region: []int{0, 0, 1280, 720}, Masks: [][]int{{10, 20, 30, 40}, {0, 0, 768, 8}}, Tolerance: 2,
			MinPixels: 5,
			Noise: &noise.Calibration{
				Frames: 30, Pattern: 12, Tolerance: 2, MinPixels: 5, FalseRate: 1e-4, SmallestPixels: 6,
				SmallestLevels: 5, Columns: 2, Tiles: []int{2, 1, 0, 2},
			},
			T0: &T0{AtNS: 900_000_000, UncertaintyNS: 50_000, Source: "navigation"},
			Times: FrameTimes{
				First: 100, Time: []int64{-16_683_350, 0, 16_683_350},
				Earliest: []int64{-17_000_000, -300_000, 16_400_000},
				Latest:   []int64{-16_600_000, 10_000, 16_700_000},
				Lost:     []Loss{{Before: 102, Frames: 2, Cause: "ring full"}},
			},
			Results: []analyze.Result{
				{
					Measure: "fps", Version: 1, State: analyze.Bounded,
					Values: []analyze.Value{{
						Name: "framerate", Unit: "frames/s", Value: 59.9, Low: 58, High: 60.1, State: analyze.Bounded,
						Better:    analyze.Higher,
						Threshold: 0.02, Frames: []int{101, 104}, Note: "two frames are missing",
					}},
					Series: []analyze.Series{{Name: "frame_time", Unit: "ms", Holds: true, Frames: []int{101, 102},
						Values: []float64{16.7, 33.4}}},
					Evidence: []analyze.Evidence{{Kind: "freeze", Frame: 102, Rows: []int{7}, Region: []int{1, 2, 3, 4},
						Text: "stands for 2 frames"}},
					Warnings: []string{"few frames"}, Detail: json.RawMessage(`{"unique":4}`),
				},
				{Measure: "tearing", Version: 1, State: analyze.Refused,
					Refusal: "no images are given; name them with --images"},
			},
			Claims: map[string]float64{"fps.framerate": 60},
			Checks: []Check{{
				What: "frames drawn", Unit: "frames", Measured: Span{59, 58, 60}, Drawn: Span{61, 60, 62},
				Claimed: &claimed, Agrees: true, Frames: []int{103},
				Note: "one is doubtful",
			}, {What: "latency, median", Unit: "ms", Unchecked: true, Frames: []int{},
				Note: "2 answers came and went where nobody could see them"}},
			Pictures: []Picture{{Kind: PictureHeatMap, File: "pictures/heatmap.png", Data: "pictures/heatmap.npy",
				Text: "Changes.", Measure: "heatmap", Frame: -1},
				{Kind: PictureWaterfall, File: "pictures/waterfall.svg", Data: "network.har",
					Text: "What the network brought.", Frame: -1}},
			Channel: &Channel{
				Form: "exact", PacketBytes: 3840, Frames: 4, Packets: 5, Bytes: 9000, Lost: 2, Before: 1,
				Losses: []ChannelLoss{{Before: 104, Packets: 2}}, Broken: 1,
				BrokenFrames: []int{103}, Messages: 3, Cut: 1,
				Told: 5, Unsent: 1, List: []ChannelMessage{{Frame: 101, Whole: 102, Clock: 935_000, Bytes: 18,
					Text: `{"score":1,"of":2}`}}},
			Warnings: []string{"the green is torn at line 300 in frame 101"},
		}},
		Script:      sampleScript(),
		Profile:     sampleProfile(),
		Video:       &Video{File: "video.mp4", Map: "video.mp4.json"},
		Pictures:    []Picture{{Kind: PictureFilmstrip, File: "pictures/filmstrip.png", Text: "All of it.", Frame: 3}},
		RetriedRuns: 1, Notes: []string{"begun again once: the browser did not start"},
	}
	r = clone(r)
	r.fill()
	return r
}

// sampleScript has two realms, of which the main one runs a slow function while frame 104 is late.
func sampleScript() *Script {
	span := func(ms, low, high float64) Span { return Span{ms * 1e6, low * 1e6, high * 1e6} }
	brief := Place{Function: "each", URL: "https://page.test/app.js", Line: 14, Column: 9, Source: "src/app.ts",
		SourceLine: 7}
	return &Script{
		Policies: []string{"calls", "errors"},
		Programs: ScriptPrograms{Served: 41, Instrumented: 38, Bytes: 900_000, CoveredBytes: 870_000,
			AddedBytes: 150_000,
			Functions:  1931, CalledOfThem: 412},
		Plain: []PlainScript{{URL: "https://cdn.test/ad.js", Reason: "unexpected : at 1:5", Count: 2},
			{URL: "https://page.test/sw.js", Reason: "service worker", Count: 1}},
		Realms:  []ScriptRealm{{RealmWindow, "https://page.test/"}, {RealmWorker, "https://page.test/worker.js"}},
		ClockNS: 240_000, Records: 51_234, Lost: 1234,
		Gaps: []Gap{{FromNS: 1_070_000_000, ToNS: 1_080_000_000, Records: 1234, Cause: "ring full", Realm: 1}},
		Cost: ScriptCost{PerCallNS: Span{85, 80, 90}, CountedNS: span(0.41, 0.38, 0.44)},
		Functions: []Function{
			{Name: "slow", URL: "https://page.test/js/app.js?v=3", Line: 12, Column: 3, Calls: 3, Self: span(40.2,
				39.8, 40.6),
				Total: span(41, 40.5, 41.5), Min: span(1.2, 1.1, 1.3), Mean: span(13.7, 13.5, 13.9), Max: span(31,
					30.6, 31.4), Natives: []NativeCall{{Name: "JSON.parse()", Line: 14, Column: 9,
					Self: span(31, 30.5, 31.5)}}},
			{Name: "(anonymous)", URL: "https://page.test/js/lib.min.js", Line: 1, Column: 20_345,
				Source: "src/list.ts", SourceLine: 7, Calls: 1200, Brief: 900,
				Self: span(4.25, 4.2, 4.3), Total: span(4.5, 4.4, 4.6), Min: span(0.001, 0, 0.1), Mean: span(0.0035,
					0.003, 0.004),
				Max: span(0.4, 0.3, 0.5)},
		},
		Tasks: []Task{{BeginNS: 1_017_000_000, EndNS: 1_049_000_000, Function: 0, Realm: 0, Calls: 431},
			{BeginNS: 1_020_000_000, EndNS: 1_024_500_000, Function: -1, Realm: 1, Calls: 2}},
		TasksLeft: 17,
		Errors: []ScriptError{{Kind: ErrorThrown, Message: "TypeError: x is not a function",
			URL:  "https://page.test/js/app.js",
			Line: 20, Column: 7, Source: "src/App.tsx", SourceLine: 31, AtNS: 1_030_000_000, Count: 2, Frame: 104,
			Stack: []Place{{Function: "load", URL: "https://page.test/js/app.js", Line: 20, Column: 7,
				Source: "src/App.tsx", SourceLine: 31},
				{URL: "https://page.test/", Line: 3, Column: 1}}}},
		ErrorsLeft: 4,
		Requests: []SlowRequest{{URL: "http://page.test/prices.json", By: "fetch", BeginNS: 1_000_000_000,
			WaitNS: 240_000_000, TookNS: 250_000_000}},
		Late: []LateFrame{{Window: 0, Frame: 104, Response: true, Load: true,
			FromNS: 1_016_683_350, ToNS: 1_050_050_050,
			Functions: []RanMeantime{{0, span(30, 29.6, 30.4)}, {1, span(1, 0.9, 1.1)}},
			Native:    &NativeCall{Name: "JSON.parse()", Line: 14, Column: 9, Self: span(29, 28.5, 29.5)},
			Callers:   []Place{brief}, Within: true,
			UnexplainedNS: span(2.37, 1.9, 2.8), Brief: &BriefCalls{Calls: 70_000, Most: brief}}},
		Brief: &BriefCalls{Calls: 80_000, Most: brief},
		Plan: &ScriptPlan{Adapt: "live", Probability: 0.2, Points: 1200, Active: 40, Slow: 3, Share: 0.61, Loads: 4,
			Needed: 14, Stable: true, Plain: true, Dropped: 2, Off: "instrumented pages have more errors"},
		Warnings: []string{"the clock of a worker is bounded from two questions only"}, Log: "script.log",
	}
}

// sampleProfile has the samples of two threads. The main one runs a slow function before frame 104.
func sampleProfile() *Profile {
	span := func(ms, low, high float64) Span { return Span{ms * 1e6, low * 1e6, high * 1e6} }
	return &Profile{
		Traces: []ProfileTrace{{Name: "native", Engine: "perf", Way: "samples", Why: "uftrace is missing",
			Events: 4211, Lost: 12, BeginNS: 950_000_000, EndNS: 1_100_000_000, ClockNS: 310_000,
			Clock: "±0.31 ms (41 requests)", Unnamed: 0.62, Cut: 0.011}},
		Functions: []ProfileFunction{
			{Name: "heavyLoop", File: "https://page.test/js/app.js", Line: 4, Column: 9, Language: "javascript",
				Calls:  -1,
				SelfNS: 29_000_000, TotalNS: 30_000_000},
			{Module: "/opt/chromium/chromium", Language: "native", Calls: 7, SelfNS: 1_000_000, TotalNS: 40_000_000},
			{Name: "futex_wait", Module: "[kernel]", Language: "kernel", Calls: -1},
		},
		Threads: []ProfileThread{
			{Process: 4711, ID: 4711, Name: "CrRendererMain", ProcessName: "chromium", RunningNS: 31_000_000,
				Lane: []uint8{0, 20, 100}, FromNS: 950_000_000, StepNS: 50_000_000},
			{Process: 4711, ID: 4713, Name: "Compositor", ProcessName: "chromium", RunningNS: 2_000_000,
				Lane: []uint8{}, FromNS: 950_000_000, StepNS: 50_000_000}},
		Late: []ProfileLate{{Window: 0, Frame: 104, Response: true, Load: true,
			FromNS: 1_016_683_350, ToNS: 1_050_050_050,
			Work:      []ProfileWork{{Kind: WorkGC, Thread: 1, NS: 5_000_000}},
			Lost:      []string{"js lost records of Compositor: the buffer was full"},
			Suspected: "Suspected, not measured: the response of a.test/app.js came 12 ms before.",
			Threads: []ProfileActive{{Thread: 1, Running: span(30, 29, 31), Runnable: span(1, 0.5, 1.5),
				Waiting: span(2, 1.5, 2.5), Function: 1, FunctionNS: span(29, 28, 30), Sampled: true,
				Tree: []ProfileNode{{Function: 1, NS: 29_000_000, LowNS: 28_000_000, HighNS: 30_000_000, Samples: 29,
					Callers: []ProfileNode{}}},
				Waits: []ProfileWait{{NS: 2_000_000, Times: 1, BeginNS: 1_018_000_000, EndNS: 1_020_000_000,
					Functions: []int{2, 0}, WokenBy: 1}}, Blocked: true}}}},
		Tests: []ProfileTest{{Function: 1, LateNS: 11_200_000, LowNS: 9_800_000, HighNS: 12_900_000,
			OtherNS: 300_000, FrameNS: 33_400_000, Frames: 14, P: 0.002, Named: true}},
		LateFrames: 14, OtherFrames: 211,
		Events: []ProfileEvent{{Kind: EventGC, Name: "MinorGC", Thread: 1, EarliestNS: 1_020_000_000,
			LatestNS: 1_020_300_000, DurationNS: 1_200_000, Frame: 104}},
		EventsLeft: 3,
		Claims: []ProfileClaims{{Trace: "chromium", By: ByStrip, Frames: 98, Matched: 96, Delay: span(4.1, 3.2, 18),
			Jank: 3, Harmless: 1, Late: 2, CalledGood: 1, GoodFrames: []int{104}}},
		Sockets: []SocketWait{{Thread: 1, Call: "recvfrom", BeginNS: 1_000_000_000, EndNS: 1_004_000_000, Bytes: 1400,
			Request: "https://page.test/js/app.js", LinkNS: 1_003_000_000,
			WokenNS: 1_005_000_000, WokenThread: 1}},
		Warnings: []string{"native: records are lost"},
	}
}
