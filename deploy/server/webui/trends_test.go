package webui

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/trend/trendtest"
)

// TestOrder: builds have places in their order, and a place leads back to its build.
func TestOrder(t *testing.T) {
	const script = `import {Order} from 'PAGE/js/order.js';
const points = new Order({level: 0, points: [{seq: 3}, {seq: 20}, {seq: 21}], tiles: [],
	gaps: [{seq: 9}, {seq: 20}]});
const tiles = new Order({level: 1, points: [], gaps: [{seq: 5}], tiles: [{first_seq: 1, last_seq: 8, points: 4},
	{first_seq: 11, last_seq: 12, points: 2}, {first_seq: 12, last_seq: 13, points: 1}]});
const empty = new Order({level: 0, points: [], tiles: [], gaps: []});
console.log(JSON.stringify([points.places, ...[1, 3, 9, 10, 20, 21, 99].map((s) => points.place(s)),
	...[-1, 0.5, 1.5, 2.9, 3, 99].map((p) => points.seq(p)), tiles.places, ...[1, 5, 9, 12].map((s) => tiles.place(s)),
	...[0, 3.9, 4, 5.9].map((p) => tiles.seq(p)), empty.places, empty.place(3), empty.seq(3)]));`
	var got []float64
	inNode(t, script, &got)
	want := []float64{4, 0, 0.5, 1.5, 2, 2.5, 3.5, 4, 3, 3, 9, 20, 21, 21, 6, 0.25, 2.25, 4, 5.5, 1, 8, 11, 12, 0,
		0, 0}
	if !slices.Equal(got, want) {
		t.Errorf("the places are\n%v, want\n%v", got, want)
	}
}

// TestTrendsPages shows alerts, schedules, bisections and series, then a fleet. An admin changes
// them.
func TestTrendsPages(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	p.trends.none = true
	b.open("#/trends")
	b.await("a rig without schedules says how to add one",
		`document.getElementById('main').textContent.includes('Add one: docs/schedules.md') &&
			document.getElementById('main').textContent.includes('No series has a point yet')`)
	p.makeFilms(filmed)
	p.makeFilms("lab-07/" + filmed)
	p.mu.Lock()
	p.trends.none = false
	p.makeTrends()
	p.trends.makeBisects()
	p.mu.Unlock()
	b.open("#/trends")
	b.await("all are listed",
		`document.querySelectorAll('[data-series], [data-schedule], [data-alert]').length === 6`)
	b.says("1 open alert", "framerate is worse in firefox", "12 of 200 confirmations", "1 closed alert",
		"draw (app.js:3) ran for 40 ms", "Draw each frame twice",
		"--repeat 24 --rig http://127.0.0.1:",
		"on a build of feed.nightly", "the disk is full", "53.9 frames/s", evilPath,
		"latest gap: load, 20261130-0300: no browser", "pool desks: scroll-a: desk-2 beside desk-1", "not while paused")
	if got := browsertest.Eval[string](b.Tab, `[...document.querySelectorAll('[data-schedule] small a')].map((a) =>
		a.getAttribute('href')).join()`); got != "#/jobs/s-80-k7f2,#/fleet/s-79-k7f2" {
		b.Errorf("the last jobs have links %s", got)
	}

	b.Log("an alert has two films, from its rig or from the hub")
	const shown = `(a => a.length === 2 && a.every((v) => v.readyState > 0) &&
		[...document.querySelectorAll('.films img')].every((i) => i.naturalWidth > 0) &&
		a.map((v) => v.parentElement.textContent + ' ' + v.getAttribute('src')).join())(
		[...document.querySelectorAll('[data-alert="7"] .films video')])`
	for set, at := range map[string]string{filmed: "api/v1/runs/", "lab-07/" + filmed: "fleet/v1/runs/"} {
		p.mu.Lock()
		p.trends.alerts[0].Changes[0].Set = set
		p.mu.Unlock()
		b.open("#/runs")
		b.open("#/trends")
		b.await("both are shown", fmt.Sprintf(shown+" === `before, firefox@nightly:1 %[1]s~before~run-01/video.mp4,"+
			"after %[1]s~after~run-01/video.mp4`", at+set))
	}

	b.Log("an alert gets an owner, a schedule its pause")
	b.Do(chromedp.SendKeys(chromedp.CSS(`[data-alert="7"] input`), "grace\n"))
	p.awaitAsked("alert.set")
	b.click(`[data-schedule="awfy"] button:last-child`)
	b.Do(chromedp.SendKeys(chromedp.CSS("dialog[open] input"), "a new cable"))
	b.click(`dialog[open] button[value="yes"]`)
	b.await("it is paused", `document.querySelector('[data-schedule="awfy"]').textContent.includes('a new cable')`)
	p.mu.Lock()
	if a := p.trends.alerts[0]; a.Owner != "grace" || a.State != "open" {
		t.Errorf("the alert is %+v", a)
	}
	p.mu.Unlock()
	b.Log("an alert's change is bisected")
	b.click(`[data-alert="7"] [data-do="bisect"]`)
	b.click("dialog[open] .button.main")
	b.await("it is shown", `location.hash === '#/trends/bisect/bisect-20261013-k7f2'`)
	b.await("it searches", `document.getElementById('main').textContent.includes('39 builds left')`)
	p.mu.Lock()
	if q := p.trends.bisects[0]; q.Feed != "nightly" || q.Test != "framerate" || q.Value != "fps.framerate" ||
		q.Good >= q.Bad || q.Budget != 600 {
		t.Errorf("the bisection is %+v", q.BisectParams)
	}
	p.mu.Unlock()
	b.click(".series-page .row button")
	b.await("it is cancelled", `document.querySelector('.outcome').textContent.includes('Cancelled by local')`)
	b.open("#/trends")
	b.click(`[data-bisect="bisect-20261012-5d1e02ab"] a`)
	b.await("the other one is shown", `document.querySelectorAll('[data-build]').length === 31`)
	b.says("since build 2026-10-01", "330 of 600", "97 % of the whole shift", "Median, frames/s",
		"cannot run", "94 %", "< 0.1 %")
	if got := browsertest.Eval[string](b.Tab,
		`[...document.querySelectorAll('[data-found] a')].map((e) => e.href).join()`); got !=
		"https://hg.example/rev/77aa01be99" {
		t.Errorf("the found build has links %s", got)
	}
	if got := browsertest.Eval[string](b.Tab, `[...document.querySelectorAll('a')].map((e) => e.hash).filter((h) =>
		h.includes('b-')).join()`); got != "#/fleet/b-1,#/fleet/b-2" {
		t.Errorf("the steps on a hub have links %s", got)
	}
	b.open("#/trends")
	b.await("all are listed again", `document.querySelectorAll('[data-series]').length > 1`)

	b.Log("series are filtered, and the address has it")
	b.Do(chromedp.Evaluate[chromedp.Void](`(s => { s.value = 'framerate'; s.dispatchEvent(new Event('change')); })(
		document.querySelector('[data-filter="test"]'))`))
	b.await("one is found", `document.querySelectorAll('[data-series]').length === 1 &&
		location.hash === '#/trends?test=framerate' &&
		document.querySelectorAll('[data-filter="test"] option').length === 3`)

	b.Log("a series is drawn with its rivals, gaps and changes")
	b.open("#/trends/11")
	b.await("it is drawn", `document.querySelectorAll('.trend-chart circle.line-0').length === 80`) // a name's too
	b.await("areas have the gap too", `document.querySelectorAll('path.area').length === 4`)
	b.says("installed", "unknown from one run")
	b.says("compare the fresh runs", "24 fresh blocks confirmed it", "30 builds before", "last release",
		"smallest that shows", "chrome · stable (rival)")
	for _, c := range []struct{ script, want string }{
		{`[...document.querySelectorAll('text.sign')].map((e) => e.textContent).sort().join()`,
			"– dismissed,■ lab,▼ confirmed,◆ confirming,◇ candidate,✕ refuted"},
		{`document.querySelector('[data-of="difference"]').closest('tr').innerText`,
			"chrome · stable (rival)\nbuild 2026-11-20\n\t59.5 frames/s\t−8.52 %, worse\t−9.71 % to −7.36 %, 1.68 %"},
		{`document.querySelector('path.gap').textContent`, "2026-10-08: the job passed its deadline"},
		{`[...document.querySelectorAll('.trend-chart .name')].map((e) => e.textContent).join()`,
			"chrome,control,firefox"},
		{`document.querySelector('[data-change="5"] a').hash`, "#/compare?a=c-5-k7f2%7Ebefore&b=c-5-k7f2%7Eafter"},
		{`document.querySelector('.spot-about a').hash`, "#/runs?set=s-80-k7f2"},
		{`document.querySelector('.spot-about code').textContent`, "s-80-k7f2"}, // for remove-points
	} {
		if got := browsertest.Eval[string](b.Tab, c.script); got != c.want {
			t.Errorf("%s is %q, want %q", c.script, got, c.want)
		}
	}
	b.press(kb.ArrowLeft)
	b.await("the build before is shown", `document.querySelector('.spot-about a').hash === '#/runs?set=s-79-k7f2'`)
	b.click(".choices label:nth-child(2) input")
	b.await("the rival is hidden", `!document.querySelector('.trend-chart .line-1')`)
	b.click(".series-page details > summary")
	b.await("the table has each point and gap",
		`document.querySelectorAll('.series-page details tbody tr').length === 80`)

	b.Log("a change is dismissed with a reason")
	b.click(`[data-change="4"] button:last-child`)
	b.Do(chromedp.SendKeys(chromedp.CSS("dialog[open] input"), "as intended"))
	b.click(`dialog[open] button[value="yes"]`)
	b.await("it says so", `(t => t.includes('dismissed') && t.includes('As intended'))(
		document.querySelector('[data-change="4"]').textContent)`)

	b.Log("a part is dragged over, and shown alone")
	b.stands(".trend-chart svg")
	at := browsertest.Eval[[]float64](b.Tab, `(r => [r.left + 50, r.top + 150, r.width - 150])(
		document.querySelector('.trend-chart svg').getBoundingClientRect())`)
	b.Do(chromedp.MouseEvent(chromedp.MouseMoved, at[0]+at[2]/2, at[1]),
		chromedp.MouseEvent(chromedp.MousePressed, at[0]+at[2]/2, at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(chromedp.MouseMoved, at[0]+at[2]*3/4, at[1], chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, at[0]+at[2]*3/4, at[1], chromedp.ButtonLeft,
			chromedp.ClickCount(1)))
	b.await("a quarter is shown", `location.hash === '#/trends/11?from=41&to=61' &&
		document.querySelectorAll('.series-page details tbody tr').length === 21`)
	b.press("0")
	b.await("all are shown", `location.hash === '#/trends/11' && document.querySelectorAll('text.sign').length === 6`)

	b.Log("many builds are shown as tiles, until a part is shown alone")
	db := trendtest.Open(t, trendtest.Filling{Points: 1200, Runs: 5, Step: 0.1})
	p.mu.Lock()
	p.trends.stored = db
	p.mu.Unlock()
	b.open("#/trends/1")
	b.await("they are bands", `document.querySelectorAll('.trend-chart .area').length === 3`)
	b.says("1,200 builds, in 300 groups", "Zoom in until each build has its point", "#11970 – #12000")
	p.mu.Lock()
	limit := p.trends.limits[len(p.trends.limits)-1]
	p.mu.Unlock()
	if width := browsertest.Eval[int](b.Tab, `document.querySelector('.trend-chart').clientWidth`); limit < width/5 ||
		limit > width {
		t.Errorf("%d points are asked for a chart of %d pixels", limit, width)
	}
	b.press("+")
	b.await("each build has its point", `document.querySelectorAll('.trend-chart .interval').length > 100 &&
		document.querySelector('.spot-about').textContent.startsWith('build-')`)

	b.Log("who may only look can change nothing")
	p.mu.Lock()
	p.role = api.View
	p.mu.Unlock()
	for address, ready := range map[string]string{"#/trends": `[data-alert="7"]`, "#/trends/11": `[data-change="4"]`} {
		b.open(address)
		b.await("it is shown to those who may look", fmt.Sprintf(`document.querySelector('%s') !== null`, ready))
		if got := browsertest.Eval[string](b.Tab, `[...document.querySelectorAll(
			'[data-change] button, [data-schedule] button, [data-alert] input:enabled')]
			.map((e) => e.textContent).join()`); got != "" {
			t.Errorf("%s: who may only look can %s", address, got)
		}
	}
	b.open("#/trends/99")
	b.await("an unknown series is an error", `document.querySelector('.refusal')?.textContent === 'unknown series 99'`)
	p.mu.Lock()
	p.role = ""
	p.mu.Unlock()
	fleetPage(p, b) // in the same browser
	b.Quiet()
}

// says waits until the page shows each text.
func (b *tab) says(texts ...string) {
	b.Helper()
	for _, want := range texts {
		b.await(fmt.Sprintf("the page says %q", want),
			fmt.Sprintf(`document.getElementById('main').textContent.includes(%q)`, want))
	}
}
