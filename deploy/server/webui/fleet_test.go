package webui

import (
	"slices"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/deploy/api"
)

// fleetPage shows rigs, pictures and the queue of a hub. An admin changes them.
func fleetPage(p *played, b *tab) {
	b.Helper()
	b.open("#/rig")
	b.await("a rig in no fleet has no such tab", `document.querySelector('#pages a') !== null &&
		!document.querySelector('#pages a[href="#/fleet"]')`)
	p.mu.Lock()
	p.fleet.makeFleet()
	p.mu.Unlock()
	b.open("#/rig")
	b.click(`#pages a[href="#/fleet"]`)
	b.await("all are listed", `document.querySelectorAll('[data-rig], .job[data-job]').length === 7`)
	b.await("pictures are shown", `document.querySelector('[data-device="desk"] canvas').width === 320`)
	b.says("3 rigs", "1 away", "1 job waits (now 1)", "away since", "it has been silent for 30 s",
		"2 results not reported", "Its clock is 2 s behind", "new cable", "os=linux", "model="+evilPath,
		"The only fitting device, lab-07/pixel",
		"run 3 of 8", "superseded: it does not count", "fault of the lab", "the browser crashed",
		"https://hub.example:8430/", "not connected since", "the hub does not answer")
	p.mu.Lock()
	if slices.Contains(p.fleet.pictures, "lab-08/wall") {
		b.Error("the picture of a rig that is away was asked for")
	}
	p.mu.Unlock()
	if got := browsertest.Eval[string](b.Tab,
		`[...document.querySelectorAll('[data-rig] h3')].map((e) => e.innerHTML).join()`); got !=
		`<a href="https://lab-07:8430/">lab-07</a>,lab-08,lab-09` {
		b.Errorf("the rigs have links %s", got)
	}

	b.Log("the runs of an ended job have links")
	b.click(`[data-job="s-80-desk-k7f2"] summary`)
	b.await("they are listed", `document.querySelector('[data-job="s-80-desk-k7f2"] .made a')?.getAttribute('href') ===
		'fleet/v1/runs/lab-07/s-80-desk-k7f2.2~chromium~1/report.html'`)

	b.Log("a job is started where its labels fit")
	b.click(".fleet details.start summary")
	b.await("labels are offered", `document.querySelectorAll('.label-choice').length > 5`)
	b.Do(chromedp.SendKeys(chromedp.CSS(`.start input[list]`), "framerate"))
	b.Do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll('.label-choice')].find((e) =>
		e.textContent === 'model=pixel7').click()`))
	b.says("1 device of 1 rig fits")
	b.click(".start .button.main")
	b.await("it waits",
		`document.querySelector('[data-job="s-83-k7f2"]')?.textContent.includes('number 2 of class now')`)
	p.mu.Lock()
	if q := p.fleet.started; q.Test != "framerate" || !slices.Equal(q.Needs, []string{"model=pixel7"}) ||
		q.Class != "now" {
		b.Errorf("the job is %+v", q)
	}
	p.mu.Unlock()
	b.click(`[data-job="s-82-pixel-k7f2"] [data-do="cancel"]`)
	b.await("another is cancelled", `document.querySelector('[aria-label="Ended jobs"] [data-job="s-82-pixel-k7f2"]')
		?.textContent.includes('ada cancelled it')`)

	b.Log("rigs are invited, drained and removed")
	b.Do(chromedp.SendKeys(chromedp.CSS(".invite input"), "lab-10\n"))
	b.await("the command is shown", `document.querySelector('.invite code')?.textContent ===
		'eideticker fleet join https://hub:8430/#kV8secret' &&
		document.querySelector('.invite').textContent.includes('until')`)
	b.click(`[data-rig="lab-07"] [data-do="drain"]`)
	b.Do(chromedp.SendKeys(chromedp.CSS("dialog[open] input"), "a new card"))
	b.click(`dialog[open] button[value="yes"]`)
	b.await("it is drained", `(t => t.includes('drained') && t.includes('a new card') && t.includes('Go on'))(
		document.querySelector('[data-rig="lab-07"]').textContent)`)
	b.click(`[data-rig="lab-07"] [data-do="drain"]`)
	b.await("it goes on", `document.querySelector('[data-rig="lab-07"]').textContent.includes('ready')`)
	b.click(`[data-rig="lab-08"] [data-do="remove"]`)
	b.click(`dialog[open] button[value="yes"]`)
	b.await("it is gone", `!document.querySelector('[data-rig="lab-08"]')`)
	b.Do(chromedp.SendKeys(chromedp.CSS(`.card-head input`), "pixel7"))
	b.await("rigs are searched", `document.querySelectorAll('[data-rig]').length === 1`)

	b.Log("an address shows the runs of a set")
	b.open("#/fleet/lab-07/s-80-desk-k7f2.2")
	b.await("they are listed", `document.querySelectorAll('[aria-label="Set"] .made a').length === 2`)

	b.Log("an address shows a job, such as that of a step of a bisection")
	b.open("#/fleet/s-80-desk-k7f2")
	b.await("it is shown", `document.querySelectorAll('[aria-label="Job"] .made a').length === 2`)
	b.open("#/fleet/s-1-gone")
	b.await("a missing one is named", `document.querySelector('[aria-label="Job"] .refusal')?.textContent
		.includes('unknown job s-1-gone')`)

	b.Log("fresh runs of a change are compared in words, and have links")
	b.open("#/compare?a=lab-07/s-80-desk-k7f2.2~before&b=lab-07/s-80-desk-k7f2.2~after")
	b.await("they are compared", `document.querySelector('.outcome') !== null &&
		document.querySelectorAll('[aria-label="Runs"] .made a').length === 2`)

	b.Log("who may only look can change nothing")
	p.mu.Lock()
	p.role = api.View
	p.mu.Unlock()
	b.open("#/fleet")
	b.await("it is shown", `document.querySelectorAll('[data-rig]').length === 2`)
	if got := browsertest.Eval[string](b.Tab,
		`[...document.querySelectorAll('#main button')].map((e) => e.textContent).join()`); got != "" {
		b.Errorf("who may only look can %s", got)
	}
	p.mu.Lock()
	p.role, p.fleet.status.Role = "", "rig"
	p.mu.Unlock()
	b.open("#/fleet")
	b.await("a rig shows its hub alone", `document.querySelector('.card')?.textContent.includes('lab-01') &&
		!document.querySelector('.fleet')`)
}
