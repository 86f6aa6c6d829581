package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/verdict"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/rig"
	"github.com/eideticker/eideticker/deploy/server"
	"github.com/eideticker/eideticker/deploy/store"
)

// A run on a rig ends as one on this machine: the same table, the same exit codes.
func TestRunOnRig(t *testing.T) {
	t.Parallel()
	device := daemontest.New("local")
	rig := daemontest.Start(t, t.TempDir(), daemontest.Devices{device}, nil)
	address := answering(t, rig, nil)
	ran := func(args ...string) (code int, out, errOut string) {
		t.Helper()
		return runOn(t, address, args...)
	}
	code, out, errOut := ran("scene", "--max-lost", "100%", "--label", "nightly")
	if code != exitOK || !strings.Contains(out, "framerate") || !strings.Contains(out, "frames/s") ||
		!strings.Contains(out, address+"/#/runs/") || !strings.Contains(errOut, "measuring scene") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
	}
	code, out, errOut = ran("scene", "--max-lost", "100%", "--repeat", "2", "--json")
	var told verdict.JSON
	if err := json.Unmarshal([]byte(out), &told); err != nil || code != exitOK || told.Counts.OK != 2 ||
		len(told.Runs) != 2 {
		t.Errorf("exit code %d, %v\n%s\n%s", code, err, out, errOut)
	}
	if code, out, errOut = ran("scene", "--max-lost", "100%", "--repeat", "2"); code != exitOK ||
		!strings.Contains(out, "95 % interval") || !strings.Contains(out, "2 count") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
	}
	if code, _, errOut = ran("scenery"); code != exitUsage || !strings.Contains(errOut, "unknown test") {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
	if code, _, errOut = ran("file:///etc/passwd"); code != exitUsage || !strings.Contains(errOut, "http") {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
	pulled := filepath.Join(t.TempDir(), "pulled")
	told = verdict.JSON{}
	code, out, errOut = ran("scene", "--max-lost", "100%", "--json", "-o", pulled, "--filmstrip-step", "60ms")
	if err := json.Unmarshal([]byte(out), &told); err != nil || code != exitOK || told.Counts.OK != 1 ||
		!strings.Contains(errOut, pulled+": 1 run, ") || !strings.Contains(errOut, "frames verified") {
		t.Errorf("exit code %d, %v\n%s\n%s", code, err, out, errOut)
	}
	if results, err := os.ReadFile(filepath.Join(pulled, "results.json")); err != nil ||
		!strings.Contains(string(results), "The screen every 0.06 s") {
		t.Errorf("the step is not used: %v", err)
	}
	if code, _, errOut = ran("scene", "-o", pulled); code != exitFailure ||
		!strings.Contains(errOut, "exists: choose") {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
	ran("scene", "--max-lost", "100%", "--vitals")
	if !device.Wanted().Vitals {
		t.Error("--vitals is not asked of the rig's device")
	}
	scripted := filepath.Join(t.TempDir(), "scripted")
	code, out, errOut = ran("framerate", "--max-lost", "100%", "-o", scripted, "--script", "calls,errors")
	results, err := result.Read(filepath.Join(scripted, result.FileName))
	if err != nil || code != exitOK || results.Script == nil ||
		!slices.Equal(results.Script.Policies, []string{"calls", "errors"}) {
		t.Errorf("exit code %d, %v\n%s\n%s", code, err, out, errOut)
	}
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte("name: mine\nurl: https://example.org/\nsync: markers\nmeasures: [fps]\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut = ran(file, "--max-lost", "100%"); code != exitOK || !strings.Contains(out, "mine") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
	}
	device.Break(errors.New("the cable is loose"))
	if code, _, errOut = ran("scene"); code != exitFailure || !strings.Contains(errOut, "the cable is loose") {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
	for _, j := range rig.Jobs(true) {
		if j.Test == "scene" && j.Label == "nightly" && j.Owner == "local" && j.State == "ok" {
			return
		}
	}
	t.Errorf("%+v", []api.Job(rig.Jobs(true)))
}

// TestRunOnRigInBlocks: two variants of a job are of one plan, in which each turn is a block.
func TestRunOnRigInBlocks(t *testing.T) {
	t.Parallel()
	devices := daemontest.Devices{daemontest.New("a"), daemontest.New("b")}
	rig := daemontest.Start(t, t.TempDir(), devices, nil)
	code, out, errOut := runOn(t, answering(t, rig, nil), "scene", "--max-lost", "100%", "--repeat", "2", "--device",
		"a", "--device", "b")
	if code != exitOK || !strings.Contains(out, "only 2 blocks of 8 complete") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
	}
}

// TestRunTestsOnRig: several tests, or variants of one, are one job. The first side is the base.
func TestRunTestsOnRig(t *testing.T) {
	t.Parallel()
	rig := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("local")}, nil)
	address := answering(t, rig, nil)
	for _, args := range [][]string{{"scene", "judged", "--seed", "3"}, {"scene", "--variant", "x=browser:two",
		"--variant", "y=judged,browser:one", "--seed", "4"}} {
		names := args[:2]
		if args[1] == "--variant" {
			names = []string{"x", "y"}
		}
		code, out, errOut := runOn(t, address, append(args, "--max-lost", "100%", "--repeat", "2", "--json")...)
		var told struct {
			Counts     struct{ OK int } // a rejected run was repeated
			Comparison struct{ A, B struct{ Path string } }
		}
		if err := json.Unmarshal([]byte(out), &told); err != nil || code != exitOK || told.Counts.OK != 4 {
			t.Fatalf("%q: exit code %d, %v\n%s\n%s", args, code, err, out, errOut)
		}
		for i, path := range []string{told.Comparison.A.Path, told.Comparison.B.Path} {
			if filepath.Base(path) != names[i] {
				t.Errorf("%q: side %d is %s", args, i, path)
			}
		}
	}
	jobs := rig.Jobs(true)
	if len(jobs) != 2 || strings.Join(jobs[0].Params.Variants, " ") != "x y" || jobs[0].Total != 4 ||
		strings.Join(jobs[0].Browsers, " ") != "two one" {
		t.Errorf("%+v", jobs)
	}
	for want, args := range map[string][]string{
		"an archive is not sent":      {"scene", "--variant", "a=archive:x.zip", "--variant", "b=network:3g"},
		"a folder is not sent to":     {"scene", "--variant", "a=site:/x", "--variant", "b=network:3g"},
		"--until-sure cannot be used": {"scene", "judged", "--until-sure"},
		"omit --threshold, --primary": {"scene", "judged", "--why-changed", "--primary", "fps.framerate"},
		"why_changed: ":               {"scene", "judged", "--why-changed"},
		"unknown network":             {"scene", "judged", "--network", "5g"},
		"unknown test":                {"scene", "scenes"},
		"given once":                  {"scene", "--variant", "a=network:3g"},
		"untrusted test":              {"https://example.org/", "--vitals"},
		"fresh needs a url":           {"https://example.org/", "--fresh"},
	} {
		if code, _, errOut := runOn(t, address, args...); code != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%q: exit code %d: %s, want %s", args, code, errOut, want)
		}
	}
}

// TestRunProfiledOnRig: several profiled runs take turns with plain ones on a rig, as on this
// machine. Their difference is the cost of the profile. The plain runs are held against a baseline.
func TestRunProfiledOnRig(t *testing.T) {
	t.Parallel()
	rig := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("local")}, nil)
	address := answering(t, rig, nil)
	base := rig.Played(api.StartParams{Repeat: 1}).ID
	for args, want := range map[string]string{
		"scene --repeat 2 --baseline " + base: "plain profiled; plain/profiled",
		"scene --repeat 2 --profiled-only":    "local; ",
		"scene judged --repeat 2": "judged judged-plain scene scene-plain; " +
			"scene-plain/scene judged-plain/judged",
	} {
		var got struct {
			Runs       []struct{ Variant string }
			Comparison struct{ A, B struct{ Path string } }
			Costs      []struct {
				Answer string
				Cost   bool
				A, B   struct{ Path string }
			}
		}
		code, out, errOut := runOn(t, address, append(strings.Fields(args), "--profile", "samples", "--max-lost",
			"100%", "--json")...)
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK {
			t.Fatalf("%s: exit code %d, %v\n%s\n%s", args, code, err, out, errOut)
		}
		var names, costs []string
		for _, r := range got.Runs {
			names = append(names, r.Variant)
		}
		slices.Sort(names)
		for _, c := range got.Costs {
			costs = append(costs, filepath.Base(c.A.Path)+"/"+filepath.Base(c.B.Path))
			if !c.Cost || !strings.HasPrefix(c.Answer, "Cost of the profile (samples): fps.") {
				t.Errorf("%s: %+v", args, c)
			}
		}
		if text := strings.Join(slices.Compact(names), " ") + "; " + strings.Join(costs, " "); text != want {
			t.Errorf("%s: %s, want %s", args, text, want)
		}
		if c := got.Comparison; len(costs) == 2 && (filepath.Base(c.A.Path) != "scene" ||
			filepath.Base(c.B.Path) != "judged") {
			t.Errorf("%s: the profiled runs are not compared: %+v", args, c)
		}
		if !strings.Contains(args, base) {
			continue
		}
		if !strings.Contains(errOut, "plain against "+base) || strings.Contains(errOut, "profiled against") {
			t.Errorf("the plain runs alone are held against the baseline: %s", errOut)
		}
		set := rig.Jobs(true)[0].ID
		page, err := rig.Store.List(t.Context(), store.Query{Set: set, Limit: store.MaxLimit})
		if err != nil || len(page.Runs) < 4 {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, r := range page.Runs {
			_, v, err := rig.Store.Judged(r.ID)
			if counts := strings.Contains(r.ID, "~plain~run-"); err != nil || (v != nil) != counts {
				t.Errorf("the verdict of %s is %+v, %v", r.ID, v, err)
			}
		}
		if err := rig.Store.SetBaseline(t.Context(), "profiled", set); err != nil {
			t.Fatal(err)
		}
		id := rig.Played(api.StartParams{Repeat: 1, Baseline: "profiled"}).ID
		if _, v, err := rig.Store.Judged(id); err != nil || v == nil || v.Base != set+"~plain" {
			t.Errorf("a plain run against the set: %+v, %v", v, err)
		}
	}
}

// answering has a rig answer at an address, whose answers change may change.
func answering(t *testing.T, r *daemontest.Rig, change func(http.Handler) http.Handler) (address string) {
	t.Helper()
	tokens, err := server.OpenTokens(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	server, err := server.New(server.Options{Daemon: r.Daemon, Tokens: tokens, Place: server.Place{Loopback: true},
		Program: "test", Compare: rig.CompareFolders})
	if err != nil {
		t.Fatal(err)
	}
	var handler http.Handler = server
	if change != nil {
		handler = change(server)
	}
	h := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		h.Close()
	})
	return h.URL
}

// runOn runs a command line on a rig. It does so again, at most twice, if the machine stalled while
// the markers of a scene were shown.
func runOn(t *testing.T, address string, args ...string) (code int, out, errOut string) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		var o, e output
		code = run(t.Context(), append(append([]string{"run"}, args...), "--rig", address, "--no-video"), nil, &o, &e)
		out, errOut = o.String(), e.String()
		if code != exitFailure || !daemontest.Stalled(errOut) || attempt == 3 {
			return code, out, errOut
		}
		t.Logf("attempt %d: %s", attempt, errOut)
	}
}

// A job that somebody ends between two runs fails, whatever the runs have come to that it has made.
//
// Fault: A job of `run --rig` is cancelled, or its rig ends
func TestRunOnRigCancelled(t *testing.T) {
	t.Parallel()
	rig := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("local")}, nil)
	address := answering(t, rig, nil)
	over := make(chan struct{})
	go func() {
		defer close(over)
		code, out, errOut := runOn(t, address, "scene", "--max-lost", "100%", "--repeat", "6", "--cooldown", "1h")
		if code != exitFailure || !strings.Contains(out, "1 count") ||
			!strings.Contains(errOut, "the job ended as cancelled after 1 run: it was cancelled") {
			t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
		}
	}()
	var id string
	rig.Until("a run to be over", func() bool {
		jobs := rig.Jobs(false)
		if len(jobs) == 0 || jobs[0].Done == 0 {
			return false
		}
		id = jobs[0].ID
		return true
	})
	if _, err := rig.Cancel(id, func(string) bool { return true }); err != nil {
		t.Error(err)
	}
	<-over
}

// forgetful limits the runs that a job lists, as after 200 runs or after a restart. Lists have
// pages of two.
func forgetful(next http.Handler, knows int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/rpc" {
			next.ServeHTTP(w, r)
			return
		}
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked) // one that is none is answered as such
		if asked["method"] == "run.list" {
			asked["params"].(map[string]any)["limit"] = 2
		}
		body, _ := json.Marshal(asked)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		recorded := httptest.NewRecorder()
		next.ServeHTTP(recorded, r)
		var answer struct {
			api.Response
			Result map[string]any `json:"result"`
		}
		body = recorded.Body.Bytes()
		if asked["method"] == "job.get" && json.Unmarshal(body, &answer) == nil {
			if runs, is := answer.Result["runs"].([]any); is {
				answer.Result["runs"] = runs[max(0, len(runs)-knows):]
				if knows == 0 {
					answer.Result["runs_done"] = 0
				}
				body, _ = json.Marshal(answer)
			}
		}
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(body)
	})
}

// Of a job that made more runs than it tells of, all are judged.
func TestRunOnRigManyRuns(t *testing.T) {
	t.Parallel()
	for knows, name := range []string{"after a restart", "the last one"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("local")}, nil)
			address := answering(t, rig, func(next http.Handler) http.Handler { return forgetful(next, knows) })
			code, out, errOut := runOn(t, address, "scene", "--max-lost", "100%", "--repeat", "3", "--json")
			var told verdict.JSON
			if err := json.Unmarshal([]byte(out), &told); err != nil || code != exitOK || told.Counts.OK != 3 {
				t.Fatalf("exit code %d, %v\n%s\n%s", code, err, out, errOut)
			}
			for i, made := range told.Runs {
				if want := fmt.Sprintf("run-%02d", i+1); made.Dir != want {
					t.Errorf("run %d is %s, want %s", i, made.Dir, want)
				}
			}
		})
	}
}
