package webui

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
)

// ranScripts gives a run the scripts of an instrumented page and of its worker. The log is a file
// of the folder.
func ranScripts(dir string, found *runfolder.Found) error {
	w := &found.Results.Windows[0]
	span := func(ms float64) result.Span { return result.Span{Value: ms * 1e6, Low: ms * 9e5, High: ms * 11e5} }
	s := &result.Script{
		Policies: []string{"calls", "errors"}, Log: "script.log", Records: 4000, Lost: 12,
		Programs: result.ScriptPrograms{Served: 4, Instrumented: 3, Functions: 90, CalledOfThem: 30},
		Plain:    []result.PlainScript{{URL: "http://page.test/" + evilPath, Reason: evilPath, Count: 1}},
		Realms:   []result.ScriptRealm{{Kind: result.RealmWindow}, {Kind: result.RealmWorker}},
		Gaps:     []result.Gap{{FromNS: w.StartNS + 2e8, ToNS: w.StartNS + 3e8, Records: 12, Cause: evilPath}},
		Cost:     result.ScriptCost{PerCallNS: span(85e-6), CountedNS: span(0.4)},
		Functions: []result.Function{{Name: "slow", URL: "http://page.test/app.js", Line: 12, Calls: 3, Self: span(60),
			Total: span(70), Mean: span(20), Max: span(50), Min: span(1)}, {Name: evilPath, URL: evilPath, Line: 1,
			Calls: 9}},
		Errors: []result.ScriptError{{Kind: result.ErrorThrown, Message: evilPath, URL: evilPath, Line: 1,
			AtNS:  w.StartNS + 4e8,
			Count: 2, Frame: w.Start + 20, Stack: []result.Place{{Function: evilPath, URL: evilPath, Line: 1}}}},
		Late: []result.LateFrame{{Frame: w.Start + 9, FromNS: w.StartNS + 1e8, ToNS: w.StartNS + 16e7,
			Functions: []result.RanMeantime{{Self: span(40)}}, UnexplainedNS: span(20)}},
		Reports: []result.PolicyReport{{Policy: "loops", Sentence: "1 loop.", Points: 4, Active: 3, Left: 2,
			Columns: []result.PolicyColumn{{Name: "iterations"}, {Name: "last run", Unit: "ms"}},
			Rows: []result.PolicyRow{{Name: evilPath, URL: evilPath, Line: 2, Values: []float64{1e6, 7},
				Verdict: "fail", Text: evilPath}}}},
	}
	for i := range int64(20) {
		s.Tasks = append(s.Tasks, result.Task{BeginNS: w.StartNS + i*5e7, EndNS: w.StartNS + i*5e7 + (i+1)*4e6,
			Realm:    int(i % 2),
			Function: int(i%3) - 1, Calls: int(i)})
	}
	found.Results.Script = s
	found.Results.Profile = browsertest.Profile(w, 0, []int{w.Start + 9, w.Start + 40, w.Start + 60}, evilPath)
	return os.WriteFile(filepath.Join(dir, s.Log), []byte("EIDSLOG1"), 0o644)
}

// withEvents makes a run of another one's frames with two events at its last frame: one of its
// scripts, one of its input.
func (p *played) withEvents(id string, of made) made {
	p.Helper()
	dir := p.TempDir()
	r, err := recording.Open(filepath.Join(of.dir, runfolder.RecordingFile))
	p.check(err)
	defer r.Close()
	w, err := recording.Create(filepath.Join(dir, runfolder.RecordingFile), recording.Options{Program: "test"})
	p.check(err)
	all := []recorder.Range{{Reader: r, From: 0, To: r.Frames()}}
	p.check(recorder.Copy(p.Context(), w, all, recorder.CopyOptions{}))
	m, err := r.Meta(of.frames / 2)
	p.check(err)
	for _, source := range []string{"script", "input"} {
		p.check(w.Event(timeline.Event{At: m.Sampled.Mid(), Source: source, Kind: "task"}))
	}
	p.check(w.Close())
	return p.measure(id, dir)
}

// A run of an instrumented page has a lane of tasks under its frames. The events of the recording
// do not repeat it.
func TestScriptsOfARun(t *testing.T) {
	t.Parallel()
	p, b := serve(t)
	plain := p.makeRun("20261121-201530-framerate-k7f2", smooth)
	p.more = ranScripts
	m := p.withEvents("20261121-201531-scripts-k7f3", plain)
	b.open("#/runs/" + m.id)
	b.await("the lane is drawn", `Boolean(document.querySelector('.script-task')?.getAttribute('d'))`)
	rows := browsertest.Eval[[]string](b.Tab, `[...document.querySelectorAll('.strip-card .chart')].map((c) =>
		[...c.querySelectorAll('text.tick')].map((e) => e.textContent).join())`)
	if got, want := fmt.Sprint(rows), "[ input main,worker  GC,long,missed]"; got != want {
		t.Errorf("the rows of the lanes are %s, want %s", got, want)
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.scripts').open = true`))
	r, err := result.Read(filepath.Join(m.dir, result.FileName))
	p.check(err)
	late := &r.Script.Late[0]
	b.click(fmt.Sprintf(`.scripts .late [data-frame="%d"]`, late.Frame))
	b.await("the late frame is shown", fmt.Sprintf(`document.querySelector('.frame-number').value === '%d'`,
		late.Frame))
	for _, want := range []string{late.Sentence, r.Script.LostText, "1 of 4 programs is not instrumented",
		"1 loop. 3 of 4 places were tested.", r.Profile.Sentence, r.Profile.TestText,
		evilPath + " (chromium renderer 4700)", "1,000,0007 msfail: ", "2 more places."} {
		if !browsertest.Eval[bool](b.Tab, fmt.Sprintf(`document.getElementById('main').textContent.includes(%q)`,
			want)) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if browsertest.Eval[bool](b.Tab, `'evil' in window`) {
		t.Error("a name was run")
	}
	b.open("#/runs/" + plain.id)
	b.await("a run without scripts is shown", `document.querySelector('.frames-unique') !== null`)
	if browsertest.Eval[bool](b.Tab, `document.querySelector('.scripts, .script-task, .profile') ??
		document.querySelector('.late-frames, .thread-busy, .band-late') !== null`) {
		t.Error("a run without instrumented scripts has some")
	}
	b.Quiet()
}
