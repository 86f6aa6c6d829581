package hub

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/enroll"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// BenchmarkHub prints the figures of a hub on the real storage: jobs that end and are followed by
// the next, latencies at 50 jobs/s, memory, and a start after a kill. It runs once: -benchtime 1x.
// EIDETICKER_JOBS is the number of live jobs (default: 100,000).
func BenchmarkHub(b *testing.B) {
	if dir := os.Getenv(startDir); dir != "" {
		measureStart(b, dir)
		return
	}
	live, err := strconv.Atoi(cmp.Or(os.Getenv("EIDETICKER_JOBS"), "100000"))
	if err != nil {
		b.Fatal(err)
	}
	for _, rigs := range []int{10, 500} {
		b.Run(fmt.Sprint(rigs, " rigs"), func(b *testing.B) { measureHub(b, live, rigs) })
	}
}

func measureHub(b *testing.B, live, rigs int) {
	const devices = 16
	dir := b.TempDir()
	f := openFarm(b, dir)
	for i := range rigs {
		f.join(fmt.Sprint("rig-", i), devices)
	}
	start := time.Now()
	n := live + 10_000 // these end while it is measured
	f.each(64, func(w int) {
		for i := w; i < n; i += 64 {
			if _, err := f.hub.Submit(b.Context(), fmt.Sprint("owner-", i%12), api.JobParams{Job: fmt.Sprint("s-", i),
				StartParams: api.StartParams{Test: "scroll", Class: classes[i%4]}}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(n)/time.Since(start).Seconds(), "submits/s")
	f.each(rigs, func(w int) { f.poll(w) })

	const span = 10 * time.Second
	for _, pace := range []int{0, 50} {
		took := f.load(span, rigs, pace)
		if len(took) == 0 {
			b.Fatal("no job ended")
		}
		slices.Sort(took)
		p99 := float64(took[len(took)*99/100].Microseconds()) / 1000
		if pace == 0 {
			b.ReportMetric(float64(len(took))/span.Seconds(), "jobs/s")
			b.ReportMetric(p99, "p99-ms")
		} else {
			b.ReportMetric(p99, fmt.Sprintf("p99-ms-at-%d/s", pace))
		}
	}
	debug.FreeOSMemory()
	b.ReportMetric(resident(b), "MiB")
	before := f.hub.Status()
	left := before.Running + sum(before.Waiting)
	b.ReportMetric(float64(left), "live")

	killed := b.TempDir() // the files of a hub that was killed now, without the reserve of space
	if err := os.Remove(filepath.Join(dir, "jetstream", "reserve")); err != nil {
		b.Fatal(err)
	}
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"operator.seed", "signing.seed", "state.json"} { // copies are readable by all
		if err := os.Chmod(filepath.Join(killed, "secrets", name), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	f.bus.Close()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	again := exec.CommandContext(b.Context(), self, "-test.run=^$", "-test.bench=^BenchmarkHub$", "-test.benchtime=1x")
	again.Env = append(os.Environ(), startDir+"="+killed)
	if out, err := again.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	var s started
	text, err := os.ReadFile(filepath.Join(killed, startFile))
	if err = errors.Join(err, json.Unmarshal(text, &s)); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(s.Seconds, "start-s")
	b.ReportMetric(s.MiB, "start-MiB")
	if s.Live != left {
		b.Errorf("after the kill %d jobs run or wait, of %d", s.Live, left)
	}
}

// A process of its own starts the hub that was killed, as a service does.
const (
	startDir  = "EIDETICKER_TEST_START" // the hub's folder
	startFile = "started.json"          // there, a started
)

// started is a start of a hub.
type started struct {
	Seconds, MiB float64
	Live         int // jobs that run or wait
}

func measureStart(b *testing.B, dir string) {
	begin := time.Now()
	f := openFarm(b, dir)
	out := started{Seconds: time.Since(begin).Seconds(), MiB: resident(b)}
	s := f.hub.Status()
	out.Live = s.Running + sum(s.Waiting)
	f.bus.Close()
	text, err := json.Marshal(out)
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, startFile), text, 0o600)); err != nil {
		b.Fatal(err)
	}
}

func sum(all map[string]int) (n int) {
	for _, v := range all {
		n += v
	}
	return n
}

// resident returns the program's memory in MiB.
func resident(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+)`).FindSubmatch(text)
	if m == nil {
		b.Fatal("no VmRSS")
	}
	kib, _ := strconv.ParseFloat(string(m[1]), 64)
	return kib / 1024
}

// farm is a hub on the real storage, with rigs that call it directly.
type farm struct {
	*testing.B
	bus  *bus.Server
	hub  *Hub
	rigs []*wire.Poll
}

func openFarm(b *testing.B, dir string) *farm {
	b.Helper()
	secrets := filepath.Join(dir, "secrets")
	a, err := enroll.Open(secrets)
	if err != nil {
		a, err = enroll.Init(secrets)
	}
	if err != nil {
		b.Fatal(err)
	}
	operator, err := a.Operator()
	if err != nil {
		b.Fatal(err)
	}
	f := &farm{B: b}
	if f.bus, err = bus.Serve(b.Context(), bus.ServerOptions{Dir: filepath.Join(dir, "jetstream"), Quota: 4 << 30,
		Keys: bus.Keys{Operator: operator, Account: a.Account(), AccountJWT: a.AccountJWT, System: a.System,
			User: a.User}}); err != nil {
		b.Fatal(err)
	}
	if f.hub, err = New(b.Context(), Options{Dir: dir, Bus: f.bus, Authority: &office{map[string]string{}},
		URL: "https://hub:8430", Free: func() (int64, error) { return 1 << 40, nil }}); err != nil {
		b.Fatal(err)
	}
	return f
}

func (f *farm) join(name string, devices int) {
	v, err := f.hub.Invite(name)
	if err == nil {
		_, err = f.hub.Join(f.Context(), wire.Join{Version: 1, Key: "KEY", Token: v.URL[len("https://hub:8430/#"):]})
	}
	if err != nil {
		f.Fatal(err)
	}
	p := &wire.Poll{Version: wire.Version, Boot: name, Program: "eideticker 1"}
	for i := range devices {
		p.Devices = append(p.Devices, wire.Device{Name: fmt.Sprint("phone-", i), State: "free",
			Labels: map[string]string{"os": "android", "model": "pixel7"}})
	}
	f.rigs = append(f.rigs, p)
	f.poll(len(f.rigs) - 1)
}

// poll sends a rig's state. The rig begins the attempts of the answer. It returns how many of its
// results are stored.
func (f *farm) poll(i int) (stored int) {
	p := f.rigs[i]
	p.Results = len(p.Ended)
	raw, err := json.Marshal(p)
	if err != nil {
		f.Fatal(err)
	}
	var answer wire.Polled
	err = json.Unmarshal(f.hub.handle(f.Context(), p.Boot, "poll", raw), &answer)
	if err != nil || answer.Error != "" {
		f.Error(err, answer.Error)
		return 0
	}
	p.Ended = slices.DeleteFunc(p.Ended,
		func(e wire.Ended) bool { return slices.Contains(answer.Acknowledged, e.Attempt) })
	p.Running = p.Running[:0]
	for _, d := range answer.Desired {
		if !slices.ContainsFunc(p.Ended, func(e wire.Ended) bool { return e.Attempt == d.Attempt }) {
			p.Running = append(p.Running, wire.Running{Attempt: d.Attempt, State: "queued"})
		}
	}
	return len(answer.Acknowledged)
}

// load ends jobs on all rigs for a time: as many as possible, or at a pace a second. It returns the
// time of each from its end to the answer, which has the next one.
func (f *farm) load(span time.Duration, rigs, pace int) (took []time.Duration) {
	var mu sync.Mutex
	until := time.Now().Add(span)
	f.each(rigs, func(w int) {
		for k := 0; time.Now().Before(until); k++ {
			n := len(f.rigs[w].Running)
			if pace > 0 { // one at a time; rigs take turns
				n = min(n, 1)
				next := until.Add(-span + time.Duration(k*rigs+w)*time.Second/time.Duration(pace))
				if next.After(until) {
					return
				}
				time.Sleep(time.Until(next))
			}
			p := f.rigs[w]
			for _, m := range p.Running[:n] {
				p.Ended = append(p.Ended, wire.Ended{Attempt: m.Attempt, State: "ok", StartedNS: 1, EndedNS: 2})
			}
			p.Running = slices.Clone(p.Running[n:])
			start := time.Now()
			stored := f.poll(w)
			mu.Lock()
			for range stored {
				took = append(took, time.Since(start))
			}
			mu.Unlock()
		}
	})
	return took
}

// each runs a function for 0 to n-1 at the same time.
func (f *farm) each(n int, do func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}
