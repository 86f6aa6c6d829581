package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
	"github.com/eideticker/eideticker/analyze/activity/export"
	"github.com/eideticker/eideticker/analyze/result"
)

// used returns the CPU time of this process, or of its children that ended, in seconds.
func used(who int) float64 {
	var u unix.Rusage
	_ = unix.Getrusage(who, &u) // it has no other error than a wrong argument
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// record runs a program with a session, and returns its output and the session.
func record(t testing.TB, o Options, path string, args ...string) (string, *Session) {
	t.Helper()
	s := open(t, o)
	var out bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout = &out
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := errors.Join(s.Start(nil)(cmd), s.Failed())
	if err == nil {
		err = cmd.Wait()
	}
	_, failed := s.Stop(t.Context())
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return out.String(), s
}

// grind converts a session's calls and writes them for KCachegrind. It returns the calls of each
// function.
func grind(t testing.TB, s *Session) map[string]int64 {
	t.Helper()
	infos, err := s.Convert(t.Context(), "id")
	if err != nil || len(infos) != 1 {
		t.Fatal(infos, err)
	}
	trace, err := activity.Open(filepath.Join(s.o.Dir, infos[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	files, err := (&export.Selection{Trace: trace,
		Frames: []result.FrameSpan{{FromNS: infos[0].BeginNS, ToNS: infos[0].EndNS + 1}}}).Callgrind()
	var out bytes.Buffer
	for _, f := range files {
		err = errors.Join(err, f.Write(&out))
	}
	if err != nil {
		t.Fatal(err)
	}
	return grinded(out.String())
}

// ground writes a session's calls for KCachegrind without an index, and returns them.
func ground(t testing.TB, s *Session) map[string]int64 {
	t.Helper()
	g := export.NewGrinder()
	info, err := s.Pass(t.Context(), g)
	files, failed := g.Files(info)
	var out bytes.Buffer
	for _, f := range files {
		err = errors.Join(err, f.Write(&out))
	}
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return grinded(out.String())
}

// grinded returns the calls of each function in a text of callgrind.
func grinded(text string) map[string]int64 {
	names, calls, callee := map[string]string{}, map[string]int64{}, ""
	function := regexp.MustCompile(`^c?fn=(\(\d+\))(?: (.*))?$`)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := function.FindStringSubmatch(line); m != nil {
			if m[2] != "" {
				name, _, _ := strings.Cut(m[2], "'") // fib'2 is a recursive call
				names[m[1]], _, _ = strings.Cut(name, " ")
			}
			if line[0] == 'c' {
				callee = names[m[1]]
			}
		} else if n, ok := strings.CutPrefix(line, "calls="); ok {
			n, _, _ = strings.Cut(n, " ")
			count, _ := strconv.ParseInt(n, 10, 64)
			calls[callee] += count
		}
	}
	return calls
}

// nanoseconds returns the time that a program of calls printed, for each of some calls.
func nanoseconds(t testing.TB, text string, calls int64) float64 {
	t.Helper()
	for line := range strings.Lines(text) { // uftrace prints lines too
		if n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
			return float64(n) / float64(calls)
		}
	}
	t.Fatalf("no time in %q", text)
	return 0
}

// tried runs a program to its end and returns its output.
func tried(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return string(out)
}

// functionFigures compares recording and conversion of calls with uftrace, in turns.
func functionFigures(t testing.TB, turns, size int) []*activitytest.Figure {
	plain, compiled := compile(t, "testdata/calls.c"), compile(t, "testdata/calls.c", "-pg")
	_, few := record(t, Options{Native: functions}, compiled, "12")
	small := grind(t, few)
	file := filepath.Join(t.TempDir(), "callgrind")
	tried(t, "valgrind", "-q", "--tool=callgrind", "--callgrind-out-file="+file, plain, "12")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	valgrind := grinded(string(text))
	equal := &activitytest.Figure{Name: "calls of fib and leaf", Anchor: "callgrind", Goal: 1, Least: true,
		Ours:   []float64{float64(small["fib"] + small["leaf"])},
		Theirs: []float64{float64(valgrind["fib"] + valgrind["leaf"])}}
	cost := &activitytest.Figure{Name: "functions, ns a call", Anchor: "uftrace record", Unit: "ns", Goal: 1.02}
	cpu := &activitytest.Figure{Name: "functions, CPU to callgrind", Anchor: "uftrace report", Unit: "s", Goal: 0.25}
	whole := &activitytest.Figure{Name: "the same, with index.etr", Anchor: "uftrace report", Unit: "s"}
	arg := strconv.Itoa(size)
	calls := int64(0)
	for range turns {
		out, s := record(t, Options{Native: functions}, compiled, arg)
		begin := used(unix.RUSAGE_SELF)
		all := ground(t, s)
		cpu.Ours = append(cpu.Ours, used(unix.RUSAGE_SELF)-begin)
		begin = used(unix.RUSAGE_SELF)
		if indexed := grind(t, s); !maps.Equal(indexed, all) {
			t.Errorf("calls are %v, those of the index %v", all, indexed)
		}
		whole.Ours = append(whole.Ours, used(unix.RUSAGE_SELF)-begin)
		calls = all["fib"] + all["leaf"]
		dir := filepath.Join(t.TempDir(), "data")
		theirs := tried(t, "uftrace", "record", "--no-event", "-d", dir, compiled, arg)
		begin = used(unix.RUSAGE_CHILDREN)
		tried(t, "uftrace", "report", "--no-pager", "-d", dir)
		cpu.Theirs = append(cpu.Theirs, used(unix.RUSAGE_CHILDREN)-begin)
		bare := nanoseconds(t, tried(t, plain, arg), calls)
		cost.Ours = append(cost.Ours, nanoseconds(t, out, calls)-bare)
		cost.Theirs = append(cost.Theirs, nanoseconds(t, theirs, calls)-bare)
		if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(s.o.Dir)); err != nil {
			t.Fatal(err)
		}
	}
	whole.Theirs = cpu.Theirs
	return []*activitytest.Figure{cost, cpu, whole, equal}
}

// TestFunctionFigures runs a small form of the benchmark: both profilers count the same calls.
func TestFunctionFigures(t *testing.T) {
	open(t, Options{Native: functions})
	if _, err := exec.LookPath("valgrind"); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	for _, f := range functionFigures(t, 1, 14) {
		if f.Name == "calls of fib and leaf" && (f.Ours[0] != f.Theirs[0] || f.Ours[0] < 300) {
			t.Errorf("%v calls, callgrind counts %v", f.Ours, f.Theirs)
		}
	}
}

// ride is a load of the page by one way of recording.
type ride struct {
	cpu, frames, late, bytes float64
}

// scene draws a fixed number of frames and loads 50 resources several times.
const scene = `<!doctype html><canvas id=c width=600 height=400></canvas><script>
let c = document.getElementById("c").getContext("2d"), n = 0, times = [];
function work(k) { let s = 0; for (let i = 0; i < 4e4; i++) s += Math.sqrt(i * k); return s; }
function frame(t) {
	times.push(t);
	for (let i = 0; i < 60; i++) {
		c.fillStyle = "rgb(" + i + "," + n % 255 + ",9)";
		c.fillRect(i * 9, n % 350, 9, 40);
	}
	document.title = work(n);
	if (n % 30 == 0) for (let i = 0; i < 50; i++) fetch("/resource?" + n + "-" + i).then(r => r.text());
	if (++n < 240) return requestAnimationFrame(frame);
	let all = times.slice(1).map((t, i) => t - times[i]), m = all.toSorted((a, b) => a - b)[all.length >> 1];
	fetch("/done", {method: "POST", body: JSON.stringify({frames: 1000 * all.length / (times.at(-1) - times[0]),
		late: all.filter(t => t > 1.5 * m).length})});
}
requestAnimationFrame(frame);
</script>`

// browser returns the program of Chromium, not its script.
func browser(b *testing.B) string {
	const debian = "/usr/lib/chromium/chromium"
	if _, err := os.Stat(debian); err == nil {
		return debian
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		b.Skip(err)
	}
	return path
}

// load loads the page by a way of recording: one of options, or a program that starts the browser.
func load(b *testing.B, way string, o *Options, wrapper []string) (r ride) {
	dir, done := b.TempDir(), make(chan ride, 1)
	body := bytes.Repeat([]byte("eideticker "), 500)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/":
			_, _ = io.WriteString(w, scene)
		case "/resource":
			_, _ = w.Write(body)
		case "/done":
			var all struct{ Frames, Late float64 }
			if json.NewDecoder(q.Body).Decode(&all) == nil {
				done <- ride{frames: all.Frames, late: all.Late}
			}
		}
	}))
	defer server.Close()
	args := append(wrapper, browser(b), "--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu",
		"--user-data-dir="+filepath.Join(dir, "profile"), server.URL)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "DIR", dir)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.WaitDelay = time.Second
	var s *Session
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := cmd.Start
	if o != nil {
		s = open(b, *o)
		begin = func() error { return errors.Join(s.Start(nil)(cmd), s.Failed()) }
	}
	self := used(unix.RUSAGE_SELF)
	if err := begin(); err != nil {
		b.Fatal(err)
	}
	select {
	case r = <-done:
		r.cpu = used(unix.RUSAGE_SELF) - self
	case <-time.After(90 * time.Second):
		b.Logf("%s: the page did not end", way)
		nan := math.NaN()
		r = ride{nan, nan, nan, nan}
	}
	all := descendants(cmd.Process.Pid)
	if s != nil {
		for _, e := range s.engines {
			if p, ok := e.(*perf); ok {
				all[p.tool.cmd.Process.Pid] = true
			}
		}
	}
	for pid := range all {
		r.cpu += spent(pid)
	}
	if s != nil {
		if _, err := s.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for pid := range all {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if math.IsNaN(r.cpu) {
			_ = unix.Kill(pid, unix.SIGKILL)
		} else if err == nil && strings.Contains(exe, "chrom") {
			_ = unix.Kill(pid, unix.SIGTERM) // it may have ended
		}
	}
	_ = cmd.Wait() // it was killed
	if math.IsNaN(r.cpu) {
		return r
	}
	if s != nil {
		r.bytes = float64(size(s.o.Dir)) / 1e6
	} else {
		r.bytes = float64(size(filepath.Join(dir, "raw"))) / 1e6
	}
	return r
}

// spent returns the CPU time of a process and of its children that ended, in seconds.
func spent(pid int) (sum float64) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // it has ended
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, f := range fields[11:15] {
		n, _ := strconv.ParseFloat(f, 64)
		sum += n / 100 // Linux has 100 ticks per second for programs
	}
	return sum
}

// ways are those of recording the page.
func ways() map[string]func(b *testing.B) ride {
	with := func(o Options) func(b *testing.B) ride {
		return func(b *testing.B) ride { return load(b, fmt.Sprint(o), &o, nil) }
	}
	in := func(wrapper ...string) func(b *testing.B) ride {
		return func(b *testing.B) ride { return load(b, strings.Join(wrapper, " "), nil, slices.Clone(wrapper)) }
	}
	return map[string]func(b *testing.B) ride{
		"plain":       in(),
		"samples":     with(Options{Native: Samples}),
		"perf":        in("perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-F", "997", "-g", "-o", "DIR/raw", "--"),
		"imports":     with(Options{Native: imports}),
		"all imports": in("uftrace", "record", "--force", "--no-event", "-d", "DIR/raw"),
		"sockets":     with(Options{Sockets: true}),
		"strace":      in("strace", "-q", "-f", "-e", "trace=network", "-o", "DIR/raw"),
	}
}

// browserFigures compares ways of recording Chromium, in turns.
func browserFigures(b *testing.B, turns int, names ...string) (all []*activitytest.Figure) {
	rides := map[string][]ride{}
	for range turns {
		for _, name := range append([]string{"plain"}, names...) {
			rides[name] = append(rides[name], ways()[name](b))
		}
	}
	column := func(way string, of func(r ride) float64) (all []float64) {
		for i, r := range rides[way] {
			if of != nil {
				all = append(all, of(r))
			} else { // CPU time beyond that of the plain load of the same turn, in percent
				all = append(all, 100*(r.cpu/rides["plain"][i].cpu-1))
			}
		}
		return all
	}
	add := func(name, ours, anchor, unit string, goal float64, of func(r ride) float64) {
		if !slices.Contains(names, ours) {
			return
		}
		f := &activitytest.Figure{Name: name, Anchor: anchor, Unit: unit, Goal: goal, Ours: column(ours, of)}
		if anchor != "" {
			f.Theirs = column(anchor, of)
		}
		all = append(all, f)
	}
	cpu := func(r ride) float64 { return r.cpu }
	bytes := func(r ride) float64 { return r.bytes }
	add("samples, CPU", "samples", "perf", "s", 1.02, cpu)
	add("samples, ms a frame", "samples", "perf", "ms", 1.02, func(r ride) float64 { return 1000 / r.frames })
	add("samples, late frames + 1", "samples", "perf", "", 1.02, func(r ride) float64 { return r.late + 1 })
	add("samples, CPU added", "samples", "", "%", 0, nil)
	add("imports, CPU added", "imports", "", "%", 10, nil)
	add("imports, CPU added", "imports", "all imports", "%", 0, nil)
	add("imports, size", "imports", "", "MB", 10, bytes)
	add("imports, size", "imports", "all imports", "MB", 0, bytes)
	add("sockets, CPU added", "sockets", "", "%", 2, nil)
	add("sockets, CPU added", "sockets", "strace", "%", 0.05, nil)
	return all
}

// BenchmarkProfile prints figures of profiles beside those of other profilers that run in turns.
func BenchmarkProfile(b *testing.B) {
	var all []*activitytest.Figure
	b.Run("functions", func(b *testing.B) {
		for b.Loop() {
			all = append(all, functionFigures(b, 5, 27)...)
		}
	})
	for _, names := range [][]string{{"samples", "perf"}, {"sockets", "strace"}, {"imports", "all imports"}} {
		b.Run(names[0], func(b *testing.B) {
			for b.Loop() {
				all = append(all, browserFigures(b, 5, names...)...)
			}
		})
	}
	if err := activitytest.Print(os.Stdout, all); err != nil {
		b.Fatal(err)
	}
}
