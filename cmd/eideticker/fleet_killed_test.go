package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// machine is a hub or a rig that is a program of its own.
type machine struct {
	file   string
	kill   func(os.Signal)
	killed []time.Time
}

// TestFleetKilled kills programs of a hub and two rigs at random moments, while clients wait for
// jobs and ask again. The check is from outside. Each job has ended once. Its counted runs are on
// the disk of the rig that it names. No two runs overlap on a device. EIDETICKER_SOAK=1 has fifty
// times as many kills.
//
// Fault: `kill -9` of the hub while clients wait
func TestFleetKilled(t *testing.T) {
	t.Parallel()
	jobs, kills := 6, 4
	if os.Getenv("EIDETICKER_SOAK") != "" {
		jobs, kills = 150, 200
	}
	f, all := newFleet(t), map[string]*machine{}
	free, err := net.Listen("tcp", "127.77.0.1:0") // the hub's own address: others take ports of 127.0.0.1
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil { // the hub listens there at each start
		t.Fatal(err)
	}
	hub := f.conf("hub", address, "[tls]\nmode = \"self\"\n")
	f.wellHere("fleet", "init", "--config", hub)
	restart := func(m *machine) *output {
		var said *output
		m.kill, said = f.start(m.file)
		return said
	}
	all["hub"] = &machine{file: hub}
	said := restart(all["hub"])
	f.print, f.at = said.line(t, "certificate "), "https://"+address
	said.line(t, "https:")
	for _, name := range []string{"lab-01", "lab-02"} {
		all[name] = &machine{file: f.conf(name, anyPort, "")}
		restart(all[name])
		args := strings.Fields(f.well("fleet", "invite", name))[1:]
		f.wellHere(append(args, "--config", all[name].file)...)
	}
	f.until("two rigs", func() bool { return slices.Equal(f.states(), []string{"ready", "ready"}) })

	var clients sync.WaitGroup
	t.Cleanup(clients.Wait) // their context has ended before
	finishBy := time.Now().Add(daemontest.Patience + time.Duration(kills)*10*time.Second)
	if end, limited := t.Deadline(); limited && end.Before(finishBy.Add(time.Minute)) {
		finishBy = end.Add(-time.Minute)
	}
	ended := make([]api.FleetJob, jobs)
	for i := range ended {
		clients.Go(func() { ended[i] = f.ask(fmt.Sprintf("s-%d", i), finishBy) })
	}
	finished := make(chan struct{})
	go func() { clients.Wait(); close(finished) }()
	random := rand.New(rand.NewPCG(1, uint64(kills)))
	names := slices.Sorted(maps.Keys(all))
	for k := range kills {
		f.until("a job to run", func() bool {
			code, out, _ := f.do("fleet", "jobs", "--state", "running", "--json")
			select {
			case <-finished:
				return true
			default:
				return code == exitOK && strings.Contains(out, `"s-`)
			}
		})
		name := names[(k+random.IntN(2))%len(names)]
		t.Logf("kill %d: %s", k, name)
		all[name].kill(os.Kill)
		all[name].killed = append(all[name].killed, time.Now())
		if said := restart(all[name]); name == "hub" {
			said.line(t, "https:")
		}
	}
	select {
	case <-finished:
	case <-time.After(time.Until(finishBy)):
		t.Fatalf("jobs do not end: %s", f.well("fleet", "jobs"))
	}
	f.check(ended, all)
}

// wellHere carries out a command of a machine.
func (f *fleet) wellHere(args ...string) {
	f.t.Helper()
	var said output
	if code := run(f.t.Context(), args, nil, &said, &said); code != exitOK {
		f.t.Fatalf("%q: exit code %d\n%s", args, code, said.String())
	}
}

// ask waits for a job, and asks again while the hub is away.
func (f *fleet) ask(id string, until time.Time) (j api.FleetJob) {
	for ; time.Now().Before(until) && f.t.Context().Err() == nil; time.Sleep(time.Second) {
		_, out, errOut := f.do("run", "scene", "--max-lost", "100%", "--no-video", "--json", "--job", id)
		if json.Unmarshal([]byte(out), &j) == nil && slices.Contains([]string{"ok", "failed", "interrupted"}, j.State) {
			return j
		}
		if f.t.Context().Err() == nil {
			f.t.Logf("%s: %s", id, strings.TrimSpace(errOut))
		}
	}
	return j
}

// check compares ended jobs with the hub's list and with the disks of the rigs.
func (f *fleet) check(ended []api.FleetJob, all map[string]*machine) {
	f.t.Helper()
	var listed api.FleetJobs
	if err := json.Unmarshal([]byte(f.well("fleet", "jobs", "--limit", "1000", "--json")), &listed); err != nil {
		f.t.Fatal(err)
	}
	times := map[string]int{}
	for _, j := range listed.Jobs {
		times[j.Job]++
	}
	for i, j := range ended {
		id := fmt.Sprintf("s-%d", i)
		if j.Job != id || times[id] != 1 {
			f.t.Errorf("job %s ended as %+v, and the hub lists it %d times", id, j, times[id])
		}
		if j.State != "ok" { // its attempts were killed three times
			if len(j.Attempts) < 3 {
				f.t.Errorf("job %s: %+v", id, j)
			}
			continue
		}
		set := fmt.Sprintf("%s.%d", id, j.Winner)
		file := filepath.Join(f.dir, j.Attempts[j.Winner-1].Rig, "data", "runs", set, "run-01", session.RecordFile)
		if got := f.record(file).State; got != session.Passed {
			f.t.Errorf("job %s: its attempt %d is %q on the rig's disk", id, j.Winner, got)
		}
	}
	if len(times) != len(ended) {
		f.t.Errorf("the hub lists %d jobs, %d were asked for", len(times), len(ended))
	}
	for _, rig := range []string{"lab-01", "lab-02"} {
		files, err := filepath.Glob(filepath.Join(f.dir, rig, "data", "runs", "*", "run-*", session.RecordFile))
		if err != nil || len(files) == 0 {
			f.t.Errorf("%s has no runs: %v", rig, err)
		}
		var runs []*session.Record
		for _, file := range files {
			r := f.record(file)
			for _, killed := range all[rig].killed { // a killed run does not know when it ended
				if ns := killed.UnixNano() - r.StartedWallNS; r.ElapsedNS == 0 && ns > 0 {
					r.ElapsedNS = ns
				}
			}
			runs = append(runs, r)
		}
		slices.SortFunc(runs, func(a, b *session.Record) int { return cmp.Compare(a.StartedWallNS, b.StartedWallNS) })
		for i := 1; i < len(runs); i++ {
			if before := runs[i-1]; before.StartedWallNS+before.ElapsedNS > runs[i].StartedWallNS {
				f.t.Errorf("%s: a run began %v before the end of another", rig,
					time.Duration(before.StartedWallNS+before.ElapsedNS-runs[i].StartedWallNS))
			}
		}
	}
}

// record reads the record of a run.
func (f *fleet) record(file string) *session.Record {
	f.t.Helper()
	raw, err := os.Open(file)
	if err != nil {
		f.t.Fatal(err)
	}
	defer raw.Close() // was only read
	r, err := session.ReadRecord(raw)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}
