package webui

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
)

// plan gives a set a plan, of which the first variant is the base.
func (p *played) plan(id string, variants ...string) string {
	dir := p.TempDir()
	plain := slices.DeleteFunc(slices.Clone(variants), func(v string) bool { return !strings.HasSuffix(v, "-plain") })
	raw, err := json.Marshal(map[string]any{"schema": "eideticker.set", "version": 1, "variants": variants,
		"plain": plain})
	p.check(errors.Join(err, os.WriteFile(filepath.Join(dir, session.SetFile), raw, 0o600)))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.folders[id] = dir
	return id
}

// makeSet adds a set of two variants, of which one run failed, and returns its ID.
func (p *played) makeSet(id string) string {
	at := time.Date(2026, 11, 20, 10, 15, 30, 0, time.UTC)
	for i, name := range []string{"chromium~run-01", "firefox~run-01", "chromium~run-02", "firefox~failed~run-02.1"} {
		r := info(id+"~"+name, 90, at.Add(time.Duration(i)*time.Minute))
		r.Set, r.Browser = id, []string{"chromium", "firefox"}[i%2]
		r.Values = []api.Value{{Measure: "fps", Name: "framerate", Unit: "frames/s", Value: 50 + float64(i)}}
		if i == 3 {
			r.State, r.Reason, r.Values = "failed", "no green <b>was</b> seen", nil
		}
		p.runs = append([]api.RunInfo{r}, p.runs...)
	}
	for i, browser := range []string{"chromium", "firefox"} {
		p.trend = append(p.trend, api.Point{ID: id, Device: "local", Browser: browser, Median: 51, Runs: 2 - i,
			Text: fmt.Sprintf("5%d frames/s", 1+i)})
	}
	return p.plan(id, "chromium", "firefox")
}

// makeVariants adds a set of named variants of one browser, with two runs each, and returns its ID.
func (p *played) makeVariants(id string, names ...string) string {
	at := time.Date(2026, 11, 20, 11, 15, 30, 0, time.UTC)
	for i := range 2 * len(names) {
		name := fmt.Sprintf("%s~run-%02d", names[i%len(names)], 1+i/len(names))
		r := info(id+"~"+name, 90, at.Add(time.Duration(i)*time.Minute))
		r.Set, r.Values = id, []api.Value{{Measure: "fps", Name: "framerate", Unit: "frames/s", Value: 70 + float64(i)}}
		p.runs = append([]api.RunInfo{r}, p.runs...)
	}
	for i, name := range names {
		p.trend = append(p.trend, api.Point{ID: id, Variant: name, Device: "local", Browser: "chromium", Runs: 2,
			Median: 71 + float64(i), Text: fmt.Sprintf("7%d frames/s", 1+i)})
	}
	return p.plan(id, names...)
}

// compareLink is the text and the address of the link to a set's comparison.
const compareLink = `(a => a.textContent + a.hash)(document.querySelector('a.button.main'))`

// TestSetPage: a set has its values and runs, a way to its comparison, and a place in the list.
func TestSetPage(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	id := p.makeSet("20261120-101530-load-x4y2")
	b.open("#/runs/" + id)
	b.await("the set is shown",
		`document.querySelector('h1')?.textContent === 'framerate: 3 runs, and 1 failed or rejected'`)
	text := browsertest.Eval[string](b.Tab, `document.getElementById('main').textContent`)
	for _, want := range []string{"No green <b>was</b> seen", "51 frames/s", "52 frames/s", "chromium/run-02",
		"firefox/failed/run-02.1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	if n := browsertest.Eval[int](b.Tab, `document.querySelectorAll('.dots circle').length`); n != 3 {
		t.Errorf("%d dots of 3 runs", n)
	}
	links := browsertest.Eval[string](b.Tab, `[...document.querySelectorAll('main a')].map((e) => e.hash).join(' ')`)
	want := fmt.Sprintf("#/compare?a=%[1]s%%7Echromium&b=%[1]s%%7Efirefox #/runs/%[1]s~chromium~run-01 "+
		"#/runs/%[1]s~firefox~run-01 #/runs/%[1]s~chromium~run-02 #/runs/%[1]s~firefox~failed~run-02.1", id)
	if links != want {
		t.Errorf("links %s, want %s", links, want)
	}

	b.Log("the set becomes the baseline of its test, instead of another one, and no longer is")
	p.mu.Lock()
	p.baselines = []api.Baseline{{Name: "framerate", ID: "20261001-000000-framerate-0000"}}
	p.mu.Unlock()
	b.open("#/runs/" + id + "~chromium~run-01")
	b.await("the run has the button", `document.querySelector('.baseline button')?.textContent === 'Set as baseline'`)
	b.open("#/runs/" + id)
	b.await("the set has the button", `document.querySelector('.baseline button')?.textContent === 'Set as baseline'`)
	b.click(".baseline button")
	b.await("the other one is named", `document.querySelector('dialog[open]')?.textContent.includes('-framerate-0000')`)
	b.click(`dialog[open] button[value="yes"]`)
	b.await("it is shown", `document.querySelector('.baseline button')?.textContent === 'Baseline framerate'`)
	b.picture("set-baseline")
	p.mu.Lock()
	if len(p.baselines) != 1 || p.baselines[0].ID != id {
		t.Errorf("the baselines are %+v", p.baselines)
	}
	p.mu.Unlock()
	b.click(".baseline button")
	b.await("it is none", `document.querySelector('.baseline button')?.textContent === 'Set as baseline'`)

	b.Log("the list has the set once, above its runs")
	b.open("#/runs")
	b.await("runs are listed", `document.querySelectorAll('.row-run.of-set').length === 4`)
	shown := browsertest.Eval[[]string](b.Tab, `[...document.querySelectorAll('.set-link')]
		.filter((e) => e.checkVisibility()).map((e) => e.hash)`)
	if len(shown) != 1 || shown[0] != "#/runs/"+id {
		t.Errorf("links to sets %q", shown)
	}

	b.Log("named variants of one browser are told apart")
	id = p.makeVariants("20261120-111530-example.org-v4r2", "slow", "fast")
	b.open("#/runs/" + id)
	b.await("both are shown", `document.querySelectorAll('.dots circle').length === 4`)
	text = browsertest.Eval[string](b.Tab, `document.getElementById('main').textContent`)
	for _, want := range []string{"71 frames/s", "72 frames/s", "slow/run-02"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	if link := browsertest.Eval[string](b.Tab, compareLink); link != fmt.Sprintf(
		"Compare slow and fast#/compare?a=%[1]s%%7Eslow&b=%[1]s%%7Efast", id) {
		t.Errorf("the base is not the first of the plan: %s", link)
	}
	if order := browsertest.Eval[string](b.Tab, `document.querySelector('td.medians').innerText`); strings.Index(
		order, "slow") > strings.Index(order, "fast") {
		t.Errorf("the medians are in another order than the plan: %s", order)
	}
	b.picture("set-variants")

	b.Log("plain runs are no sides beside profiled ones, and show the cost of the profiles")
	id = p.makeVariants("20261120-121530-example.org-p4r2", "slow-plain", "slow", "fast-plain", "fast")
	b.open("#/runs/" + id)
	b.await("both costs are shown", `document.querySelector('[aria-label="Cost of profiles"]')?.textContent ===
		'Cost of the profile (slow): −1 %.Cost of the profile (fast): −1 %.'`)
	if link := browsertest.Eval[string](b.Tab, compareLink); link != fmt.Sprintf(
		"Compare slow and fast#/compare?a=%[1]s%%7Eslow&b=%[1]s%%7Efast", id) {
		t.Errorf("the profiled runs are not compared: %s", link)
	}
	b.picture("set-costs")
	id = p.makeVariants("20261120-131530-example.org-q4r2", "x-plain", "x")
	b.open("#/runs/" + id)
	b.await("the cost is shown", `document.querySelector('[aria-label="Cost of profiles"]')?.textContent ===
		'Cost of the profile (x): −1 %.'`)
	if link := browsertest.Eval[string](b.Tab, compareLink); link != fmt.Sprintf(
		"Compare x-plain and x#/compare?a=%[1]s%%7Ex-plain&b=%[1]s%%7Ex", id) {
		t.Errorf("the only profile is not compared with its plain runs: %s", link)
	}

	b.Log("a name of nothing is an error")
	b.open("#/runs/nothing")
	b.await("it is said", `document.querySelector('.refusal')?.textContent.includes('there is no run')`)
	b.Quiet("frames/0.png") // the run has no recording
}
