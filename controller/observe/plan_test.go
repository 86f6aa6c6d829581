package observe

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
)

// loadsScript loads the page and its script as a user of the share does. It returns the path of the
// collector, and the script.
func (w *world) loadsScript() (path, script string) {
	w.Helper()
	path = w.loadAs(measured)
	_, script = w.ask("/app.js", "Cookie", Name+"="+w.cookie("1.i"), "Sec-Fetch-Dest", "script")
	return path, script
}

// TestPlan: the calls of many users decide which functions the next loads measure. A stable plan
// keeps its instrument. The folder keeps the plan.
func TestPlan(t *testing.T) {
	for _, adapt := range []string{plan.Loads, plan.Live} {
		w := observed(t, func(o *Options) { o.Adapt = adapt }, nil)
		first, all := w.loadsScript()
		for user := range uint32(4) {
			if status := w.post(first+"records", calls(user+1, 2)); status != 204 {
				t.Fatal(status)
			}
		}
		w.work()
		if same, _ := w.loadsScript(); same != first {
			t.Errorf("%s: an update after less than a minute", adapt)
		}
		w.now = w.now.Add(time.Minute)
		w.work()
		second, slow := w.loadsScript()
		if s := w.Summary(); second == first || s.Plan != (PlanState{adapt, 1, 1, false}) || s.Parts != 2 {
			t.Errorf("%s: after an update: %+v", adapt, s)
		}
		if slow == all {
			t.Errorf("%s: the slow function is measured as before: %s", adapt, slow)
		}
		if w.post(first+"records", calls(9, 1)) != 204 || w.post(second+"records", calls(10, 3)) != 204 {
			t.Errorf("%s: records are refused", adapt)
		}
		w.now = w.now.Add(time.Minute)
		w.work()
		third, _ := w.loadsScript()
		w.post(third+"records", calls(11, 3))
		w.now = w.now.Add(time.Minute)
		w.work()
		if last, _ := w.loadsScript(); last != third || w.Summary().Plan != (PlanState{adapt, 2, 1, true}) {
			t.Errorf("%s: a stable plan changes: %+v", adapt, w.Summary().Plan)
		}
		w.now = w.now.Add(linger)
		w.work()
		if w.post(first+"records", calls(12, 1)) != http.StatusNotFound {
			t.Errorf("%s: the first part has not ended", adapt)
		}
		w.close()
		for change, count := range map[string]int{adapt: 2, "": 0} {
			o := w.o
			o.Adapt = change
			again, err := New(o)
			if err != nil || again.plan.Count != count || again.plan.Stable != (count > 0) ||
				again.Summary().Plan.Slow != min(count, 1) {
				t.Errorf("%s: continued as %q: %v, %+v", adapt, change, err, again.plan)
				continue
			}
			again.retire(0)
			again.end(again.current)
		}
		if err := os.WriteFile(filepath.Join(w.o.Dir, plan.File), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New(w.o); err == nil || !strings.Contains(err.Error(), "plan.json: ") ||
			!strings.HasSuffix(err.Error(), "; remove it") {
			t.Errorf("%s: a damaged plan: %v", adapt, err)
		}
	}
}

// TestEarlierPartsAreBounded: parts that were replaced end, the oldest first.
func TestEarlierPartsAreBounded(t *testing.T) {
	w := observed(t, nil, nil)
	var paths []string
	for range maxOlder + 2 {
		paths = append(paths, w.loadAs(measured))
		w.rotate()
	}
	for i, path := range paths {
		want := 204
		if i < 2 {
			want = http.StatusNotFound
		}
		if status := w.post(path+"records", batch(uint32(i+1), 1)); status != want {
			t.Errorf("part %d of %d: %d, want %d", i, len(paths), status, want)
		}
	}
}

// TestForgedCookie: a cookie that the observer did not sign selects nobody.
func TestForgedCookie(t *testing.T) {
	w := observed(t, func(o *Options) { o.Share = 0 }, nil)
	good := w.cookie("on.i")
	for cookie, want := range map[string]kind{good: measured, "on.i": untouched, "on.i.": untouched,
		good + "a":                          untouched,
		strings.Replace(good, "on", "0", 1): untouched, strings.Replace(good, ".i", ".p", 1): untouched,
		"on.i." + mac([]byte("other"), "cookie on.i"): untouched, "on.i." + mac(w.key, "on.i"): untouched} {
		if load, _ := w.load(cookie); load != want {
			t.Errorf("cookie %s: %c, want %c", cookie, load, want)
		}
	}
	seconds, code, _ := strings.Cut(w.Link(), "-")
	if load, _ := w.load("on.i." + code); load != untouched {
		t.Errorf("the code of a link of %s signs a cookie", seconds)
	}
}

// TestKilled: an observer that is killed loses what came after its last save, and its folder can be
// continued.
//
// Fault: The observer of a live application is killed
func TestKilled(t *testing.T) {
	if dir := os.Getenv("EIDETICKER_OBSERVE_DIR"); dir != "" {
		serveUntilKilled(t, dir)
		return
	}
	w := observed(t, nil, nil)
	dir := filepath.Join(t.TempDir(), "o")
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilled$")
	child.Env = append(os.Environ(), "EIDETICKER_OBSERVE_DIR="+dir, "EIDETICKER_OBSERVE_URL="+w.app.URL)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	next := func() string {
		t.Helper()
		if !said.Scan() {
			t.Fatalf("the observer ended: %v", said.Err())
		}
		return said.Text()
	}
	w.front.URL = next()
	w.key, err = os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		t.Fatal(err)
	}
	path, _ := w.loadsScript()
	for user := range uint32(2) {
		if w.post(path+"records", calls(user+1, 3)) != 204 {
			t.Error("records are refused")
		}
		fmt.Fprintln(in, "save")
		next()
	}
	kill()
	if err := child.Wait(); err == nil {
		t.Fatal("the observer was not killed")
	}
	run, problem, err := scripts.ReadFolder(filepath.Join(dir, "000001"))
	if err != nil || problem != "" || len(run.Trace.Realms) != 2 || len(run.Info.Programs) != 1 ||
		run.Info.Programs[0].CountFunctions() != 1 || len(run.Info.Warnings) != 1 {
		t.Errorf("the part of the killed observer: %v, %s, %+v", err, problem, run)
	}
	w.o.Dir = dir
	again, err := New(w.o)
	if err != nil || again.sum.Parts != 2 {
		t.Fatalf("the folder is not continued: %v", err)
	}
	again.close()
}

// serveUntilKilled is the observer of TestKilled. Each line of its input has it save.
func serveUntilKilled(t *testing.T, dir string) {
	upstream, err := url.Parse(os.Getenv("EIDETICKER_OBSERVE_URL"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(Options{Upstream: upstream, Policies: []string{"calls"}, Share: 1, Dir: dir, Rotate: time.Hour,
		Keep: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = http.Serve(l, o) }() // until the process is killed
	fmt.Printf("http://%s\n", l.Addr())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		o.work()
		fmt.Println("saved")
	}
}

// TestHarmAfterRotation: records of earlier parts with the same policies decide which one is off.
func TestHarmAfterRotation(t *testing.T) {
	w := observed(t, nil, nil)
	if w.post(w.loadAs(measured)+"records", calls(7, 10)) != 204 {
		t.Fatal("records are refused")
	}
	w.rotate()
	if w.slows(); !strings.HasPrefix(w.off(), "calls, ") {
		t.Errorf("off: %s", w.off())
	}
}

// TestPlanWithoutCalls: the plan rests when the policy that it selects functions for is off.
func TestPlanWithoutCalls(t *testing.T) {
	w := observed(t, func(o *Options) { o.Adapt = plan.Live }, nil)
	if w.post(w.loadAs(measured)+"records", calls(7, 10)) != 204 {
		t.Fatal("records are refused")
	}
	w.slows()
	path := w.loadAs(measured)
	if w.post(path+"records", batch(8, 3)) != 204 {
		t.Fatal("records are refused")
	}
	w.now = w.now.Add(time.Minute)
	before := w.Summary()
	w.work()
	if s := w.Summary(); !w.plan.IsOff("calls") || s.Plan != before.Plan || s.Parts != before.Parts {
		t.Errorf("before %+v, after %+v", before, s)
	}
}
