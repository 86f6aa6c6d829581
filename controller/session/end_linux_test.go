package session

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
)

// TestEndsWithAnEventOfThePage: an event of a page can end a test. The rig shows red after it.
func TestEndsWithAnEventOfThePage(t *testing.T) {
	t.Parallel()
	d := local{device.Local()}
	needBrowsers(t, "chromium")
	takeTurn(t)
	o := options(t, d)
	o.NoPictures = true
	o.Test = readTest(t,
		"name: told\npage: /framerate.html\nend: event content-end\ntimeout: 1m\nwindow: 640x360\nmeasures: [fps]\n")
	record, found, err := counted(t, o)
	if err != nil || record.State != Passed {
		t.Fatalf("%s: %s, %v", record.State, record.Reason, err)
	}
	if n := count(t, o.Dir, "page", "content-end"); n != 1 {
		t.Errorf("the page told %d times of its content's end", n)
	}
	if n := count(t, o.Dir, controller.EventSource, controller.Ended); n != 1 {
		t.Errorf("the content has ended %d times", n)
	}
	if w := found.Results.Windows; len(w) != 1 {
		t.Errorf("%d windows", len(w))
	}
}

// TestBusyPageHasNotEnded: a page that computes for longer than the stillness of its test is
// measured up to the picture that follows. Else the slowest page would be the fastest.
//
// Fault: A page computes for longer than the stillness that ends its test
func TestBusyPageHasNotEnded(t *testing.T) {
	t.Parallel()
	needBrowsers(t, "chromium")
	takeTurn(t)
	const busy = 3 * time.Second
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><link rel="icon" href="data:,"><body style="background: gold"><script>
setTimeout(() => {
	for (const begun = performance.now(); performance.now() - begun < %d;);
	document.body.style.background = "teal";
}, 500);
</script>`, busy.Milliseconds())
	}))
	t.Cleanup(server.Close)
	o := options(t, local{device.Local()})
	o.NoPictures = true
	o.Test = readTest(t, "name: busy\nurl: "+server.URL+"/\nend: still 1s\ntimeout: 1m\nwindow: 640x360\n"+
		"measures: [speedindex]\n")
	record, found, err := counted(t, o)
	if err != nil || record.State != Passed {
		t.Fatalf("%s: %s, %v", record.State, record.Reason, err)
	}
	v, ok := found.Results.Windows[0].Results[0].Find("pixel.complete_100")
	if !ok || v.High < float64(busy.Milliseconds()) {
		t.Errorf("the page was complete after %v ms, and computed for %v; notes %q", v.Value, busy, record.Notes)
	}
}

// Fault: A test waits for an event that cannot happen
func TestEndThatCannotCome(t *testing.T) {
	for text, want := range map[string]string{
		"page: /load.html\nend: event done\n":                                "content-end, green",
		"url: http://a.example/\nend: event done\nsteps: [{mark: before}]\n": "one of before, begin",
		"url: http://a.example/\nend: event done\n": "no step makes the event \"done\"; " +
			"use a mark step, or one of begin, launch, navigation, ping, pong",
		"url: http://a.example/\nend: event done\nsteps: [{repeat: {times: 2, steps: [{mark: done}]}}]\n": "",
		"url: http://a.example/\nend: event navigation\n":                                                 "",
		"page: /load.html\nend: event content-end\n":                                                      "",
	} {
		test, err := suite.Parse("test.yaml", []byte("name: a\n"+text), suite.Known{})
		if err != nil {
			t.Fatal(err)
		}
		err = checkEnd(test)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
