package webui

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
)

// shownPage is a page of the rig: when it is there, and what is done then.
type shownPage struct{ name, address, ready, then string }

// allPages are all that there are, of runs that are made for them.
func (p *played) allPages() []shownPage {
	p.makeTrends()
	p.trends.makeBisects()
	p.fleet.makeFleet()
	one, other := p.makeRun("20261121-201530-framerate-k7f2", smooth),
		p.makeRun("20261121-201531-framerate-k7f3", uneven)
	p.more = overALine
	load := p.makeRun("20261121-201531-load-k7f5", smooth)
	p.more = ranScripts
	ran := p.makeRun("20261121-201531-scripts-k7f6", smooth)
	p.more = nil
	p.makeFilms(filmed)
	tears := p.makeRun("20261121-201532-tearing-k7f4", torn)
	return []shownPage{
		{"rig", "#/rig",
			`document.querySelector('.live')?.width === 640 && document.querySelector('.capture') !== null`, ""},
		{"tests", "#/tests?test=load", `document.querySelector('form.start') !== null`, ""},
		{"address", "#/tests?mode=address", `document.querySelector('form.start') !== null`,
			`document.querySelectorAll('form.start details').forEach((d) => { d.open = true; })`},
		{"editor", "#/tests?mode=edit&test=load", `document.querySelector('.problems .fine') !== null`,
			`document.querySelectorAll('form.start details').forEach((d) => { d.open = true; })`},
		{"job", "#/jobs/" + p.job(), `document.querySelector('.job') !== null`, ""},
		{"runs", "#/runs?trend=framerate/fps.framerate",
			`document.querySelector('.row-run') !== null && document.querySelector('.trend-chart svg') !== null`,
			""},
		{"run", "#/runs/" + tears.id + "?frame=36",
			`document.querySelector('canvas.exact')?.dataset.frame === '36' &&
				document.querySelectorAll('.chart svg.plot').length >= 4`, ""},
		{"run-results", "#/runs/" + tears.id + "?frame=36", `document.querySelectorAll('.chart svg.plot').length >= 4`,
			`document.querySelector('.evidence').scrollIntoView({block: 'center'})`},
		{"run-network", "#/runs/" + load.id,
			`document.querySelector('.waterfall img')?.naturalWidth > 0 && document.querySelector('.network') !== null`,
			`document.querySelector('.network').scrollIntoView({block: 'center'})`},
		{"run-scripts", "#/runs/" + ran.id,
			`document.querySelector('.script-task') !== null && document.querySelector('.scripts') !== null`,
			`document.querySelectorAll('.scripts, .scripts details, .more-events').forEach((d) => { d.open = true; });
				document.querySelector('.scripts').scrollIntoView({block: 'start'})`},
		{"run-profile", "#/runs/" + ran.id,
			`['.thread-busy', '.strip-card .button', '.late-card'].every((s) => document.querySelector(s) !== null)`,
			`document.querySelectorAll('.late-frame details, .profile').forEach((d) => { d.open = true; });
				document.querySelector('.strip-card .button').click();
				document.querySelector('.late-card').scrollIntoView({block: 'start'})`},
		{"compare", "#/compare?a=" + one.id + "&b=" + other.id + "&step=2",
			`document.querySelector('.outcome') !== null &&
				document.querySelector('.difference')?.getAttribute('aria-label')?.includes('differ')`, ""},
		{"set", "#/runs/" + p.makeSet("20261120-101530-load-x4y2"),
			`document.querySelectorAll('.dots circle').length === 3`, ""},
		{"trends", "#/trends",
			`document.querySelectorAll('[data-series], [data-schedule], [data-alert]').length === 6 &&
				[...document.querySelectorAll('.films video')].every((v) => v.readyState)`,
			`document.querySelectorAll('.alert details').forEach((d) => { d.open = true; })`},
		{"series", "#/trends/11", `document.querySelector('.trend-chart .spot') !== null`,
			`document.querySelector('.series-page details').open = true`},
		{"bisect", "#/trends/bisect/bisect-20261012-5d1e02ab", `document.querySelector('[data-build]') !== null`, ""},
		{"fleet", "#/fleet", `document.querySelector('[data-device="pixel"] canvas')?.width === 320 &&
			document.querySelectorAll('[data-rig], .job[data-job]').length === 7`,
			`document.querySelectorAll('.fleet details').forEach((d) => { d.open = true; });
				document.querySelector('.invite input').value = 'lab-10';
				document.querySelector('.invite button').click()`},
		{"help", "#/runs", `document.querySelector('.row-run') !== null`, `document.getElementById('help').click()`},
		{"device", "#/rig", `document.querySelector('.device .row button') !== null`,
			`document.querySelectorAll('.tab')[1].click()`},
		{"reserve", "#/rig", `document.querySelector('.device .row button') !== null`,
			`[...document.querySelectorAll('.device button')].find((b) => b.textContent === 'Reserve …').click()`},
		{"nothing", "#/runs/no-such-run", `document.querySelector('.refusal') !== null`, ""},
		{"unknown", "#/unknown", `document.querySelector('.refusal') !== null`, ""},
	}
}

// TestAllPages looks at every page, light on a phone and dark on a desk: axe-core finds no
// violation, and everything has room. With EIDETICKER_SOAK or for pictures it opens them at both
// widths, and looks at both colours.
func TestAllPages(t *testing.T) {
	t.Parallel()
	browsertest.Axe(t) // before runs are made
	p, b := serve(t)
	p.manyRuns(300)
	pages := p.allPages()
	look := func(page shownPage, scheme string, width int64) { // as if the system changed its colours
		name := fmt.Sprintf("%s-%s-%d", page.name, scheme, width)
		b.Look(scheme, width)
		b.drawn()
		b.Audited(name)
		b.picture(name)
	}
	widths, dark := []int64{360}, int64(1400)
	if os.Getenv("EIDETICKER_SOAK") != "" || os.Getenv("EIDETICKER_PICTURES") != "" {
		widths, dark = []int64{360, 1400}, 0
	}
	for _, width := range widths {
		for _, page := range pages {
			b.Look("light", width)
			b.open(page.address)
			b.await(page.name, page.ready)
			if page.then != "" {
				b.Do(chromedp.Evaluate[chromedp.Void](page.then))
			}
			look(page, "light", width)
			look(page, "dark", max(width, dark))
		}
	}
	b.Log("the choice of colours is kept")
	b.Look("light", 1400)
	b.open("#/runs")
	b.await("the page is there", `document.querySelector('.row-run') !== null`)
	for range 2 {
		b.click("#theme") // as the system has it, light, dark
	}
	b.open("#/rig")
	b.await("it is dark", `getComputedStyle(document.body).backgroundColor === 'rgb(18, 22, 28)'`)
	b.Quiet()
}
