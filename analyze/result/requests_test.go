package result

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
)

// loaded returns a run whose picture changed twice. Frame 10 came 600 ms after T0. Frame 18 came
// 800 ms later.
func loaded(requests []SlowRequest, late ...LateFrame) *Results {
	w := window(analyze.Result{Measure: "speedindex", State: analyze.Exact, Values: []analyze.Value{
		value("first_visual_change", 600, "ms", analyze.Lower, 10),
		value("pixel.complete_100", 1400, "ms", analyze.Lower, 18)},
		Series: []analyze.Series{{Name: "pixel.progress", Frames: []int{10, 18}, Values: []float64{0.2, 1}}}})
	w.T0.AtNS, w.T0.Source = w.StartNS-600e6, "browser navigation"
	w.Times.Earliest, w.Times.Latest, w.Red, w.EndNS = w.Times.Time, w.Times.Time, -1, w.StartNS+9e8
	return &Results{Recording: Recording{Frames: 30, PeriodNS: 1e8}, Windows: []Window{*w},
		Quality: analyze.Result{Measure: "quality", State: analyze.Exact},
		Script: &Script{Requests: requests, Late: late,
			Functions: []Function{{Name: "slow", URL: "http://a.test/app.js", Line: 3}}}}
}

func chain(n int, of func(i int64) SlowRequest) (all []SlowRequest) {
	for i := range n {
		all = append(all, of(int64(i)))
	}
	return all
}

// TestRequestsBeforeLateFrames: the headline names the request for which the longer part of a load
// waited. A function that ran for half of that time comes before it.
func TestRequestsBeforeLateFrames(t *testing.T) {
	// Times are in ms from the window's begin, at which frame 10 appeared.
	request := func(url string, begin, wait, took int64) SlowRequest {
		waits := int64(-1)
		if wait >= 0 {
			waits = wait * 1e6
		}
		return SlowRequest{URL: "http://a.test" + url, By: "fetch", BeginNS: 2e9 + begin*1e6, WaitNS: waits,
			TookNS: took * 1e6}
	}
	ran := func(ms float64, load bool) LateFrame {
		l := LateFrame{Frame: 18, FromNS: 2e9, ToNS: 2_800e6, Functions: []RanMeantime{{0, nsSpan(ms, 0)}}}
		if load {
			l.Frame, l.FromNS, l.ToNS, l.Response, l.Load = 10, 2e9-600e6, 2e9, true, true
		}
		return l
	}
	const first, plain = "The first change came after 600 ms", "The first change came after 600 ms, and the picture " +
		"was complete after 1.40 s"
	for _, tc := range []struct {
		name string
		of   *Results
		want string
	}{
		{"none", loaded(nil), plain + "."},
		{"the rest waits", loaded([]SlowRequest{request("/prices.json?key=1", 10, 690, 700)}),
			plain + ": the request for prices.json took 700 ms of it."},
		{"the first change waits for the document", loaded([]SlowRequest{request("/", -590, 500, 520)}),
			first + ": the request for a.test took 520 ms of it; the picture was complete after 1.40 s."},
		{"an image does not hold it up", loaded([]SlowRequest{request("/a.png", -590, 500, 550),
			request("/a.css", -580, 490, 500)}),
			first + ": the request for a.css took 500 ms of it; the picture was complete after 1.40 s."},
		{"another host does not state the first byte", loaded([]SlowRequest{request("/a.png", 10, -1, 700)}),
			plain + ": the request for a.png took 700 ms of it."},
		{"its response comes in parts", loaded([]SlowRequest{request("/a.png", 10, 750, 2000)}),
			plain + ": the request for a.png took 750 ms of it."},
		{"less than half", loaded([]SlowRequest{request("/a.png", 10, 20, 380)}), plain + "."},
		{"a stream goes on", loaded([]SlowRequest{request("/events", -500, 20, 9000)}), plain + "."},
		{"a poll from before the load", loaded([]SlowRequest{request("/poll", -1500, -1, 2200)}), plain + "."},
		{"short ones in a chain",
			loaded(chain(25, func(i int64) SlowRequest { return request("/m.js", 10+30*i, 20, 30) })),
			plain + ": 25 requests (the longest: m.js) took 750 ms of it."},
		{"an image beside another", loaded([]SlowRequest{request("/a.png", -590, 300, 330),
			request("/app.js", -240, 200, 220)}),
			first + ": 2 requests (the longest: a.png) took 550 ms of it; the picture was complete after 1.40 s."},
		{"it ends afterwards", loaded([]SlowRequest{request("/late", 10, 900, 1000)}), plain + "."},
		{"one after the other", loaded([]SlowRequest{request("/a", 10, 200, 210), request("/b", 230, 200, 250),
			request("/c", 490, 200, 210)}), plain + ": 3 requests (the longest: b) took 670 ms of it."},
		{"at the same time", loaded([]SlowRequest{request("/a", 10, 600, 610), request("/b", 10, 690, 700)}),
			plain + ": the request for b took 700 ms of it."},
		{"a function for half", loaded([]SlowRequest{request("/a", 10, 690, 700)}, ran(400, false)),
			plain + ": slow (app.js:3) ran for 400 ms of it."},
		{"a function for less", loaded([]SlowRequest{request("/a", 10, 690, 700)}, ran(390, false)),
			plain + ": the request for a took 700 ms, and slow (app.js:3) ran for 390 ms of it."},
		{"a function for little", loaded([]SlowRequest{request("/a", 10, 690, 700)}, ran(190, false)),
			plain + ": the request for a took 700 ms of it."},
		{"a function before the first change", loaded(nil, ran(400, true)),
			first + ": slow (app.js:3) ran for 400 ms of it; the picture was complete after 1.40 s."},
	} {
		full, err := tc.of.Complete()
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got := full.Windows[0].Answer.Sentence; got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

// TestRequestsOfTheNetwork: the test network's requests come before those that pages state. Their
// ends are stated, or follow from their parts.
func TestRequestsOfTheNetwork(t *testing.T) {
	for _, end := range []int64{0, 2_700e6} {
		r := loaded([]SlowRequest{{URL: "http://a.test/claim", BeginNS: 2e9, TookNS: 790e6}},
			LateFrame{Frame: 18, FromNS: 2e9, ToNS: 2_800e6})
		r.Network = &Network{Requests: 1, List: []Request{{Method: "POST", URL: "http://a.test/save?x=1", Status: 200,
			Protocol: "h2", BeginNS: 2e9 + 100e6, NameNS: -1, ConnectNS: 50e6, TLSNS: -1, WaitNS: 500e6, LoadNS: 50e6,
			EndNS: end}}}
		full, err := r.Complete()
		if err != nil {
			t.Fatal(err)
		}
		const want = "The frame at 1.40 s came 800 ms after the one before it. No instrumented script ran meanwhile. " +
			"The request for POST save took 600 ms of it, 550 ms until its first byte."
		if got := full.Script.Late[0].Sentence; got != want {
			t.Errorf("end %d:\n%s\nwant\n%s", end, got, want)
		}
		if marks := full.LateMarks(0); len(marks) != 1 || marks[0] != (Mark{10, 18, "POST save 600 ms"}) {
			t.Errorf("end %d: marks %v", end, marks)
		}
	}
}

// TestRequestsBesideAnAnimation: a frame of an animation does not wait for a request that began
// long before it.
func TestRequestsBesideAnAnimation(t *testing.T) {
	for begin, want := range map[int64]string{1_900e6: "", 2_390e6: ": the request for poll took 480 ms of it"} {
		r := paused()
		r.Script.Requests = []SlowRequest{{URL: "http://a.test/poll", BeginNS: begin, WaitNS: -1,
			TookNS: 2_880e6 - begin}}
		full, err := r.Complete()
		if err != nil {
			t.Fatal(err)
		}
		want = "The animation dropped 3 frames; the worst pause was 500 ms, at 0.5 s" + want + "."
		if got := full.Windows[0].Answer.Sentence; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRequestNames: names of requests are printable and bounded. A terminal prints them.
func TestRequestNames(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.test/img/hero%20big.png?v=2": "hero big.png", "https://a.test/": "a.test",
		"https://a.test":           "a.test",
		"https://a.test/%1b[2J.js": "%1b[2J.js", "https://a.test/caf%C3%A9": "café", "https://a.test/a/": "a",
		"data:image/png;base64,\x1b[2J":              "data:image/png;base64, [2J",
		"https://a.test/" + strings.Repeat("x", 100): strings.Repeat("x", 59) + "…", "": "",
	} {
		if got := requestName(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
