package webui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/deploy/api"
)

// job adds a job at work, and returns its ID.
func (p *played) job() string {
	j := api.Job{ID: "20261121-201530-example.org-j0b1", Kind: "run", State: "running", Owner: "local",
		Test: "example.org", Devices: []string{"local"}, Browsers: []string{"chromium"}, Total: 2, Runs: []api.Made{}}
	p.jobs = append(p.jobs, j)
	return j.ID
}

// start returns the parameters of the job that was started last, once the page shows it.
func (p *played) start(b *tab) (asked api.StartParams) {
	p.Helper()
	b.await("the job is shown", `location.hash.startsWith('#/jobs/20261121-201530-')`)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.check(json.Unmarshal(p.started, &asked))
	return asked
}

// write puts a text into the field of a name, as if it was typed.
func (b *tab) write(name, text string) {
	b.Helper()
	b.await(name+" is filled in", fmt.Sprintf(`(field => {
		if (!field) { return false; }
		field.closest('details')?.setAttribute('open', '');
		field.value = %q;
		field.dispatchEvent(new Event('input'));
		field.dispatchEvent(new Event('change'));
		return field.value === %[1]q;
	})([...document.querySelectorAll('form.start .field')].find((f) => f.firstChild.textContent === %q)
		?.querySelector('input, select'))`, text, name))
}

// TestAddressOnThePage: the page runs an address with a network, gestures and a second side. It
// shows the job, and then its run.
func TestAddressOnThePage(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	m := p.makeRun("20261121-201530--k7f2", smooth) // the ID of a played job without a test
	b.open("#/tests")
	b.await("there is a way", `document.querySelector('.tabs a[href="#/tests?mode=address"]') !== null`)
	b.click(`.tabs a[href="#/tests?mode=address"]`)
	b.write("Address", "example.org")
	b.write("Network", "3g")
	b.write("Click", "#menu")
	b.click(".policies > summary")
	b.click(`.policies input[value="errors"]`)
	b.click(".profiles > summary")
	b.click(`.profiles input[value="sockets"]`)
	b.click(`.profiles input[value="samples"]`)
	b.click(".profiles > .check input")
	b.write("Network of B", "cable")
	b.write("Address of B", "http://b.example/")
	b.Log("the keyboard starts it")
	b.await("the field has the focus",
		`(e => { e.focus(); return document.activeElement === e; })(document.querySelector('form.start .long input'))`)
	b.press(kb.Enter)
	got := p.start(b)
	if got.URL != "https://example.org" || got.Network != "3g" || got.Repeat != 8 || len(got.Variants) != 2 ||
		got.Variants[0] != (api.Variant{Name: "A"}) || got.Variants[1].URL != "http://b.example/" ||
		got.Variants[1].Network != "cable" || got.Variants[1].Name != "B" ||
		got.Gestures == nil || !slices.Equal(got.Gestures.Click, []string{"#menu"}) ||
		!slices.Equal(got.Script, []string{"errors"}) || got.Profile != "samples,sockets" || !got.ProfiledOnly ||
		!slices.Equal(got.Devices, []string{"local"}) {
		t.Errorf("started %s", p.started)
	}
	b.await("its progress is shown", `document.querySelector('.job progress')?.value === 180`)
	p.mu.Lock()
	job := p.jobs[0]
	p.mu.Unlock()
	job.State, job.Done, job.EndedWallNS = "ok", 1, 1
	job.Runs = []api.Made{{Run: m.id, State: "ok"}}
	p.say(api.Event{Kind: "job", Job: &job})
	b.await("its run is shown", fmt.Sprintf(`location.hash.startsWith('#/runs/%s')`, m.id))
	b.Quiet()
}

// TestEditorOnThePage: the page shows the problems of a test file and its keys, and runs it.
func TestEditorOnThePage(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	b.open("#/tests?mode=edit")
	b.await("its text has no problem", `document.querySelector('.problems .fine')?.textContent.includes('my-test')`)
	edit := func(text string) {
		b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(e => {
			e.focus();
			e.setSelectionRange(0, e.value.length);
			document.execCommand('insertText', false, %q);
		})(document.getElementById('test-file'))`, text)))
	}
	keys := func(want ...string) {
		t.Helper()
		for _, key := range want {
			b.await("the key "+key+" is offered",
				fmt.Sprintf(`[...document.querySelectorAll('.schema-keys button')].some((k) =>
					k.textContent === %q)`, key))
		}
	}
	keys("name", "url", "network", "steps")
	edit("name: mine\nurl: https://example.org/\nsync: still 3s\nstepz: []\n")
	b.await("the problem is shown",
		`document.querySelector('.problems')?.textContent.includes('line 4, column 1: a test has no key "stepz"')`)
	b.await("it cannot be started", `document.querySelector('form.start .button.main').disabled`)
	b.Log("the problem leads to its line")
	b.click(".problems button")
	if at := browsertest.Eval[int](b.Tab, `document.getElementById('test-file').selectionStart`); at != 52 {
		t.Errorf("the caret is at %d", at)
	}
	b.Log("keys below others are offered, and put in")
	edit("name: mine\nurl: https://example.org/\nsync: still 3s\nsteps:\n  - ")
	keys("click", "wait")
	edit("name: mine\nurl: https://example.org/\nsync: still 3s\nnetwork:\n  pro")
	keys("profile", "protocol")
	b.click(".schema-keys button")
	b.await("it is put in", `document.getElementById('test-file').value.endsWith('network:\n  profile: ')`)
	edit("name: mine\nurl: https://example.org/\nsync: still 3s\n")
	b.await("no problem is left", `document.querySelector('.problems .fine')?.textContent.includes('mine')`)
	b.Log("the draft outlives a reload")
	b.Do(chromedp.Evaluate[chromedp.Void](`window.old = true; location.reload()`))
	b.await("it is there", `!window.old && document.getElementById('test-file')?.value.startsWith('name: mine')`)
	b.await("and has no problem", `!window.old && document.querySelector('.problems .fine') !== null`)
	b.click("form.start .button.main")
	if u := p.start(b).Upload; u == nil || u.Test != "test.yaml" || !strings.HasPrefix(u.Files[u.Test], "name: mine") {
		t.Errorf("started %s", p.started)
	}
	b.Quiet()
}

// TestStartingNeedsARole: a token that may only look gets the reason why nothing can be started.
func TestStartingNeedsARole(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	p.role = api.View
	for _, address := range []string{"#/tests", "#/tests?mode=address", "#/tests?mode=edit"} {
		b.open(address)
		b.await(address, `document.querySelector('form.start .button.main')?.disabled &&
			[...document.querySelectorAll('form.start .refusal')].some((e) => e.checkVisibility() &&
				e.textContent.includes('role view: it cannot start tests'))`)
	}
	b.Quiet()
}

// TestKeysOfTestFiles: the place of a line in a file decides which keys it may have.
func TestKeysOfTestFiles(t *testing.T) {
	var got []string
	inNode(t, `
		import {above} from 'file://PAGE/js/schema.js';
		const at = (...lines) => above(lines).join('/');
		console.log(JSON.stringify([
			at('na'), at('name: a', ''), at('network:', '  p'), at('network:', '  profile: 3g', '  '),
			at('steps:', '  - '), at('steps:', '- '), at('steps:', '  - wait:', '      '),
			at('steps:', '  - click: [1, 2]', '    '), at('steps:', '  - repeat:', '      steps:', '        - '),
			at('steps:', '  - key: a', 'sy'), at('# steps:', 'sy'),
		]));`, &got)
	want := []string{"", "", "network", "network", "steps/-", "steps/-", "steps/-/wait", "steps/-",
		"steps/-/repeat/steps/-", "", ""}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
