package webui

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/draw"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/deploy/api"
)

// serve starts a played rig and a browser in front of it.
func serve(t *testing.T) (*played, *tab) {
	t.Helper()
	needsBrowser(t)
	p, base := servePlayed(t)
	return p, newTab(t, base)
}

// servePlayed starts a played rig, and returns its address.
func servePlayed(t *testing.T) (p *played, base string) {
	t.Helper()
	p = newPlayed(t)
	server := httptest.NewServer(p)
	t.Cleanup(func() {
		p.mu.Lock()
		for _, c := range p.clients {
			_ = c.conn.Close() // a server does not end those that it has given away
		}
		p.mu.Unlock()
		server.Close()
	})
	return p, server.URL
}

// digest is the SHA-256 of a frame's pixels, as RGBA.
func (m made) digest(t *testing.T, n int) string {
	t.Helper()
	r, err := recording.Open(filepath.Join(m.dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	img, err := r.Image(n)
	if err != nil {
		t.Fatal(err)
	}
	from := frame.NewConverter(img.Layout).Picture(img)
	to := image.NewRGBA(from.Bounds())
	draw.Draw(to, to.Bounds(), from, from.Bounds().Min, draw.Src)
	sum := sha256.Sum256(to.Pix)
	return hex.EncodeToString(sum[:])
}

// digestScript promises the SHA-256 of the pixels that are called exact.
const digestScript = `(async () => {
	const c = document.querySelector('canvas.exact');
	const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', {willReadFrequently: true});
	copy.drawImage(c, 0, 0);
	const sum = await crypto.subtle.digest('SHA-256', copy.getImageData(0, 0, c.width, c.height).data);
	return [...new Uint8Array(sum)].map((x) => x.toString(16).padStart(2, '0')).join('');
})()`

// shows waits until the stage shows a captured frame, and holds its pixels against the recording.
func (b *tab) shows(m made, n int) {
	b.Helper()
	b.await(fmt.Sprintf("frame %d is shown", n),
		fmt.Sprintf(`(c => c && !c.hidden && c.dataset.frame === '%d' &&
			document.querySelector('.controls .state').textContent === 'exact pixels')(
			document.querySelector('canvas.exact'))`, n))
	b.Do(chromedp.Evaluate[chromedp.Void](`window.digest = null; ` + digestScript +
		`.then((sum) => { window.digest = sum; }); 0`))
	b.await("its pixels are read", `window.digest !== null`)
	got := browsertest.Eval[string](b.Tab, `window.digest`)
	if want := m.digest(b.T, n); got != want {
		b.Errorf("frame %d: what is shown is not what was recorded", n)
	}
}

// endless repeats the page's videos until they are stopped.
func (b *tab) endless() {
	b.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll('video').forEach((v) => { v.loop = true; })`))
}

func TestRunPage(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	m := p.makeRun("20261121-201532-tearing-k7f4", torn)
	b.open("#/runs/" + m.id)

	b.Log("it begins at the first frame of what was measured")
	b.shows(m, 30)
	b.Log("keys go by captured frames")
	for i, key := range []string{kb.ArrowRight, kb.ArrowRight, kb.ArrowLeft, "."} {
		b.press(key)
		b.shows(m, []int{31, 32, 31, 32}[i])
	}
	b.press(kb.End)
	b.shows(m, 119)
	b.Log("the address says where it stands, and leads there")
	b.await("the address has the frame", `location.hash.endsWith('frame=119')`)
	b.open("#/runs/" + m.id + "?frame=77")
	b.shows(m, 77)

	b.Log("evidence shows its frame, and where in it")
	b.press("e")
	b.await("a frame with evidence is shown, and its tear marked",
		`document.querySelectorAll('.over-marks .shown-row').length > 0 &&
			document.querySelector('.proof.here') !== null`)
	b.Log("all charts have their cursor at one place")
	b.Do(chromedp.Click(chromedp.CSS(".fold > summary")))
	b.await("charts are drawn", `document.querySelectorAll('.chart svg.plot').length >= 4`)
	b.await("cursors stand at one place",
		`new Set([...document.querySelectorAll('.result svg.plot .cursor')].map((c) =>
			c.getAttribute('x1'))).size === 1`)
	b.Log("the filmstrip is among what was found")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.filmstrips').scrollIntoView({block: 'center'})`))
	b.await("the filmstrip is a picture", `document.querySelector('.filmstrips img').naturalWidth > 320`)

	b.Log("a click into a chart goes there")
	b.stands(".result svg.plot")
	at := browsertest.Eval[[]float64](b.Tab,
		`(r => [r.left + 50 + (r.width - 60) / 2, r.top + r.height / 2])(
			document.querySelector('.result svg.plot').getBoundingClientRect())`)
	b.Do(chromedp.MouseClickXY(at[0], at[1]))
	b.await("it is in the middle", `Math.abs(Number(document.querySelector('.frame-number').value) - 75) <= 1`)

	b.Log("the heat map lies over the frame")
	b.press("h")
	b.await("there is heat", `(c => !c.hidden && c.width === 320 &&
		c.getContext('2d').getImageData(0, 0, 320, 180).data.some((v) => v > 0))(document.querySelector('.heat'))`)

	b.Log("as strong as it is wanted")
	if got := browsertest.Eval[string](b.Tab,
		`(r => { r.value = 30; r.dispatchEvent(new Event('input'));
			return getComputedStyle(document.querySelector('.heat')).opacity; })(
			document.querySelector('.heat-control input[type=range]'))`); got != "0.3" {
		t.Errorf("its opacity is %s", got)
	}

	b.Log("what is to be known of the capture stands above all else")
	b.await("it says that every frame is there",
		`(q => Boolean(q?.textContent.includes('Every frame is there') && q.compareDocumentPosition(
			document.querySelector('.with-film')) & Node.DOCUMENT_POSITION_FOLLOWING)
			)(document.querySelector('.quality'))`)

	b.Log("the frame that is shown can be saved")
	shown := browsertest.Eval[string](b.Tab, `document.querySelector('.frame-number').value`)
	b.Do(chromedp.Evaluate[chromedp.Void](
		`HTMLAnchorElement.prototype.click = function () { window.saved = this.href + ' as ' + this.download; }`))
	b.press("s")
	b.await("its address is that of the exact frame",
		fmt.Sprintf(`window.saved?.endsWith('/runs/%[1]s/frames/%[2]s.png as %[1]s-%[2]s.png')`, m.id, shown))

	b.Log("while the video plays no frame is called exact")
	b.endless()
	b.press(" ")
	b.await("it plays", `!document.querySelector('video').paused && document.querySelector('canvas.exact').hidden`)
	b.press(" ")
	b.await("it stands at an exact frame",
		`document.querySelector('video').paused &&
			document.querySelector('.controls .state').textContent === 'exact pixels'`)
	b.shows(m, browsertest.Eval[int](b.Tab, `Number(document.querySelector('.frame-number').value)`))

	b.Log("keys are told")
	b.press("?")
	b.await("the help is open", `document.querySelector('dialog[open]')?.textContent.includes('one captured frame on')`)
	b.press(kb.Escape)
	b.await("the help is closed", `!document.querySelector('dialog')`)
	b.Quiet()
}

// Evidence is shown on the frame and in it, whatever it is of.
func TestCheckerEvidence(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	m := p.makeRun("20261121-201533-checker-k7f5", tiled)
	b.open("#/runs/" + m.id)
	b.shows(m, 30)
	b.press("e")
	b.await("a frame is shown with the place that is a checkerboard",
		`(e => e?.textContent.includes('checkerboard') &&
			e.dataset.frame === document.querySelector('canvas.exact').dataset.frame)(
			document.querySelector('.proof.here')) &&
			document.querySelectorAll('.over-marks .shown-region').length > 0`)
	b.await("its picture is there", `document.querySelector('.proof.here img') !== null`)
	b.Quiet()
}

func TestTestsPage(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	p.manyRuns(30)
	b.open("#/tests")
	b.click(`[data-test="load"]`)
	b.await("the test's own number of runs is there",
		`document.querySelector('form.start input[type=number]').value === '3'`)
	// nothing shows yet that the first one did something
	b.Do(chromedp.Evaluate[chromedp.Void](
		`(start => { start.click(); start.click(); })(document.querySelector('form.start .button.main'))`))
	b.await("its progress is shown",
		`document.querySelector('.job progress')?.value === 180 &&
			document.querySelector('.job').textContent.includes('1 of 2')`)

	b.Log("what can be clicked stays while progress is shown")
	b.await("the button to cancel has the focus",
		`(e => { e.focus(); return document.activeElement === e; })(document.querySelector('.job .button.small'))`)
	p.mu.Lock()
	running := p.jobs[0].ID
	p.mu.Unlock()
	p.say(api.Event{Kind: "phase", JobID: running, Phase: &api.Phase{Name: "measuring", Run: "1 of 2", Done: 7,
		Total: 240}})
	b.await("it goes on", `document.querySelector('.job progress').value === 7`)
	b.press(kb.Enter)
	p.awaitAsked("run.cancel")

	b.Log("what happens while the connection is broken is caught up on")
	p.mu.Lock()
	job, broken := p.jobs[0], p.clients
	p.clients, p.down = nil, true
	p.mu.Unlock()
	for _, c := range broken {
		_ = c.conn.Close()
	}
	b.await("the page says so", `document.getElementById('link-state').textContent !== ''`)
	p.mu.Lock()
	p.down = false
	p.mu.Unlock()
	b.await("and connects again", `document.getElementById('link-state').textContent === ''`)
	job.State, job.Done, job.EndedWallNS = "ok", 2, time.Now().UnixNano()
	p.say(api.Event{Kind: "run", JobID: job.ID, Run: &api.Made{Run: p.runs[0].ID, Variant: "chromium on local",
		State: "ok"}})
	p.say(api.Event{Kind: "run", JobID: job.ID, Run: &api.Made{Run: p.runs[1].ID, Variant: "chromium on local",
		State: "failed", Reason: "no green was seen"}})
	p.say(api.Event{Kind: "job", Job: &job})
	b.await("the job has ended and links to its runs",
		`document.querySelectorAll('.job .made a').length === 2 &&
			document.querySelector('.job').textContent.includes('no green was seen') &&
			!document.querySelector('.job progress')`)
	b.click(".job .made a")
	b.await("the run is shown", `document.querySelector('h1')?.textContent.startsWith('framerate')`)
	p.mu.Lock()
	if n := len(slices.DeleteFunc(p.asked, func(method string) bool { return method != "run.start" })); n != 1 {
		t.Errorf("it was started %d times", n)
	}
	p.mu.Unlock()
	b.Quiet("WebSocket connection", "Nothing was recorded", p.runs[0].ID+"/frames/0.png") // it has no folder
}

func TestRunsPage(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	p.manyRuns(10_000)
	b.open("#/runs")
	const rows = `document.querySelectorAll('.row-run[data-run]').length`
	b.await("runs are listed", rows+` > 5 && document.querySelector('.run-card .found').textContent === '10,000 runs'`)

	b.Log("of ten thousand runs those in sight are elements")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.run-list').scrollTop = 46 * 300`))
	b.await("it goes on below",
		`[...document.querySelectorAll('.row-run[data-run]')].some((r) => r.getAttribute('aria-posinset') === '305')`)
	if n := browsertest.Eval[int](b.Tab, rows); n > 60 {
		t.Errorf("%d rows are elements", n)
	}
	b.Log("a run that comes meanwhile moves neither the page nor the chosen row")
	b.click(`.row-run[aria-posinset="303"]`)
	b.await("it is chosen",
		`(window.chosen = document.querySelector('.row-run.selected'))?.getAttribute('aria-posinset') === '303'`)
	p.mu.Lock()
	fresh := p.runs[0]
	fresh.ID += "-fresh"
	p.runs = slices.Insert(p.runs, 0, fresh)
	p.mu.Unlock()
	p.say(api.Event{Kind: "store", Store: &api.Change{ID: fresh.ID, What: "added"}})
	b.await("it is counted", `document.querySelector('.run-card .found').textContent === '10,001 runs'`)
	if !browsertest.Eval[bool](b.Tab,
		`[...document.querySelectorAll('.row-run[data-run]')].some((r) => r.getAttribute('aria-posinset') === '305') &&
			!document.querySelector('.row-run.waiting')`) {
		t.Error("rows in sight are gone")
	}
	if at := browsertest.Eval[string](b.Tab,
		`chosen.isConnected && document.querySelector('.row-run.selected') === chosen
			? chosen.getAttribute('aria-posinset') : 'gone'`); at != "304" {
		t.Errorf("what was chosen is now %s", at)
	}
	b.press("x")
	b.await("it is what a key picks",
		`chosen.querySelector('input').checked && document.querySelectorAll('.row-run input:checked').length === 1`)
	b.Log("that stays so while it is out of sight")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.run-list').scrollTop = 0`))
	b.await("the first is in sight", `document.querySelector('.row-run[aria-posinset="1"]') !== null`)
	p.mu.Lock()
	fresh.ID += "er"
	p.runs = slices.Insert(p.runs, 0, fresh)
	p.mu.Unlock()
	p.say(api.Event{Kind: "store", Store: &api.Change{ID: fresh.ID, What: "added"}})
	b.await("it is counted", `document.querySelector('.run-card .found').textContent === '10,002 runs'`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.run-list').scrollTop = 46 * 300`))
	b.await("the same is chosen",
		`document.querySelector('.row-run.selected')?.getAttribute('aria-posinset') === '305'`)
	b.Log("a search finds, and the address has it")
	b.press("/")
	b.await("the search has the focus", `document.activeElement.type === 'search'`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.value = ''`),
		chromedp.SendKeys(chromedp.CSS(".run-card input[type=search]"), "build-9731"))
	b.await("one is found",
		`document.querySelector('.run-card .found').textContent === '1 run' && location.hash.includes('build-9731')`)

	b.Log("those that are worse than their baseline are found")
	b.open("#/runs")
	b.await("runs are listed", rows+` > 5`)
	b.Do(chromedp.Evaluate[chromedp.Void](
		`(s => { s.value = 'regressed'; s.dispatchEvent(new Event('change')); })(
			document.querySelector('select[aria-label^=Verdict]'))`))
	worse := 0
	for i := range p.runs {
		if p.runs[i].Verdict == "regressed" {
			worse++
		}
	}
	b.await("some are found, and say so",
		fmt.Sprintf(`document.querySelector('.run-card .found').textContent === '%d runs' &&
			location.hash.includes('verdict=regressed') &&
			[...document.querySelectorAll('.row-run[data-run]')].every((r) =>
				r.textContent.includes('▼ regressed'))`, worse))

	b.Log("two are picked by keys and lead to their comparison")
	b.open("#/runs")
	b.await("runs are listed", rows+` > 5`)
	for _, key := range []string{"x", "j", "j", "x"} {
		b.press(key)
	}
	b.await("two are picked", `document.querySelector('.chosen a')?.getAttribute('href').split('&').length === 2`)

	b.Log("who cancels deletes nothing")
	before := browsertest.Eval[string](b.Tab, `document.querySelector('.row-run[data-run]').dataset.run`)
	b.press(kb.Delete)
	b.click(`dialog[open] button[value="no"]`)
	b.await("the question is gone", `!document.querySelector('dialog')`)
	p.mu.Lock()
	if slices.Contains(p.asked, "run.delete") {
		t.Error("something was deleted")
	}
	p.mu.Unlock()
	b.press(kb.Delete)
	b.click(`dialog[open] button[value="yes"]`)
	b.await("both are gone", fmt.Sprintf(
		`document.querySelector('.run-card .found').textContent === '10,000 runs' &&
			!document.querySelector('[data-run=%q]')`, before))

	b.Log("the trend marks what regressed, and says it in words")
	b.click(".trend summary")
	b.await("the trend is drawn",
		`document.querySelector('.trend-chart svg') !== null &&
			document.querySelector('.trend .about').textContent.includes('1 regressed')`)
	if rows := browsertest.Eval[[]string](b.Tab,
		`[...document.querySelectorAll('.trend tbody tr')].map((r) => r.textContent)`); len(rows) != 24 ||
		!strings.Contains(rows[7], "▼ regressed") || !strings.Contains(rows[7], "53.1 – 54.8") {
		t.Errorf("the points are %q", rows)
	}
	b.Quiet()
}

// TestHostileNames: names from outside are text, whatever they are.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	m := p.makeRun("20261121-201530-framerate-k7f2", smooth)
	const evil = `</script><script>window.evil=1</script><img src=x onerror="window.evil=2">` +
		`<svg onload=window.evil=3>'"` + "`${evil}"
	r := &p.runs[0]
	r.Test, r.Device, r.Browser, r.BrowserVersion, r.Label, r.Branch, r.Revision, r.Reason = evil, evil, evil, evil,
		evil, evil, evil, evil
	p.jobs = []api.Job{{ID: evil, Test: evil, State: "running", Reason: evil, Devices: []string{evil},
		Browsers: []string{evil}, Label: evil, Phase: &api.Phase{Name: evil, Run: evil},
		Runs: []api.Made{{Run: evil, Variant: evil, State: evil, Reason: evil}}}}
	for _, address := range []string{"#/runs", "#/runs/" + m.id, "#/tests", "#/rig", "#/compare?a=" + evil,
		"#/runs?text=" + evil, "#/runs/" + evil, "#/" + evil} {
		b.open(address)
		b.await("a page is shown at "+address,
			`document.getElementById('main').childElementCount > 0 && !document.querySelector('.loading')`)
		if browsertest.Eval[bool](b.Tab,
			`'evil' in window || document.querySelector('main script, main img[src=x]') !== null`) {
			t.Errorf("%s: a name was run", address)
		}
	}
	b.Quiet()
}
