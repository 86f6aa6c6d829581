package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/vitals"
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
			`document.querySelector('.frame-number')?.value + ' at ' + document.querySelector('video')?.currentTime`)
		b.Fatalf("%s: %v; the page is at %s", what, err, state)
	}
}

// slot is the place in the video of a stored frame: lost ones have theirs.
func slot(n int) int { return sequence(n) }

// isAt waits until video, controls and cursors all are at a frame.
func (b *tab) isAt(r *result.Results, n int) {
	b.Helper()
	rate := 60000.0 / 1001
	b.await(fmt.Sprintf("the video goes to frame %d", n), fmt.Sprintf(
		`(v => v.readyState >= 2 && !v.seeking && Math.floor(v.currentTime * %v + 0.01) === %d)(
			document.querySelector('video'))`, rate, slot(n)))
	b.await(fmt.Sprintf("the page says frame %d", n),
		fmt.Sprintf(`document.querySelector('.frame-number').value === '%d'`, n))
	for i := range r.Windows {
		w := &r.Windows[i]
		if n < w.Start || n > w.End {
			continue
		}
		for chart := range 2 {
			b.await(fmt.Sprintf("the cursor of graph %d of window %d is at frame %d", chart, i, n), fmt.Sprintf(
				`(g => Math.abs(Number(g?.querySelector('.cursor')?.getAttribute('x1')) -
					(50 + %v * (g?.clientWidth - 60))) <= 0.6)(%s)`,
				part(w, w.Times.Time[n-w.Times.First]), graph(chart)))
		}
	}
}

// graph is a chart of the window that is shown.
func graph(chart int) string {
	return fmt.Sprintf(`document.querySelectorAll('.result svg.plot')[%d]`, chart)
}

func (b *tab) cursor(chart int) float64 {
	b.Helper()
	b.await("the graph is drawn", graph(chart)+`?.querySelector('.cursor') != null`)
	return browsertest.Eval[float64](b.Tab, `Number(`+graph(chart)+`.querySelector('.cursor').getAttribute('x1'))`)
}

// part is where a time from the window's start is in a graph, from 0 to 1. The axis has margins of
// 50 pixels at the left and 10 at the right. It is from T0 or the green to the end of the red
// frame. It has a hundredth more on either side.
func part(w *result.Window, t int64) float64 {
	n := len(w.Times.Time)
	from, to := float64(w.Times.Time[0]), float64(w.Times.Time[n-1])
	to += (to - from) / float64(n-1)
	if w.T0 != nil {
		from = min(from, float64(w.T0.AtNS-w.StartNS))
	}
	room := (to - from) / 100
	from, to = from-room, to+room
	return (float64(t) - from) / (to - from)
}

// click clicks into a graph at a frame.
func (b *tab) click(w *result.Window, chart, n int) {
	b.Helper()
	at := browsertest.Eval[[]float64](b.Tab,
		`(e => { e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();
			return [r.left, r.top + r.height / 2, e.clientWidth]; })(`+graph(chart)+`)`)
	b.Do(chromedp.MouseClickXY(at[0]+50+part(w, w.Times.Time[n-w.Times.First])*(at[2]-60), at[1]))
}

// soak goes all ways through a page from each place, and audits it at each width.
var soak = os.Getenv("EIDETICKER_SOAK") != ""

// TestPageInABrowser: a reader goes all ways through a page that is alone. Over HTTP and from a
// file, browsers load its video in other ways, so it is sought and read there.
func TestPageInABrowser(t *testing.T) {
	browsertest.Path(t) // before the run is made
	dir, r := newRun(t, "320x180")
	for name, o := range map[string]PageOptions{PageName: {}, "single.html": {SingleFile: true}} {
		analyzetest.Check(t, WritePage(filepath.Join(dir, name), os.DirFS(dir), r, o))
	}
	server := httptest.NewServer(http.FileServerFS(os.DirFS(dir)))
	defer server.Close()
	alone := filepath.Join(t.TempDir(), "single.html")
	analyzetest.Check(t, os.Rename(filepath.Join(dir, "single.html"), alone))
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
			if tc.name == "single file" || soak {
				b.walk(r)
			} else {
				b.unfold()
				b.isAt(r, r.Windows[0].Start)
				b.click(&r.Windows[0], 0, 77)
				b.isAt(r, 77)
			}
			if tc.pixels {
				b.Log("the video shows the frame that the page says")
				b.marker(r, r.Windows[0].Green, "pixel[1] > 150 && pixel[0] < 100 && pixel[2] < 100")
				b.marker(r, runFrames-1, "pixel[0] > 150 && pixel[1] < 100 && pixel[2] < 100")
			}
			b.Quiet()
		})
	}
}

// walk does what a reader does.
func (b *tab) walk(r *result.Results) {
	first, second := &r.Windows[0], &r.Windows[1]
	b.unfold()
	b.isAt(r, first.Start)

	b.Log("a moment leads to its frame")
	moment := result.NewAnswer(first, nil).Moments[0].Frame
	b.Do(chromedp.Click(chromedp.CSS(fmt.Sprintf(`.moment[data-frame="%d"]`, moment))))
	b.isAt(r, moment)

	b.Log("a click into a graph takes the video along")
	b.click(first, 0, 77)
	b.isAt(r, 77)
	b.Do(chromedp.Click(chromedp.CSS(`.contents tr:nth-child(2) button`)))
	b.isAt(r, second.Start)
	b.click(second, 1, 190)
	b.isAt(r, 190)

	b.Log("the graphs follow the video")
	b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector('video').currentTime = %v`,
		(float64(slot(101))+0.5)*1001/60000)))
	b.isAt(r, 101)
	before := b.cursor(0)
	b.Do(chromedp.Click(chromedp.CSS(".controls .play")))
	b.await("the cursor moves while the video plays",
		fmt.Sprintf(`Number(%s.querySelector('.cursor').getAttribute('x1')) > %v`, graph(0), before+2))
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('video').pause()`))

	b.Log("keys go by captured frames, over those that are lost")
	b.Do(chromedp.Click(chromedp.CSS(`.result .frames [data-frame="120"]`)))
	b.isAt(r, lostAt)
	b.Do(chromedp.KeyEvent(kb.ArrowLeft))
	b.isAt(r, lostAt-1)
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	b.isAt(r, lostAt)
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	b.isAt(r, lostAt+1)

	b.Log("a lost frame is said to be one")
	b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector('video').currentTime = %v`,
		(float64(slot(lostAt))-0.5)*1001/60000)))
	b.await("the page says that a frame is lost",
		`document.querySelector('.controls .state').textContent === 'not recorded' &&
			!document.querySelector('.gone').hidden`)

	b.Log("evidence shows its frame, and where")
	b.Do(chromedp.Click(chromedp.CSS(`.proof[data-frame="60"]`)))
	b.isAt(r, 60)
	b.await("the tear is drawn over the video", `document.querySelectorAll('.over-marks .shown-row').length === 1`)

	b.Log("pictures open and close")
	b.Do(chromedp.Click(chromedp.CSS(`.picture.heatmap .enlarge`)))
	b.await("the picture is large",
		`document.querySelector('dialog img')?.naturalWidth > 0 && document.querySelector('dialog').open`)
	b.Do(chromedp.Click(chromedp.CSS("dialog")))
	b.await("the picture is gone", `!document.querySelector('dialog')`)

	b.Log("the green before the content shows nothing yet")
	b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`(s => { s.value = %d; s.dispatchEvent(new Event('input')); })(document.querySelector('.scrub'))`,
		slot(first.Green))))
	b.await("nothing is shown", `!document.querySelector('.nothing').hidden`)
}

// unfold shows the values and charts that a page folds.
func (b *tab) unfold() {
	b.Helper()
	b.await("the rest is folded", `document.querySelector('.fold')?.open === false`)
	b.Do(chromedp.Click(chromedp.CSS(".fold > summary")))
	b.await("the charts are drawn", `document.querySelector('.result svg.plot .cursor') !== null`)
}

// marker goes to the frame of a marker by the slider's way and looks at the middle of the video.
func (b *tab) marker(r *result.Results, n int, wants string) {
	b.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`(s => { s.value = %d; s.dispatchEvent(new Event('input')); })(document.querySelector('.scrub'))`, slot(n))))
	b.isAt(r, n)
	b.await(fmt.Sprintf("frame %d shows its marker", n), `(() => {
		const c = document.createElement('canvas');
		c.width = c.height = 1;
		const v = document.querySelector('video');
		c.getContext('2d').drawImage(v, v.videoWidth / 2, v.videoHeight / 2, 1, 1, 0, 0, 1, 1);
		const pixel = c.getContext('2d').getImageData(0, 0, 1, 1).data;
		return `+wants+`; })()`)
}

// TestPageFitsWindows makes sure that nothing is wider than the page, in all sizes and both colour
// schemes. axe-core finds no violation on a phone and a wide screen. In make soak it looks at all
// widths.
func TestPageFitsWindows(t *testing.T) {
	browsertest.Path(t) // before the run is made
	browsertest.Axe(t)
	dir, r := newRun(t, "320x180")
	path := filepath.Join(dir, PageName)
	analyzetest.Check(t, WritePage(path, os.DirFS(dir), r, PageOptions{}))
	b := newTab(t, func(url string) bool {
		return strings.HasPrefix(url, "file://"+dir) ||
			strings.HasPrefix(url, "data:")
	})
	for _, width := range []int64{360, 700, 1000, 1400, 2200} {
		b.Look("light", width)
		audited := width == 360 || width == 1400 || soak
		if audited { // else the window has another width than before
			b.Do(chromedp.Navigate("file://" + path))
			b.picture(fmt.Sprintf("%d-folded.png", width))
			b.unfold()
		}
		b.isAt(r, r.Windows[0].Start)
		b.Do(chromedp.Evaluate[chromedp.Void](
			`document.querySelectorAll('.scripts, .scripts details, .profile, .late-frame details').forEach((d) => {
				d.open = true; })`))
		for _, scheme := range []string{"light", "dark"} {
			b.Look(scheme, width) // as if the system changed its colours
			if wide := browsertest.Eval[int64](b.Tab, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("%s, %d pixels: the page is %d wide", scheme, width, wide)
			}
			switch name := fmt.Sprintf("%s, %d", scheme, width); {
			case !audited:
			case scheme == "light":
				b.Audited(name)
			default:
				b.AuditedColours(name)
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

// TestScriptsInABrowser goes from tasks, errors and late frames to the frames that they are about.
func TestScriptsInABrowser(t *testing.T) {
	browsertest.Path(t) // before the run is made
	dir, r := newRun(t, "320x180")
	path := filepath.Join(dir, PageName)
	analyzetest.Check(t, WritePage(path, os.DirFS(dir), r, PageOptions{}))
	b := newTab(t, func(url string) bool {
		return strings.HasPrefix(url, "file://"+dir) || strings.HasPrefix(url, "data:")
	})
	b.Do(chromedp.Navigate("file://" + path))
	b.unfold()
	const lane = `[...document.querySelectorAll('.chart')].find((e) => e.querySelector('.script-task'))`
	b.await("the lane is drawn", lane+`?.querySelector('.script-long').getAttribute('d') !== ''`)
	if got := browsertest.Eval[string](b.Tab,
		`[...`+lane+`.querySelectorAll('text')].map((e) => e.textContent).join()`); got !=
		"main,worker" {
		t.Errorf("the rows are %q: the worker started first, and the frame has no task", got)
	}
	// point is where a frame is in the lane, with a distance from the top.
	point := func(n int, y float64) (float64, float64) {
		at := browsertest.Eval[[]float64](b.Tab, `((e) => { e.scrollIntoView({block: 'center'});
			const r = e.querySelector('svg').getBoundingClientRect(); return [r.left, r.top, r.width]; })(`+lane+`)`)
		w := &r.Windows[0]
		from, to := float64(w.Times.Time[0]), float64(w.Times.Time[len(w.Times.Time)-1]+runPeriod)
		room := (to - from) / 100
		x := (float64(w.Times.Time[n-w.Times.First]) - from + room) / (to - from + 2*room)
		return at[0] + 50 + x*(at[2]-60), at[1] + y
	}
	for _, tc := range []struct {
		frame int
		y     float64
		want  string
	}{
		{82, 20, "slow (app.js:12), 110 ms, 431 calls"}, {84, 40, "20 ms, 9 calls"},
		{70, 5, "TypeError: Cannot read properties of undefined"}, {102, 40, "records lost"},
	} {
		x, y := point(tc.frame, tc.y)
		b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
		if got := browsertest.Eval[string](b.Tab, lane+`.querySelector('.tip').textContent`); !strings.Contains(got,
			tc.want) {
			t.Errorf("at frame %d the lane says %q, want %q", tc.frame, got, tc.want)
		}
	}
	x, y := point(102, 20)
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
	if browsertest.Eval[bool](b.Tab, lane+`.querySelector('.tip').textContent.includes('lost')`) {
		t.Error("the main page's row says that records are lost, but the worker lost them")
	}
	x, y = point(90, 20)
	b.Do(chromedp.MouseClickXY(x, y))
	b.isAt(r, 90)

	b.Log("lost records are said outside of folds")
	if !browsertest.Eval[bool](b.Tab, `[...document.querySelectorAll('.warnings p')].some((e) => e.checkVisibility() &&
			e.textContent.startsWith('412 records of scripts are lost in 1 gap: ring full.'))`) {
		t.Error("lost records are not said")
	}
	b.Log("keys open the fold, and go to frames")
	b.Do(chromedp.Focus(chromedp.CSS(".scripts > summary")), chromedp.KeyEvent(kb.Enter))
	b.await("the fold is open", `document.querySelector('.scripts').open`)
	b.Do(chromedp.Focus(chromedp.CSS(".scripts .late button")), chromedp.KeyEvent(kb.Enter))
	b.isAt(r, r.Script.Late[0].Frame)
	b.Do(chromedp.Focus(chromedp.CSS(".scripts .errors button")), chromedp.KeyEvent(kb.Enter))
	b.isAt(r, 71)
	const shown = `[...document.querySelectorAll('.functions tbody tr')].filter((e) => e.checkVisibility()).length`
	if n := browsertest.Eval[int](b.Tab, shown); n != 10 {
		t.Errorf("%d functions are shown, want 10", n)
	}
	b.Do(chromedp.Focus(chromedp.CSS(".scripts > .button")), chromedp.KeyEvent(kb.Enter))
	if n := browsertest.Eval[int](b.Tab, shown); n != len(r.Script.Functions) {
		t.Errorf("%d of %d functions are shown", n, len(r.Script.Functions))
	}
	if !browsertest.Eval[bool](b.Tab, `document.activeElement.textContent.startsWith('merge')`) {
		t.Error("the focus is not at the first function that was hidden")
	}
	b.Quiet()

	b.chooseLate(r)
	b.Quiet()

	b.Log("a late frame that a function explains is shown first, though another one lasted longer")
	longest := slices.MaxFunc(r.Profile.Late, func(x, y result.ProfileLate) int {
		return cmp.Compare(x.ToNS-x.FromNS, y.ToNS-y.FromNS)
	})
	first := func(frame int) string {
		return fmt.Sprintf(`document.querySelector('.late-choice :checked').value === '%d'`, frame)
	}
	b.opened(dir, r)
	if !browsertest.Eval[bool](b.Tab, first(longest.Frame)) {
		t.Error("the longest late frame is not the first choice")
	}
	longest.Threads[0].Function = -1 // of r, too
	b.opened(dir, r)
	if browsertest.Eval[bool](b.Tab, first(longest.Frame)) {
		t.Error("a late frame without a cause is the first choice")
	}

	r.Script, r.Profile = nil, nil
	b.opened(dir, r)
	if browsertest.Eval[bool](b.Tab, `document.querySelector('.scripts, .script-task, .script-error') ??
			document.querySelector('.late-frames, .band-late, .thread-busy, .profile') !== null`) {
		t.Error("a run without instrumented scripts and profile has some")
	}
}

// chooseLate goes from late frames to their threads, with keys and the pointer.
func (b *tab) chooseLate(r *result.Results) {
	b.Helper()
	full, err := r.Complete()
	b.Check(err)
	p := full.Profile
	shows := func(late int, what string) {
		b.Helper()
		b.isAt(r, p.Late[late].Frame)
		b.await(what, fmt.Sprintf(`document.querySelector('.late-choice :checked').value === '%d' &&
			document.querySelector('.late-frame').textContent.includes(%q) &&
			document.querySelectorAll('.band-late.chosen[data-late="%d"]').length >= 4`, p.Late[late].Frame,
			p.Late[late].Sentence, late))
	}
	b.Log("arrow keys choose a late frame, and do not step frames")
	b.Do(chromedp.Focus(chromedp.CSS(".late-choice :checked")), chromedp.KeyEvent(kb.ArrowRight))
	shows(1, "the second late frame is shown")
	b.Do(chromedp.KeyEvent(kb.Enter))
	if got := browsertest.Eval[string](b.Tab, `document.activeElement.className`); got != "late-frame" {
		b.Errorf("Enter leads to %q, want the details", got)
	}
	b.Do(chromedp.KeyEvent("l"))
	shows(2, "the key l leads to the third")
	b.Log("a frame within the time before a late one shows its details")
	b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(s => { s.value = %d; s.dispatchEvent(new Event('input')); })(
		document.querySelector('.scrub'))`, slot(p.Late[0].Frame-2))))
	b.await("the first is shown", fmt.Sprintf(`document.querySelector('.late-choice :checked').value === '%d'`,
		p.Late[0].Frame))
	b.Log("keys open a thread and a function")
	b.Do(chromedp.Focus(chromedp.CSS(".active:nth-of-type(2) > summary")), chromedp.KeyEvent(kb.Enter))
	b.await("the tree is shown",
		`document.querySelector('.active:nth-of-type(2) .tree')?.textContent.includes('memcpy')`)
	for _, want := range []string{"ran 55 (52–59) ms", "was ready 3.3 (2.9–3.8) ms",
		"33 (31–36) msheavyLoop (app.js:4)", "←\u00a0onFrame (app.js:31)", "woken by Compositor",
		"the thread that woke it is unknown", "Times of page are known within 0.31 ms"} {
		if !browsertest.Eval[bool](b.Tab, fmt.Sprintf(`document.querySelector('.late-frame').textContent.includes(%q)`,
			want)) {
			b.Errorf("the details have no %q", want)
		}
	}
	b.Log("the lane of threads unfolds")
	const names = `document.querySelectorAll('.thread-name').length`
	if n := browsertest.Eval[int](b.Tab, names); n != 6 {
		b.Errorf("%d threads are shown, want 6", n)
	}
	b.Do(chromedp.Focus(chromedp.CSS(".strip-card .button")), chromedp.KeyEvent(kb.Enter))
	if n := browsertest.Eval[int](b.Tab, names); n != len(p.Threads) {
		b.Errorf("%d of %d threads are shown", n, len(p.Threads))
	}
	b.Log("an event is as wide as its bounds")
	widths := browsertest.Eval[[]float64](b.Tab, `['possible', 'certain'].map((kind) =>
		Number(document.querySelector('.'+kind+'.moment-gc').getAttribute('d').match(/h([\d.]+)v/)[1]))`)
	e := &p.Events[0]
	ratio := float64(e.DurationNS+e.EarliestNS-e.LatestNS) / float64(e.DurationNS+e.LatestNS-e.EarliestNS)
	if got := widths[1] / widths[0]; math.Abs(got-ratio) > 0.1 {
		b.Errorf("the certain part is %.2f of the possible one, want %.2f", got, ratio)
	}
	for _, want := range []string{"62 %", "±0.31 ms (41 requests, 6 inputs; drift +12…+19 ppm)", "4,120,331", "sampled",
		"11 (9–13) ms", "0.002", "0.31", "thread unknown"} {
		if !browsertest.Eval[bool](b.Tab, fmt.Sprintf(`document.querySelector('.profile').textContent.includes(%q)`,
			want)) {
			b.Errorf("the section has no %q", want)
		}
	}
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
//
// Fault: Names of pages, frames or files contain HTML or scripts
func TestHostileNamesInABrowser(t *testing.T) {
	browsertest.Path(t) // before the run is made
	dir, r := newRun(t, "320x180")
	const evil = `</script><script>window.evil=1</script><img src=x onerror="window.evil=2">` +
		`<svg onload=window.evil=3>'"` + "`"
	r.Recording.Name, r.Notes = evil, []string{evil}
	r.Network.List[0].Method, r.Network.List[0].URL = evil, evil
	s := r.Script
	s.Warnings, s.Gaps[0].Cause, s.Plain[0] = []string{evil}, evil, result.PlainScript{URL: evil, Reason: evil,
		Count: 1}
	s.Functions[0].Name, s.Functions[0].URL, s.Realms[1].URL = evil, evil, evil
	s.Errors[0].Message, s.Errors[0].URL, s.Errors[0].Stack[0] = evil, evil, result.Place{Function: evil, URL: evil}
	r.Profile = browsertest.Profile(&r.Windows[0], 0, []int{54, 82}, evil)
	r.Vitals = &vitals.Claims{Sentence: evil, Element: evil, Errors: []string{evil},
		Timings: []vitals.Timing{{Name: evil}}, ByType: []vitals.Traffic{{Name: evil}}}
	r.Vitals.Result = analyze.Result{Measure: vitals.Name, State: analyze.Refused, Refusal: evil,
		Values: []analyze.Value{{Name: "lcp", State: analyze.Refused, Note: evil}}}
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
	analyzetest.Check(t, WritePage(path, os.DirFS(dir), r, PageOptions{}))
	b := newTab(t, func(url string) bool {
		return strings.HasPrefix(url, "file://"+dir) ||
			strings.HasPrefix(url, "data:")
	})
	b.Do(chromedp.Navigate("file://" + path))
	b.unfold()
	b.isAt(r, r.Windows[0].Start)
	b.click(&r.Windows[0], 1, 60)
	b.isAt(r, 60)
	if browsertest.Eval[bool](b.Tab, `'evil' in window`) {
		t.Error("a name was run")
	}
	if got := browsertest.Eval[string](b.Tab, `document.querySelector('h1').textContent`); got != evil {
		t.Errorf("the heading is %q", got)
	}
	b.Quiet()
}

// opened opens the page of results beside the files of a run, and returns its text.
func (b *tab) opened(dir string, r *result.Results) string {
	b.Helper()
	path := filepath.Join(dir, PageName)
	b.Check(WritePage(path, os.DirFS(dir), r, PageOptions{}))
	b.Do(chromedp.Navigate("file://" + path))
	return browsertest.Eval[string](b.Tab, `document.getElementById('main').textContent`)
}

// TestPageText reads all texts of pages, without a video that a browser could play.
func TestPageText(t *testing.T) {
	browsertest.Path(t)
	dir := t.TempDir()
	analyzetest.Check(t, os.CopyFS(dir, someFiles()))
	b := newTab(t, func(url string) bool { return strings.HasPrefix(url, "file://"+dir) || url == "data:," })
	b.says("everything", b.opened(dir, sample()), []string{
		"2 frames are missing from this recording.", "canvas.eid", "2 frames were lost before frame 120: ring full",
		"59.9frames/s", "58.0 – 60.1", "the page says 60 frames/s",
		"No images are given; name them with --images", "Few frames", "stands for 2 frames, at 1, 2", "frame 102",
		"heatmap.npy", "The green is torn at line 300 in frame 101",
		"This is the last attempt; the run was retried once.",
		"begun again once: the browser did not start", "Chromium 140.0.7339.185", "Frames drawn", "59 frames58 – 60",
		"61 frames60 – 62", "63 frames", "one is doubtful",
		"T0 (navigation) 100 ms before the first change, ± 0.05 ms",
		"Network 3g", "1.6 Mbit/s", "300 ms300.4 ms", "338 KiB", "http/1.1, u=0, i, same connection",
		"/load.html",
		"8.8 KiB unpacked", "11 more requests are in the HAR file",
		"calibrated on 30 held frames, 12 of them of a pattern",
		"The page’s claims", "its pixels were seen after 650 ms.", "img#hero", "Largest paint (LCP)", "640 ms",
		"Largest paint, as it was seen", "634 – 651", "This browser does not offer it", "until hero",
		"TypeError: x is not a function", "39.1 KiB",
		"5 errors; slow (app.js:12) ran longest: 40 (39–41) ms.",
		"1,234 records of scripts are lost in 1 gap: ring full. Calls may be missing.",
		"The clock of a worker is bounded from two questions only", "104The first change came after 33 ms.",
		"prices.json (fetch) took 250 ms",
		"slowapp.js:12of it 31 ms in JSON.parse() (app.js:14)340 ms39–4141 ms14 ms31 ms",
		"(anonymous)src/list.ts:7, lib.min.js:1:203451,2004.3 ms",
		"not caught · src/App.tsx:31, app.js:20 · 2 times",
		"load (src/App.tsx:31, app.js:20)", "4 later errors not shown", "https://page.test/sw.js", "service worker",
		"3 of 41 programs are not instrumented: unexpected : at 1:5 (2), service worker (1).",
		"The instrumentation cost 85 (80–90) ns per call", "agree within 0.24 ms",
		"51,234 records arrived. script.log has all.",
		"slow (app.js:12)main0.117 s32 ms431", "not listedworker0.120 s4.5 ms2",
	})
	if n := browsertest.Eval[int](b.Tab, `document.querySelectorAll('[data-frame="104"]').length`); n == 0 {
		t.Error("no button goes to frame 104")
	}
	for _, link := range []string{"network.har", "pictures/heatmap.png", "pictures/waterfall.svg", "recording.eid",
		"script.log"} {
		if !browsertest.Eval[bool](b.Tab,
			`[...document.querySelectorAll('[src], [href]')].some((e) => (e.src || e.href).endsWith('`+link+`'))`) {
			t.Errorf("the page does not refer to %s", link)
		}
	}
	b.Quiet("video.mp4", "pictures/") // the files are stand-ins

	r := sample()
	fps := &r.Windows[0].Results[0]
	for i := range 5000 {
		fps.Values[0].Frames = append(fps.Values[0].Frames, i%300)
		fps.Evidence = append(fps.Evidence, fps.Evidence[0])
		fps.Warnings = append(fps.Warnings, fmt.Sprint("warning ", i))
	}
	b.says("a bounded list", b.opened(dir, r), []string{"more in results.json"})
	if n := browsertest.Eval[int](b.Tab, `document.querySelectorAll('button').length`); n > 1000 {
		t.Errorf("%d buttons", n)
	}

	cut := sample()
	cut.Recording.Lost = 0
	text := b.opened(dir, cut)
	b.says("a recording that was cut off", text, []string{"This recording was cut off: frames at its end are missing."})
	if strings.Contains(text, "Every frame is there") {
		t.Error("a recording that was cut off is shown as whole")
	}

	nothing := &result.Results{Quality: analyze.Result{Measure: "quality", State: analyze.Refused,
		Refusal: "there are no frames"}}
	b.says("nothing", b.opened(dir, nothing), []string{"Nothing was measured in this recording.",
		"The quality of this recording is unknown.", "There are no frames"})
}

func (b *tab) says(what, page string, all []string) {
	b.Helper()
	for _, want := range all {
		if !strings.Contains(page, want) {
			b.Errorf("%s: the page does not say %q", what, want)
		}
	}
}
