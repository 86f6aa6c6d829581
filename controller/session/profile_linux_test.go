package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller/suite"
)

// profiledTest plays the planted page while its browser is profiled. In a network of its own, the
// browser starts on another thread. A run whose browser ignored the link is then repeated.
func profiledTest(t *testing.T, address, profile string) *suite.Test {
	t.Helper()
	network := ""
	if os.Geteuid() == 0 {
		network = "network: 3g\n"
	}
	test, err := suite.Parse("planted.yaml", []byte("name: planted\nurl: "+address+"/\nend: event blue\n"+
		"window: 800x450\nmeasures: [fps]\n"+network+"profile: "+profile+"\n"+
		"steps: [{wait: {colour: \"#0000ff\", in: 30x30+705+405, timeout: 1m}}, {mark: blue}]\n"), Known())
	if err != nil {
		t.Fatal(err)
	}
	return test
}

// TestProfileNamesTheSlowFunction: samples of a real browser name the function that kept the screen
// still, without a change of the page. Its thread ran for the time that the page measured itself.
func TestProfileNamesTheSlowFunction(t *testing.T) {
	t.Parallel()
	needBrowsers(t, "chromium")
	takeTurn(t)
	server := servePlanted(t, 1, 60, 400)
	made, dir := playScripts(t, profiledTest(t, server.URL, "{native: samples, js: map}"), "chromium", "")
	p := made.Found.Results.Profile
	if p == nil {
		t.Fatalf("no profile; notes %q", made.Record.Notes)
	}
	if made.Record.Environment[result.EnvProfile] != "samples, js map" {
		t.Errorf("environment %v", made.Record.Environment)
	}
	server.mu.Lock()
	truth := server.truth[0]
	server.mu.Unlock()
	checkProfiledFrame(t, p, truth.Inside*1e6)
	run := filepath.Join(dir, made.Dir)
	r := opened(t, filepath.Join(run, runfolder.RecordingFile))
	_, found := measuredAgain(t, run, r)
	if again := found.Results.Profile; again == nil || len(again.Functions) != len(p.Functions) {
		t.Errorf("again: %+v", again)
	}
	left, _ := filepath.Glob("/tmp/perf-*.map") // other tests may make theirs now
	for _, name := range left {
		if text, _ := os.ReadFile(name); strings.Contains(string(text), server.URL) {
			t.Errorf("%s is left", name)
		}
	}
	if _, err := os.Stat(filepath.Join(run, activity.TracesDir, "native", activity.IndexFile)); err != nil {
		t.Error(err)
	}
}

// slowFunction returns the place of the planted function.
func slowFunction(t *testing.T, p *result.Profile) int {
	t.Helper()
	slow := slices.IndexFunc(p.Functions, func(f result.ProfileFunction) bool {
		return f.Name == "slow" && f.Language == "javascript" && strings.HasSuffix(f.File, "/app.js") && f.Line == 3
	})
	if slow < 0 {
		t.Fatalf("functions %+v", p.Functions)
	}
	return slow
}

// inTree reports whether a tree has a function.
func inTree(all []result.ProfileNode, function int) bool {
	return slices.ContainsFunc(all, func(n result.ProfileNode) bool {
		return n.Function == function || inTree(n.Callers, function)
	})
}

// checkProfiledFrame expects a late frame before which slow ran longest, for about ran ns.
func checkProfiledFrame(t *testing.T, p *result.Profile, ran float64) {
	t.Helper()
	slow := slowFunction(t, p)
	for _, late := range p.Late {
		for _, thread := range late.Threads {
			// A sampled time leaves out the time off the CPU, which is long on a busy machine. The thread was
			// ready then.
			on := thread.Running.Value
			if f := thread.FunctionNS; thread.Function == slow && f.Low <= ran && f.High > 0.7*min(ran, on) &&
				on+thread.Runnable.Value > ran/3 {
				return
			}
		}
	}
	t.Errorf("slow ran for %.0f ns, and before no late frame:%s", ran, lateText(p))
}

// lateText returns the late frames and what ran before each, a thread per line.
func lateText(p *result.Profile) string {
	var b strings.Builder
	for _, late := range p.Late {
		fmt.Fprintf(&b, "\nframe %d, %v:", late.Frame, time.Duration(late.ToNS-late.FromNS))
		for _, thread := range late.Threads {
			name := "-"
			if thread.Function >= 0 {
				name = p.Functions[thread.Function].Name
			}
			fmt.Fprintf(&b, "\n\t%s ran for %.0f ns, %s for %.0f:", p.Threads[thread.Thread].Name, thread.Running.Value,
				name, thread.FunctionNS.Value)
			for _, n := range thread.Tree {
				fmt.Fprintf(&b, " %s %d", p.Functions[n.Function].Name, n.NS)
			}
		}
	}
	return b.String()
}

// TestTraceNamesTheSlowFunction: without samples, the browser's own trace names the function that
// kept the screen still. A note says how to repair the missing engine.
//
// Fault: The profiler of native code is not installed
func TestTraceNamesTheSlowFunction(t *testing.T) {
	needBrowsers(t, "chromium", "firefox")
	t.Setenv("PATH", onlyBrowsers(t))
	for _, browser := range []string{"chromium", "firefox"} {
		t.Run(browser, func(t *testing.T) {
			t.Parallel() // with each other: no other test may run without these programs
			takeTurn(t)
			server := servePlanted(t, 1, 60, 400)
			made, dir := playScripts(t, profiledTest(t, server.URL, "{native: samples, js: auto}"), browser, "")
			p, notes := made.Found.Results.Profile, strings.Join(made.Record.Notes, "\n")
			if p == nil || !strings.Contains(notes, "linux-perf") {
				t.Fatalf("profile %+v, notes %s", p, notes)
			}
			slow := slowFunction(t, p)
			// A busy machine draws few frames, or loses the late one.
			late := slices.ContainsFunc(result.FrameSpans(made.Found.Results.Windows, 0),
				func(s result.FrameSpan) bool { return s.Long && s.Lasted() >= 400*time.Millisecond })
			if t.Logf("late %t, lost %d", late, made.Record.WindowLost); late && made.Record.WindowLost == 0 &&
				!slices.ContainsFunc(p.Late, func(l result.ProfileLate) bool {
					return slices.ContainsFunc(l.Threads,
						func(a result.ProfileActive) bool { return inTree(a.Tree, slow) })
				}) {
				t.Errorf("%+v is not in:%s", p.Functions[slow], lateText(p))
			}
			info, err := activity.ReadInfo(filepath.Join(dir, made.Dir, activity.TracesDir, "js"))
			if err != nil || !info.Clock.Exact || len(info.Warnings) > 0 || info.Why == "" {
				t.Errorf("%+v, %v", info, err)
			}
		})
	}
}

// TestTraceBesideVitals: Chromium's trace and the claims of its page share the one pipe to its
// developer tools. Both are there, on the clock of the recording.
func TestTraceBesideVitals(t *testing.T) {
	t.Parallel()
	needBrowsers(t, "chromium")
	takeTurn(t)
	server := servePlanted(t, 1, 60, 400)
	test := profiledTest(t, server.URL, "{js: trace}")
	test.Vitals = true
	made, dir := playScripts(t, test, "chromium", "")
	p, claims := made.Found.Results.Profile, made.Found.Results.Vitals
	if p == nil || claims == nil || claims.Result.Refusal != "" {
		t.Fatalf("profile %+v, claims %+v, notes %q", p, claims, made.Record.Notes)
	}
	slowFunction(t, p)
	if _, ok := claims.Result.Find("ttfb"); !ok {
		t.Errorf("claims %+v", claims.Result)
	}
	info, err := activity.ReadInfo(filepath.Join(dir, made.Dir, activity.TracesDir, "js"))
	if err != nil || info.Way != "trace" || !info.Clock.Exact || len(info.Warnings) > 0 {
		t.Errorf("%+v, %v", info, err)
	}
}

// onlyBrowsers returns a PATH with all programs but those of engines.
func onlyBrowsers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(from) // some are missing
		for _, e := range entries {
			if name := e.Name(); name != "perf" && name != "uftrace" {
				_ = os.Symlink(filepath.Join(from, name), filepath.Join(dir, name)) // the first one counts
			}
		}
	}
	return dir
}
