package webui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/deploy/built"
)

// realRig is eideticker serve in a data directory of its own.
type realRig struct {
	address, data string
}

func startRig(t *testing.T) realRig {
	t.Helper()
	for _, program := range []string{"Xvfb", "chromium"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	program, err := built.Program()
	if err != nil {
		t.Fatal(err)
	}
	r := realRig{data: t.TempDir()}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "serve", "--data-dir", r.data, "--listen",
		"127.0.0.1:0")
	// no lock of another rig's
	cmd.Env = append(os.Environ(), "EIDETICKER_LOCK_DIR="+t.TempDir(), "TMPDIR="+t.TempDir())
	log, err := os.Create(filepath.Join(r.data, "serve.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait(), log.Close())
		said, _ := os.ReadFile(log.Name())
		if err != nil || t.Failed() {
			t.Errorf("the rig: %v\n%s", err, said)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	r.address = strings.TrimSuffix(strings.TrimSpace(line), "/")
	if err != nil || !strings.HasPrefix(r.address, "http://127.0.0.1:") {
		t.Fatalf("the rig says %q: %v", line, err)
	}
	return r
}

// run is a run in the rig's store.
func (r realRig) run(id string) made {
	return made{id: id, dir: filepath.Join(append([]string{r.data, "runs"}, strings.Split(id, "~")...)...)}
}

// TestRealRig starts a test on the page and watches it. It compares its run with another one and
// deletes that.
func TestRealRig(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs two tests in a browser")
	}
	t.Parallel()
	rig := startRig(t)
	b := newTab(t, rig.address)

	b.Log("a new rig has no runs")
	b.open("#/runs")
	b.await("it says so", `document.getElementById('main').textContent.includes('No runs are here yet. Run a test.')`)

	b.Log("a test is started")
	b.open("#/tests?test=framerate")
	b.await("the form is there", `document.querySelector('form.start h2')?.textContent === 'framerate'`)
	set := func(label, value string) {
		b.await(label+" is filled in", fmt.Sprintf(`(() => {
			const field = [...document.querySelectorAll('form.start .field')].find((f) =>
				f.textContent.startsWith(%q)).querySelector('input');
			field.value = %q;
			return field.value === %q;
		})()`, label, value, value))
	}
	set("Repeat", "2")
	set("Label", "by hand")
	b.Log("the runs count on a busy machine too")
	b.Do(chromedp.Evaluate[chromedp.Void](`(send => {
		WebSocket.prototype.send = function (text) {
			const call = JSON.parse(text);
			if (call.method === 'run.start') { Object.assign(call.params, {max_lost: 1, retries: 3}); }
			send.call(this, JSON.stringify(call));
		};
	})(WebSocket.prototype.send)`))
	b.click("form.start .button.main")
	b.await("its progress is seen", `document.querySelector('.job .progress')?.textContent.includes('run 1 of 2')`)

	b.Log("the rig shows the device's screen meanwhile")
	b.press("1")
	b.await("a picture came", `(c => c && c.width > 0 && c.width <= 640)(document.querySelector('.live'))`)
	b.await("how its recording goes is told", `document.querySelector('.capture')?.textContent.includes('frames')`)

	b.Log("it ends")
	b.press("2")
	b.await("the job is shown", `document.querySelector('.job') !== null`)
	b.longAwait("the job has ended",
		`!document.querySelector('.job progress') && !document.querySelector('.job .job-head .button') &&
			document.querySelectorAll('.job .made a').length >= 2`)

	b.Log("its runs are listed")
	b.open("#/runs?label=by%20hand&state=ok")
	b.await("two runs are listed", `document.querySelectorAll('.row-run[data-run]').length >= 2`)
	ids := browsertest.Eval[[]string](b.Tab,
		`[...document.querySelectorAll('.row-run[data-run]')].map((r) => r.dataset.run)`)
	one, other := rig.run(ids[0]), rig.run(ids[1])

	b.Log("the frame that is shown is the frame in the recording")
	b.press(kb.Enter)
	b.await("the run is shown",
		`location.hash.startsWith('#/runs/20') && document.querySelector('canvas.exact')?.dataset.frame !== undefined`)
	frame := browsertest.Eval[int](b.Tab, `Number(document.querySelector('canvas.exact').dataset.frame)`)
	b.shows(one, frame)
	for range 3 {
		b.press(kb.ArrowRight)
		frame++
		b.shows(one, frame)
	}
	b.press(kb.ArrowLeft)
	b.shows(one, frame-1)
	b.open(fmt.Sprintf("#/runs/%s?frame=%d", one.id, frame+5))
	b.shows(one, frame+5)
	b.Log("what was sent and seen stands on a timeline, and the charts are drawn")
	b.await("events are shown", `document.querySelector('.more-events')?.textContent.includes('red')`)
	b.await("charts are drawn", `document.querySelectorAll('.chart svg.plot').length >= 2`)
	b.await("the events' timeline is drawn",
		`[...document.querySelectorAll('[aria-label^=Events] path.mote')].some((e) => e.getAttribute('d') !== '')`)
	b.Log("above all stands what it was recorded with")
	b.await("the browser is named", `/Chromium \d+/.test(document.querySelector('.quality').textContent)`)
	b.picture("real-run")
	b.Log("all of it can be had")
	b.Do(chromedp.Evaluate[chromedp.Void](`window.had = null; (async () => {
		const all = [];
		for (const a of document.querySelectorAll('.menu a')) { // one after another: a browser holds few connections
			const answer = await fetch(a.href);
			const reader = answer.body.getReader();
			const first = await reader.read();
			await reader.cancel();
			all.push([decodeURIComponent(a.href.split('/').pop()), answer.status, first.value?.length > 0]);
		}
		return all;
	})().then((all) => { window.had = all; }); 0`))
	b.await("every download is answered", `window.had !== null`)
	if wrong := browsertest.Eval[string](b.Tab,
		`window.had.filter(([, status, some]) => status !== 200 || !some).join('; ')`); wrong != "" {
		t.Errorf("not to be had: %s", wrong)
	}
	if missing := browsertest.Eval[string](b.Tab,
		`['zip', 'recording.eid', 'video.mp4', 'results.json']
			.filter((name) => !window.had.some(([have]) => have === name)).join(' ')`); missing != "" {
		t.Errorf("there is no download of %s", missing)
	}

	b.Log("two are compared")
	b.open("#/compare?a=" + one.id + "&b=" + other.id)
	b.await("it is said in words what differs",
		`document.querySelector('.outcome, .pair ~ .refusal, section[aria-label=Statistics] .refusal')?.textContent
			.length > 5`)
	b.await("both are shown in step",
		`document.querySelectorAll('canvas.exact[data-frame]').length === 2 &&
			document.querySelector('.difference').getAttribute('aria-label')?.includes('differ') === true`)
	b.picture("real-compare")

	b.Log("one is deleted, after a question")
	b.open("#/runs/" + other.id)
	b.click(".actions .danger")
	b.click(`dialog[open] button[value="yes"]`)
	b.await("the list is shown without it",
		fmt.Sprintf(`location.hash.startsWith('#/runs') && document.querySelectorAll('.row-run[data-run]').length > 0 &&
			!document.querySelector('[data-run=%q]')`, other.id))
	if _, err := os.Stat(filepath.Join(other.dir, runfolder.RecordingFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its recording: %v", err)
	}
	if _, err := os.Stat(filepath.Join(one.dir, runfolder.RecordingFile)); err != nil {
		t.Errorf("the other one's recording: %v", err)
	}
	b.Quiet()
}
