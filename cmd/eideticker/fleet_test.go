package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
	"github.com/eideticker/eideticker/deploy/rig"
)

// fleetRigEnv names the configuration of a rig that is a program of its own.
const fleetRigEnv = "EIDETICKER_TEST_FLEET_RIG"

// anyPort listens on a free port.
const anyPort = "127.0.0.1:0"

// heldFile is beside the configuration of a rig whose device is held: its jobs run until it is
// killed.
const heldFile = "held"

// serveFleetRig serves a rig with a synthetic device until it is killed.
func serveFleetRig(file string) int {
	ctx, stop := interruptible()
	defer stop()
	conf, err := config.Load(file, func(string) string { return "" })
	if err == nil {
		device := daemontest.New("a")
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), heldFile)); err == nil {
			device.Hold() // until the rig is killed
		}
		e := &env{ctx: ctx, out: os.Stdout, err: os.Stderr}
		var tests []suite.Source
		if tests, err = (suiteFolders{Suite: conf.Suite}).sources(); err != nil {
			return exitCode(os.Stderr, err)
		}
		err = rig.Serve(ctx, rig.Options{Config: conf, Suite: tests, Program: program(),
			Log: newLog(e, conf.Log), Devices: daemontest.Devices{device},
			Announce: func(a rig.Address) { announceRig(e, &conf, a, false) }})
	}
	return exitCode(os.Stderr, err)
}

// fleet is a hub with rigs that are programs of their own.
type fleet struct {
	t         *testing.T
	dir       string // with a folder for each machine
	at, print string
}

// newFleet makes the folder of tests.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir()}
	suite := filepath.Join(f.dir, "suite")
	if err := os.Mkdir(suite, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string]string{"scene": "", "profiled": "profile: {native: samples}\n"} {
		if err := os.WriteFile(filepath.Join(suite, name+".yaml"), []byte("name: "+name+"\nabout: Plays a scene\n"+
			"url: http://scene.example/\nsync: markers\nmeasures: [fps]\ntimeout: 2m\n"+more), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// conf writes the configuration of a machine that listens at an address.
func (f *fleet) conf(name, listen, more string) (file string) {
	f.t.Helper()
	file = filepath.Join(f.dir, name, "eideticker.toml")
	text := fmt.Sprintf("listen = %q\ndata_dir = %q\nsuite = [%q]\n%s\n[store]\nmin_free = \"64MiB\"\n", listen,
		filepath.Join(f.dir, name, "data"), filepath.Join(f.dir, "suite"), more)
	for _, made := range []string{filepath.Join(f.dir, name, "data"), filepath.Join(f.dir, name, "locks")} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return file
}

// start starts a machine and returns how it is killed, and what it prints.
func (f *fleet) start(file string) (kill func(os.Signal), said *output) {
	f.t.Helper()
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fleetRigEnv+"="+file, session.LockVariable+"="+filepath.Join(filepath.Dir(file),
		"locks"))
	said = &output{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	ended := false
	kill = func(how os.Signal) {
		if ended {
			return
		}
		ended = true
		_ = cmd.Process.Signal(how) // it may have ended
		_ = cmd.Wait()
		if f.t.Failed() {
			f.t.Log(said.String())
		}
	}
	f.t.Cleanup(func() { kill(os.Interrupt) })
	return kill, said
}

// do carries out a command of the hub's users.
func (f *fleet) do(args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	if args[0] != "fleet" || args[1] != "join" {
		args = append(args, "--hub", f.at, "--fingerprint", f.print)
	}
	code = run(f.t.Context(), args, nil, &o, &e)
	return code, o.String(), e.String()
}

func (f *fleet) well(args ...string) string {
	f.t.Helper()
	code, out, errOut := f.do(args...)
	if code != exitOK {
		f.t.Fatalf("%q: exit code %d\n%s%s", args, code, out, errOut)
	}
	return out
}

func (f *fleet) until(what string, is func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(daemontest.Patience); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("waited in vain for %s\n%s%s", what, f.well("fleet", "rigs"), f.well("fleet", "jobs"))
		}
	}
}

// states returns the states of all rigs, by name.
func (f *fleet) states() (all []string) {
	var rigs api.FleetRigs
	if err := json.Unmarshal([]byte(f.well("fleet", "rigs", "--json")), &rigs); err != nil {
		f.t.Fatal(err)
	}
	for _, r := range rigs.Rigs {
		if len(r.Devices) == 0 {
			r.State = "joined" // and not connected yet
		}
		all = append(all, r.State)
	}
	return all
}

// file gets a file of a run from the hub.
func (f *fleet) file(run, name string) (int, string) {
	res, err := agent.PinnedClient(f.print).Get(f.at + "/fleet/v1/runs/" + run + "/" + name)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// gates runs the conditions of CI. A repeated call judges the runs that are there.
func (f *fleet) gates(job []string, markdown string) {
	f.t.Helper()
	one := append(slices.Clone(job), "--needs", "room=03", "--job", "s-one")
	two := append(slices.Clone(job), "--needs", "room=03", "--job", "s-two-browsers", "-b", "one", "-b", "two",
		"--markdown", markdown)
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{slices.Concat(one, []string{"--fail-if", "fps.framerate < 1"}), exitOK, "kept"},
		{slices.Concat(one, []string{"--fail-if", "fps.framerate < 1000"}), exitRegression, "broken"},
		{slices.Concat(one, []string{"--fail-if", "fps.framerate < 1", "--json"}), exitOK, `"s-one"`},
		{slices.Concat(one, []string{"--markdown", markdown}), exitUsage, "--markdown with --hub needs two"},
		{two, exitOK, "primary value"},
	} {
		code, out, errOut := f.do(tc.args...)
		if code != tc.code || !strings.Contains(out+errOut, tc.want) {
			f.t.Errorf("%q: exit code %d, want %d and %q\n%s%s", tc.args, code, tc.code, tc.want, out, errOut)
		}
	}
	code, out, errOut := f.do(append(two, "--fail-on-regression")...) // a busy machine may change the runs
	if !slices.Contains([]int{exitOK, exitRegression, exitInconclusive}, code) ||
		!strings.Contains(out, "primary value") || strings.Contains(errOut, "clear verdict") {
		f.t.Errorf("a comparison: exit code %d\n%s%s", code, out, errOut)
	}
	if text, err := os.ReadFile(markdown); err != nil || !strings.Contains(string(text), "framerate") {
		f.t.Errorf("the comment is %q, %v", text, err)
	}
}

// TestFleet follows docs/fleet.md: a hub and three rigs, of which one is drained and one killed.
//
// Fault: `kill -9` of a rig with a job of a fleet
func TestFleet(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	hub := f.conf("hub", anyPort, "[tls]\nmode = \"self\"\n")
	if code := run(t.Context(), []string{"fleet", "init", "--config", hub}, nil, io.Discard,
		io.Discard); code != exitOK {
		t.Fatalf("fleet init: exit code %d", code)
	}
	var again bytes.Buffer
	if code := run(t.Context(), []string{"fleet", "init", "--config", hub}, nil, io.Discard,
		&again); code != exitFailure || !strings.Contains(again.String(), "this machine is a hub already") {
		t.Errorf("a second fleet init: exit code %d: %s", code, &again)
	}
	out, errOut := serving(t, "--config", hub)
	f.print = errOut.line(t, "certificate ")
	f.at = "https:" + strings.TrimSuffix(out.line(t, "https:"), "/")
	kills := map[string]func(os.Signal){}
	confs := map[string]string{}
	held := filepath.Join(f.dir, "lab-02", heldFile)
	for _, name := range []string{"lab-01", "lab-02", "lab-03"} {
		confs[name] = f.conf(name, anyPort, "[labels]\nroom = \""+name[4:]+"\"\n")
		if name == "lab-02" {
			if err := os.WriteFile(held, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		kills[name], _ = f.start(confs[name])
		args := strings.Fields(f.well("fleet", "invite", name))[1:]
		f.well(append(args, "--config", confs[name])...)
		if name != "lab-02" {
			continue
		}
		if code, _, errOut := f.do(append(args, "--config", hub)...); code != exitFailure || !strings.Contains(errOut,
			"used") {
			t.Errorf("an invitation is used twice: exit code %d, %s", code, errOut)
		}
	}
	f.until("three rigs", func() bool { return slices.Equal(f.states(), []string{"ready", "ready", "ready"}) })

	job := []string{"run", "scene", "--max-lost", "100%", "--no-video", "--needs", "os=linux"}
	if text := f.well(append(job, "--needs", "room=03", "--job", "s-one")...); !strings.Contains(text,
		"ok on lab-03/a") {
		t.Errorf("%s", text)
	}
	if text := f.well(append(job, "--needs", "room=03", "--repeat", "2", "--profile", "samples")...); !strings.Contains(
		text, "Cost of the profile (samples): fps.") {
		t.Errorf("no cost of the profile: %s", text)
	}
	f.gates(job, filepath.Join(f.dir, "comment.md"))
	if code, _, errOut := f.do("run", "scene", "--needs", "room=30"); code != exitUsage || !strings.Contains(errOut,
		"03") {
		t.Errorf("a label that no device has: exit code %d, %s", code, errOut)
	}
	nightly := f.conf("nightly", anyPort, "[schedule.nightly]\ncron = \"0 3 * * *\"\ntests = [\"scene\"]\n"+
		"browsers = [\"one\"]\nneeds = { room = \"30\" }\n")
	if code, _, errOut := f.do("schedule", "check", "--config", nightly); code != exitOK || !strings.Contains(errOut,
		"warning: schedule nightly: no device has room=30; there are 03, ") {
		t.Errorf("needs of a schedule that no device has: exit code %d, %s", code, errOut)
	}
	nine := append([]string{"run"}, slices.Repeat([]string{"profiled"}, 9)...)
	if code, _, errOut := f.do(nine...); code != exitUsage || !strings.Contains(errOut, "18 variants with those of") {
		t.Errorf("more variants than rigs take: exit code %d, %s", code, errOut)
	}
	for name, want := range map[string]string{"set.json": `"scene"`, "run-01/results.json": `"fps"`,
		"run-01/log.txt": "ready"} {
		run := "lab-03/s-one.1"
		if place, base, is := strings.Cut(name, "/"); is {
			run, name = run+"~"+place, base
		}
		if code, text := f.file(run, name); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s of the hub: %d, %.300s", name, code, text)
		}
	}

	if code, _, errOut := f.do("fleet", "jobs", "--state", "runing"); code != exitUsage || !strings.Contains(errOut,
		"must be one of live, queued") {
		t.Errorf("jobs of an unknown state: exit code %d, %s", code, errOut)
	}
	f.well("fleet", "drain", "lab-01", "--reason", "new cable")
	f.until("lab-01 to be drained", func() bool { return f.states()[0] == "drained" })
	ended := make(chan string, 1)
	go func() {
		code, out, errOut := f.do(append(job, "--needs", "room=01,02", "--job", "s-two", "--json")...)
		ended <- fmt.Sprint(code) + " " + out + errOut
	}()
	running := func() bool {
		code, out, _ := f.do("fleet", "jobs", "--state", "running", "--json")
		return code == exitOK && strings.Contains(out, "s-two")
	}
	f.until("the job to run", running)
	kills["lab-02"](os.Kill)
	if err := os.Remove(held); err != nil {
		t.Fatal(err)
	}
	f.start(confs["lab-02"])
	var text string
	select {
	case text = <-ended:
	case <-time.After(daemontest.Patience):
		t.Fatalf("the job does not end: %s", f.well("fleet", "jobs"))
	}
	var got api.FleetJob
	code, body, _ := strings.Cut(text, " ")
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&got); err != nil || code != "0" || got.State != "ok" ||
		len(got.Attempts) != 2 || got.Winner != 2 || got.Attempts[0].State != "interrupted" ||
		got.Attempts[1].Rig != "lab-02" {
		t.Errorf("%v, %s", err, text)
	}
	for run, want := range map[string]int{"lab-02/s-two.2~run-01": http.StatusOK,
		"lab-01/s-two.2~run-01": http.StatusNotFound} {
		if code, text := f.file(run, "run.json"); code != want {
			t.Errorf("run %s: %d, %.300s", run, code, text)
		}
	}
	sets, err := filepath.Glob(filepath.Join(f.dir, "lab-0*", "data", "runs", "s-*"))
	if err != nil || len(sets) > 5 {
		t.Errorf("%q, %v: want one set of each attempt", sets, err)
	}

	// a repeated call returns the job
	if text := f.well(append(job, "--needs", "room=03", "--job", "s-one")...); !strings.Contains(text,
		"ok on lab-03/a") {
		t.Errorf("%s", text)
	}
	f.well("fleet", "drain", "lab-01", "--lift")
	f.well("fleet", "remove", "lab-03")
	if got := f.states(); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if code, _, errOut := f.do("fleet", "remove", "lab-09"); code == exitOK || !strings.Contains(errOut, "lab-09") {
		t.Errorf("an unknown rig is removed: %d %s", code, errOut)
	}
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	var errText bytes.Buffer
	if code := run(interrupted, append(job, "--hub", f.at, "--fingerprint", f.print), nil, io.Discard,
		&errText); code == exitOK {
		t.Error("an interrupted run is well")
	}
}

// TestPrintRigs: a ready rig has the reason why a device gets no jobs.
func TestPrintRigs(t *testing.T) {
	var out bytes.Buffer
	devices := []api.FleetDevice{{Device: "a", Reason: "reserved for ben: new cable"}, {Device: "b"}}
	if err := printRigs(&env{out: &out}, api.FleetRig{Rig: "lab-01", State: "ready", Devices: devices},
		api.FleetRig{Rig: "lab-02", State: "drained", Reason: "new switch", Devices: devices}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "a: reserved for ben: new cable\nlab-02") ||
		!strings.Contains(out.String(), " new switch\n") {
		t.Errorf("%s", &out)
	}
}

// TestServeAlone: a rig without a fleet has neither files nor ports of one.
func TestServeAlone(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	out, _ := serving(t, "--config", writeConfig(t, "listen = \"127.0.0.1:0\"\ndata_dir = \""+data+"\"\n"))
	at := "http:" + strings.TrimSuffix(out.line(t, "http:"), "/")
	var text bytes.Buffer
	if code := run(t.Context(), []string{"fleet", "status", "--rig", at, "--json"}, nil, &text,
		&text); code != exitOK ||
		!strings.Contains(text.String(), `"alone"`) {
		t.Errorf("%d, %s", code, &text)
	}
	for _, name := range []string{"fleet", "fleet.json", "fleet-agent.json", "fleet-agent", "secrets/fleet"} {
		if _, err := os.Stat(filepath.Join(data, name)); err == nil {
			t.Errorf("there is %s", name)
		}
	}
	if code, _, errOut := (&fleet{t: t, at: at}).do("fleet", "rigs"); code == exitOK || !strings.Contains(errOut,
		"not a hub") {
		t.Errorf("%d, %s", code, errOut)
	}
}
