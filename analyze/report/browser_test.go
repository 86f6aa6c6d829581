package report

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
)

// patience bounds how long a browser may take; no result depends on it.
const patience = 8 * time.Minute

// tab is a page in a real browser.
type tab struct{ *browsertest.Tab }

func newTab(t *testing.T, allowed func(string) bool) *tab {
	t.Helper()
	return &tab{browsertest.NewTab(t, patience, allowed)}
}

// await waits until a script is true.
func (b *tab) await(what, script string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, patience/8)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(0))); err != nil {
		state := browsertest.Eval[string](b.Tab,
			`document.getElementById('readout').textContent + ' at ' + document.getElementById('video').currentTime`)
		b.Fatalf("%s: %v; the page is at %s", what, err, state)
	}
}

// slot is the place in the video of a stored frame: lost ones have theirs.
func slot(n int) int { return sequence(n) }

// isAt waits until video, readout and cursor all are at a frame.
func (b *tab) isAt(r *Results, n int) {
	b.Helper()
	rate := 60000.0 / 1001
	b.await(fmt.Sprintf("the video goes to frame %d", n), fmt.Sprintf(
		`(v => v.readyState >= 2 && !v.seeking && Math.floor(v.currentTime * %v + 0.01) === %d)(document.getElementById('video'))`, rate, slot(n)))
	b.await(fmt.Sprintf("the page says frame %d", n),
		fmt.Sprintf(`document.querySelector('#readout b')?.textContent === 'frame %d'`, n))
	for i := range r.Windows {
		w := &r.Windows[i]
		k := n - w.Times.First
		if k < 0 || k >= len(w.Times.Time) {
			continue
		}
		for chart := range 2 {
			got, want := b.cursor(i, chart), b.place(w, i, chart, w.Times.Time[k])
			if math.Abs(got-want) > 0.6 {
				b.Errorf("frame %d: the cursor of graph %d of window %d is at %.1f, want %.1f", n, chart, i, got, want)
			}
		}
	}
}

func graph(window, chart int) string {
	return fmt.Sprintf(`document.querySelector('[data-window="%d"] [data-chart="%d"] svg')`, window, chart)
}

func (b *tab) cursor(window, chart int) float64 {
	b.Helper()
	return browsertest.Eval[float64](b.Tab, `Number(`+graph(window, chart)+
		`.querySelector('.cursor').getAttribute('x1'))`)
}

// place is where a time from the window's start is in a graph: between 46 pixels at the left and 10
// at the right lies all from T0 or the green to the end of the red frame, and a hundredth more on
// either side.
func (b *tab) place(w *Window, window, chart int, t int64) float64 {
	b.Helper()
	n := len(w.Times.Time)
	from, to := float64(w.Times.Time[0]), float64(w.Times.Time[n-1])
	to += (to - from) / float64(n-1)
	if w.T0 != nil {
		from = min(from, float64(w.T0.AtNS-w.StartNS))
	}
	room := (to - from) / 100
	from, to = from-room, to+room
	width := browsertest.Eval[float64](b.Tab, graph(window, chart)+`.clientWidth`)
	return 46 + (float64(t)-from)/(to-from)*(width-56)
}

// click clicks into a graph at a frame.
func (b *tab) click(w *Window, window, chart, n int) {
	b.Helper()
	at := browsertest.Eval[[]float64](b.Tab,
		`(e => { e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return [r.left, r.top + r.height / 2]; })(`+
			graph(window, chart)+`)`)
	b.Do(chromedp.MouseClickXY(at[0]+b.place(w, window, chart, w.Times.Time[n-w.Times.First]), at[1]))
}

func TestPageInABrowser(t *testing.T) {
	browsertest.Path(t) // before the run is made
	dir, r := newRun(t, "640x360")
	for name, o := range map[string]PageOptions{PageName: {}, "single.html": {SingleFile: true}} {
		if err := WritePage(filepath.Join(dir, name), os.DirFS(dir), r, o); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.FileServerFS(os.DirFS(dir)))
	defer server.Close()
	alone := filepath.Join(t.TempDir(), "single.html")
	if err := os.Rename(filepath.Join(dir, "single.html"), alone); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, url string
		from      string // of which all requests are
		pixels    bool   // the browser lets the page's origin read them
	}{
		{"over HTTP", server.URL + "/" + PageName, server.URL + "/", true},
		{"from a file", "file://" + filepath.Join(dir, PageName), "file://" + dir + "/", false},
		{"single file", "file://" + alone, "file://" + alone, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newTab(t, func(url string) bool {
				return strings.HasPrefix(url, tc.from) || strings.HasPrefix(url, "data:") ||
					strings.HasPrefix(url, "blob:")
			})
			b.Do(chromedp.Navigate(tc.url))
			b.walk(r, tc.pixels)
			b.Quiet()
		})
	}
}

// walk does what a reader does.
func (b *tab) walk(r *Results, pixels bool) {
	first, second := &r.Windows[0], &r.Windows[1]
	b.isAt(r, first.Start)

	b.Log("a click into a graph takes the video along")
	b.click(first, 0, 0, 77)
	b.isAt(r, 77)
	b.click(second, 1, 1, 190)
	b.isAt(r, 190)

	b.Log("the graphs follow the video")
	b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.getElementById('video').currentTime = %v`,
		(float64(slot(101))+0.5)*1001/60000)))
	b.isAt(r, 101)
	before := b.cursor(0, 0)
	b.Do(chromedp.Click(chromedp.CSS("#play")))
	b.await("the cursor moves while the video plays",
		fmt.Sprintf(`Number(%s.querySelector('.cursor').getAttribute('x1')) > %v`, graph(0, 0), before+2))
	b.Do(chromedp.Evaluate[chromedp.Void](`document.getElementById('video').pause()`))

	b.Log("keys go by captured frames, over those that are lost")
	b.Do(chromedp.Click(chromedp.CSS(`[data-window="0"] .frames [data-frame="120"]`)))
	b.isAt(r, lostAt)
	b.Do(chromedp.KeyEvent(kb.ArrowLeft))
	b.isAt(r, lostAt-1)
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	b.isAt(r, lostAt)
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	b.isAt(r, lostAt+1)

	b.Log("a lost frame is said to be one")
	b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.getElementById('video').currentTime = %v`,
		(float64(slot(lostAt))-0.5)*1001/60000)))
	b.await("the page says that a frame is lost",
		`document.querySelector('#readout b').textContent === 'lost frame' && !document.getElementById('gone').hidden`)

	b.Log("evidence shows its frame, and where")
	b.Do(chromedp.Click(chromedp.CSS(`[data-window="0"] .proof[data-frame="60"]`)))
	b.isAt(r, 60)
	b.await("the tear is drawn over the video", `document.querySelectorAll('#over .shown-row').length === 1`)

	b.Log("pictures open and close")
	b.Do(chromedp.Click(chromedp.CSS(`.picture.heatmap .enlarge`)))
	b.await("the picture is large",
		`document.getElementById('large').open && document.getElementById('large-picture').naturalWidth > 0`)
	b.Do(chromedp.Click(chromedp.CSS("#large")))
	b.await("the picture is gone", `!document.getElementById('large').open`)

	if pixels {
		b.Log("the video shows the frame that the page says")
		b.marker(r, first.Green, "pixel[1] > 150 && pixel[0] < 100 && pixel[2] < 100")
		b.marker(r, runFrames-1, "pixel[0] > 150 && pixel[1] < 100 && pixel[2] < 100")
	}
}

// marker goes to the frame of a marker by the slider's way and looks at the middle of the video.
func (b *tab) marker(r *Results, n int, wants string) {
	b.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`(s => { s.value = %d; s.dispatchEvent(new Event('input')); })(document.getElementById('scrub'))`, slot(n))))
	b.isAt(r, n)
	b.await(fmt.Sprintf("frame %d shows its marker", n), `(() => {
		const c = document.createElement('canvas');
		c.width = c.height = 1;
		const v = document.getElementById('video');
		c.getContext('2d').drawImage(v, v.videoWidth / 2, v.videoHeight / 2, 1, 1, 0, 0, 1, 1);
		const pixel = c.getContext('2d').getImageData(0, 0, 1, 1).data;
		return `+wants+`; })()`)
}

// TestPageFitsWindows makes sure that nothing is wider than the page, in all sizes and both colour
// schemes.
func TestPageFitsWindows(t *testing.T) {
	browsertest.Path(t) // before the run is made
	dir, r := newRun(t, "640x360")
	path := filepath.Join(dir, PageName)
	if err := WritePage(path, os.DirFS(dir), r, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	b := newTab(t, func(url string) bool {
		return strings.HasPrefix(url, "file://"+dir) ||
			strings.HasPrefix(url, "data:")
	})
	for _, scheme := range []string{"light", "dark"} {
		_, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		b.Check(err)
		for _, width := range []int64{360, 700, 1000, 1400, 2200} {
			b.Do(chromedp.EmulateViewport(width, 900), chromedp.Navigate("file://"+path))
			b.isAt(r, r.Windows[0].Start)
			if wide := browsertest.Eval[int64](b.Tab, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("%s, %d pixels: the page is %d wide", scheme, width, wide)
			}
			dark := browsertest.Eval[float64](b.Tab,
				`Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0])`) < 128
			if dark != (scheme == "dark") {
				t.Errorf("%s: the page is dark: %v", scheme, dark)
			}
			b.picture(fmt.Sprintf("%s-%d.png", scheme, width))
		}
	}
	b.Quiet()
}

// picture keeps a picture of the page, where somebody wants to look at it.
func (b *tab) picture(name string) {
	b.Helper()
	if *keep == "" {
		return
	}
	p, err := chromedp.Run(b.Ctx, chromedp.FullScreenshot(100))
	b.Check(err)
	b.Check(os.WriteFile(filepath.Join(*keep, name), p, 0o644))
}

// TestHostileNamesInABrowser makes sure that names from outside are text to a browser too.
func TestHostileNamesInABrowser(t *testing.T) {
	browsertest.Path(t) // before the run is made
	dir, r := newRun(t, "320x180")
	const evil = `</script><script>window.evil=1</script><img src=x onerror="window.evil=2"><svg onload=window.evil=3>'"` + "`"
	r.Recording.Name, r.Notes = evil, []string{evil}
	r.Network.List[0].Method, r.Network.List[0].URL = evil, evil
	for i := range r.Windows {
		w := &r.Windows[i]
		w.Name, w.Warnings = evil, []string{evil}
		for k := range w.Results {
			for j := range w.Results[k].Series {
				w.Results[k].Series[j].Name = evil + fmt.Sprint(j)
			}
			for j := range w.Results[k].Evidence {
				w.Results[k].Evidence[j].Kind = evil
			}
		}
	}
	path := filepath.Join(dir, PageName)
	if err := WritePage(path, os.DirFS(dir), r, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	b := newTab(t, func(url string) bool {
		return strings.HasPrefix(url, "file://"+dir) ||
			strings.HasPrefix(url, "data:")
	})
	b.Do(chromedp.Navigate("file://" + path))
	b.isAt(r, r.Windows[0].Start)
	b.click(&r.Windows[0], 0, 1, 60)
	b.isAt(r, 60)
	if browsertest.Eval[bool](b.Tab, `'evil' in window`) {
		t.Error("a name was run")
	}
	if got := browsertest.Eval[string](b.Tab, `document.querySelector('h1').textContent`); got != evil {
		t.Errorf("the heading is %q", got)
	}
	b.Quiet()
}
