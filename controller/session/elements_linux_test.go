package session

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session/locate"
	"github.com/eideticker/eideticker/controller/suite"
)

// clickable is a page with a button whose click changes the page, and tells the server.
const clickable = `<!doctype html><title>shop</title><style>
html { background: #fff }
button { position: absolute; left: 300px; top: 200px; width: 100px; height: 50px }
</style><button>no</button><button id="buy" style="left: 500px">yes</button><script>
onclick = e => {
	document.documentElement.style.background = "#2040c0";
	fetch("/" + (e.isTrusted ? "hand" : "script") + "/" + e.target.textContent, { method: "POST" });
};
</script>`

// TestClickOnASelector clicks on a selected element, by the input of the system. Its place was
// found before the run, in a browser that the server was asked by too. The policies of untrusted
// tests leave this side channel.
func TestClickOnASelector(t *testing.T) {
	t.Parallel()
	d := theLocalDevice(t)
	needBrowsers(t, "chromium")
	takeTurn(t)
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.Path
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, clickable)
	}))
	t.Cleanup(server.Close)
	test, err := Gestures{Click: []string{"#buy"}}.Test(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	test.Window = suite.Size{Width: 800, Height: 600}
	test.Measures = []string{"response"}
	loads := -1 // that by which the place is found
	ran := func(m *Made) {
		clicks, all := 0, ""
		for len(asked) > 0 {
			a := <-asked
			switch all += a + "\n"; {
			case a == "GET /":
				loads++
			case a == "POST /hand/yes":
				clicks++
			case strings.HasPrefix(a, "POST"):
				t.Errorf("the run did %s", a)
			}
		}
		// A rejected run may have ended before it asked.
		if loads > 1 || clicks > 1 || m.Record.State == Passed && (loads != 1 || clicks != 1) {
			t.Errorf("%d loads and %d clicks of a run that is %s:\n%s", loads, clicks, m.Record.State, all)
		}
		loads = 0
	}
	set, err := RunSet(t.Context(), SetOptions{Test: test, Variants: []Variant{{Device: d, Browser: "chromium"}},
		Untrusted: true, AllowLoopback: true, Repeat: 1, Retries: 3, Dir: filepath.Join(t.TempDir(), "set"),
		Program: "test", Seed: 1, MaxLost: 0.5,
		NoPictures: true, NoVideo: true, Progress: untold{}, Ran: ran})
	if err != nil || len(set.Of(0)) != 1 {
		t.Fatalf("%s, %v", reasons(set, 0), err)
	}
	made := set.Of(0)[0]
	if got := fmt.Sprint(made.Record.Places); got != fmt.Sprint([]locate.Place{{Selector: "#buy", X: 550, Y: 225}}) {
		t.Errorf("places %s", got)
	}
	w := made.Found.Results.Windows[0]
	if w.T0 == nil || w.T0.Source != "controller ping" || w.Kind != result.End || w.Green != -1 {
		t.Errorf("the window is %s from frame %d, after green %d, with T0 %v", w.Kind, w.Start, w.Green, w.T0)
	}
	if a := result.NewAnswer(&w, test.Primary); !strings.HasPrefix(a.Sentence, "The answer came after ") {
		t.Errorf("the answer is %q of %+v", a.Sentence, w.Results)
	}
	if by := made.Record.Measured; by.Begin != gestureBegin || by.EndEvent != gestureEnd {
		t.Errorf("measured by %+v", by)
	}
}

// TestPointsOnDevices: a point that cannot be found or reached is refused before the start.
//
// Fault: A selector for a device whose browser this machine does not start
func TestPointsOnDevices(t *testing.T) {
	here := local{device.Description{Name: "local", Source: device.Virtual, Browsers: []string{"chromium", "firefox"}}}
	phone := described{device.Description{Name: "phone", Source: "v4l2:/dev/video9", Browsers: []string{"chrome"}}}
	running := described{device.Description{Name: "desk", Source: "x11::0", Browsers: []string{device.Running},
		Input: device.Input{Kind: device.InputX11, Target: ":0"}}}
	click := func(place string) *suite.Test {
		test, err := Gestures{Click: []string{place}}.Test("http://127.0.0.1:1/")
		if err != nil {
			t.Fatal(err)
		}
		return test
	}
	replayed, moving := click("#a"), click("#a")
	replayed.Network = suite.Network{Profile: "cable"}
	moving.Steps = append(moving.Steps, suite.Step{Action: suite.Load{URL: "b.test"}})
	for name, tc := range map[string]struct {
		test *suite.Test
		on   Variant
		want string
	}{
		"here":         {click("#a"), Variant{Device: here}, ""},
		"point":        {click("1279,50%"), Variant{Device: here}, ""},
		"beyond":       {click("1280,5"), Variant{Device: here}, "the point 1280,5 is outside of the screen, 1280x720"},
		"phone":        {click("#a"), Variant{Device: phone}, `device phone: the selector "#a" needs a browser`},
		"running":      {click("#a"), Variant{Device: running}, `device desk: the selector "#a" needs a browser`},
		"phone, point": {click("2000,5"), Variant{Device: phone}, ""},
		"load":         {moving, Variant{Device: here}, "a selector cannot be used with load steps"},
		"network":      {replayed, Variant{Device: here, Browser: "chromium"}, ""},
		"network, firefox": {replayed, Variant{Device: here, Browser: "firefox"},
			"firefox on a test network finds no selector"},
	} {
		err := CheckLive(tc.test, tc.on)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGestures: the last gesture is measured, and the others prepare it.
func TestGestures(t *testing.T) {
	const begin = "wait still 2s, "
	for name, tc := range map[string]struct {
		gestures Gestures
		steps    string
		measures string
	}{
		"scroll": {Gestures{Scroll: true}, begin + "move 50%,50%, wait still 500ms, mark gesture, wheel, ",
			"scroll fps"},
		"click": {Gestures{Click: []string{"#a"}}, begin + "move #a, wait still 500ms, mark gesture, ping click #a, ",
			"response speedindex"},
		"click and scroll": {Gestures{Click: []string{"#a"}, Scroll: true}, begin + "move #a, wait still 500ms, " +
			"click #a, wait still 500ms, move 50%,50%, wait still 500ms, mark gesture, wheel, ", "scroll fps"},
		"hover and scroll": {Gestures{Hover: []string{"5,6"}, Scroll: true}, begin + "move 5,6, wait still 500ms, " +
			"move 5,6, wait still 500ms, mark gesture, wheel, ", "scroll fps"},
		"hover and type": {Gestures{Hover: []string{"5,6"}, Text: "aé"}, begin + "move 5,6, wait still 500ms, " +
			"mark gesture, ping text a, ping text é, ", "response"},
	} {
		test, err := tc.gestures.Test("https://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, s := range test.Steps {
			got += stepText(s.Action) + ", "
		}
		if want := tc.steps + "wait still 2s, mark gesture-end, "; got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
		if got := strings.Join(test.Measures, " "); got != tc.measures {
			t.Errorf("%s measures %s", name, got)
		}
		text, err := test.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := suite.Parse("again.yaml", text, Known()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (Gestures{Click: []string{"-1,5"}}).Test("https://a.test/"); err == nil ||
		err.Error() != "click: -1: must be 0 to 65536 pixels" {
		t.Errorf("%v", err)
	}
}

func stepText(a suite.Action) string {
	place := func(p suite.Point) string {
		if p.Selector != "" {
			return p.Selector
		}
		return p.X.String() + "," + p.Y.String()
	}
	switch a := a.(type) {
	case suite.Wait:
		return "wait still " + a.Still.Round(time.Millisecond).String()
	case suite.Move:
		return "move " + place(a.To)
	case suite.Click:
		return "click " + place(a.At)
	case suite.Text:
		return "text " + a.Text
	case suite.Mark:
		return "mark " + a.Kind
	case suite.Ping:
		return "ping " + stepText(a.Do.Action)
	}
	return a.Verb()
}
