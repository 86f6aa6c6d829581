package activity_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
	"github.com/eideticker/eideticker/analyze/activity/chrome"
	"github.com/eideticker/eideticker/analyze/activity/gecko"
	"github.com/eideticker/eideticker/analyze/activity/perfetto"
	"github.com/eideticker/eideticker/analyze/activity/perfscript"
	"github.com/eideticker/eideticker/analyze/activity/uftrace"
)

// format is a kind of traces: a reader, and a writer of a trace of a size.
type format struct {
	read  func(io.Reader, activity.Sink) error
	write func(w *bufio.Writer, size int) error
}

var formats = map[string]format{
	"JSON":     {func(r io.Reader, to activity.Sink) error { _, err := chrome.Read(r, to); return err }, writeJSON},
	"Perfetto": {func(r io.Reader, to activity.Sink) error { _, err := perfetto.Read(r, to); return err }, writeProto},
	"Gecko":    {func(r io.Reader, to activity.Sink) error { _, err := gecko.Read(r, to); return err }, writeGecko},
	"perf": {func(r io.Reader, to activity.Sink) error {
		_, err := perfscript.Read(r, perfscript.Options{}, to)
		return err
	}, writePerf},
}

// counted is a writer that counts bytes.
type counted struct {
	*bufio.Writer
	n int
}

func (c *counted) printf(text string, args ...any) {
	n, _ := fmt.Fprintf(c.Writer, text, args...) // Flush returns the error
	c.n += n
}

// writeJSON writes tasks of eight threads with inner slices, flows and arguments.
func writeJSON(w *bufio.Writer, size int) error {
	c := &counted{w, 0}
	c.printf(`{"traceEvents":[{"args":{"name":"Main"},"cat":"__metadata","name":"thread_name","ph":"M","pid":1,` +
		`"tid":1}`)
	for i := 0; c.n < size; i++ {
		at, thread := 50_000_000+i*100, i%8+1
		c.printf(",\n"+`{"args":{"src_file":"../../base/task/thread_controller.cc","src_func":"RunTask"},`+
			`"cat":"toplevel","dur":%d,"name":"ThreadControllerImpl::RunTask","ph":"X","pid":1,"tdur":%d,"tid":%d,`+
			`"ts":%d,"tts":%d}`, 80, 79, thread, at, i)
		c.printf(",\n"+`{"args":{"data":{"frame":"E%d","columnNumber":12,"functionName":"onFrame","lineNumber":4,`+
			`"scriptId":"7","url":"http://page.test/app.js"}},"cat":"devtools.timeline","dur":40,`+
			`"name":"FunctionCall","ph":"X","pid":1,"tdur":39,"tid":%d,"ts":%d,"tts":%d}`, i%50, thread, at+5, i)
		c.printf(",\n"+`{"bind_id":"0x%x","cat":"toplevel.flow","flow_in":true,"id":"0x%x","name":"Post","ph":"s",`+
			`"pid":1,"tid":%d,"ts":%d}`, i, i, thread, at+7)
	}
	c.printf("]}")
	return w.Flush()
}

// writeProto writes slices of eight threads as Chromium does: names have numbers and times are
// differences.
func writeProto(w *bufio.Writer, size int) error {
	number := func(to []byte, field protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), v)
	}
	message := func(to []byte, field protowire.Number, parts ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), bytes.Join(parts, nil))
	}
	n := 0
	packet := func(parts ...[]byte) {
		more, _ := w.Write(message(nil, 1, append(parts, number(nil, 10, 1))...))
		n += more
	}
	monotonic := message(nil, 1, number(nil, 1, 3), number(nil, 2, 50_000_000_000))
	own := message(nil, 1, number(nil, 1, 64), number(nil, 2, 50_000_000), number(nil, 3, 1), number(nil, 4, 1000))
	packet(number(nil, 13, 1), message(nil, 6, monotonic, own), message(nil, 59, number(nil, 58, 64)))
	for i := range uint64(8) {
		packet(message(nil, 60, number(nil, 1, i+1), message(nil, 4, number(nil, 1, 1), number(nil, 2, i+1))))
		name := message(nil, 2, []byte("Task"), []byte{'a' + byte(i)})
		packet(message(nil, 12, message(nil, 2, number(nil, 1, i+1), name)))
	}
	for i := uint64(0); n < size; i++ {
		track := number(nil, 11, i%8+1)
		argument := message(nil, 4, number(nil, 1, 3), message(nil, 6, []byte("base/task/thread_controller.cc")))
		named := append(number(number(nil, 3, 1), 10, i/3%8+1), argument...)
		packet(number(nil, 8, 20), number(nil, 13, 2), message(nil, 11, number(nil, 9, 1), track, named))
		packet(number(nil, 8, 5), number(nil, 13, 2), message(nil, 11, number(nil, 9, 3), track, named,
			protowire.AppendFixed64(protowire.AppendTag(nil, 47, protowire.Fixed64Type), i)))
		packet(number(nil, 8, 30), number(nil, 13, 2), message(nil, 11, number(nil, 9, 2), track))
	}
	return w.Flush()
}

// writeGecko writes threads of 32 MB with samples and markers.
func writeGecko(w *bufio.Writer, size int) error {
	c := &counted{w, 0}
	c.printf(`{"libs":[],"meta":{"startTimeAsClockMonotonicNanosecondsSinceBoot":50000000000,"interval":1,` +
		`"sampleUnits":{"threadCPUDelta":"ns"}},"threads":[`)
	for thread := 1; c.n < size; thread++ {
		end := min(size, c.n+32<<20)
		if thread > 1 {
			c.printf(",")
		}
		c.printf(`{"name":"Gecko","pid":1,"tid":%d,"samples":{"schema":{"stack":0,"time":1,"eventDelay":2,`+
			`"threadCPUDelta":3},"data":[[0,1,0,9]`, thread)
		half, i := c.n+(end-c.n)/2, 0
		for ; c.n < half; i++ {
			c.printf(",[%d,%d.%06d,0.5,%d]", i%500, i, i*7919%1e6, 300_000+i%1000)
		}
		c.printf(`]},"markers":{"schema":{"name":0,"startTime":1,"endTime":2,"phase":3,"category":4,"data":5},` +
			`"data":[[0,1,2,1,3]`)
		for i = 2; c.n < end; i++ {
			c.printf(`,[%d,%d.25,%d.75,1,3,{"type":"Text","name":"a marker of this thread %d"}]`, i%100, i, i, i)
		}
		c.printf(`]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]`)
		for i := 1; i < 500; i++ {
			c.printf(",[%d,%d]", i/2, i%100)
		}
		c.printf(`]},"frameTable":{"schema":{"location":0},"data":[[0]`)
		for i := 1; i < 100; i++ {
			c.printf(",[%d]", i)
		}
		c.printf(`]},"stringTable":["f0"`)
		for i := 1; i < 100; i++ {
			c.printf(`,"f%d (http://page.test/app.js:%d)"`, i, i)
		}
		c.printf("]}")
	}
	c.printf("]}")
	return w.Flush()
}

// writePerf writes samples with stacks of 22 functions.
func writePerf(w *bufio.Writer, size int) error {
	c := &counted{w, 0}
	for i := 0; c.n < size; i++ {
		c.printf("CrRendererMain  100/%d [00%d] %d.%09d:    1003009 cycles: \n", 101+i%8, i%2, 50+i/5000,
			i%5000*200_000)
		for k := range 22 {
			c.printf("\t    %x blink::Function%d<int>+0x%x (/usr/lib/chromium/chromium)\n", 0x55550000+k*64, k*(i%9), k)
		}
		c.printf("\n")
	}
	return w.Flush()
}

// discard is a sink that counts.
type discard struct{ threads, functions, stacks, events uint32 }

func (d *discard) Thread(activity.Thread) uint32     { d.threads++; return d.threads }
func (d *discard) Function(activity.Function) uint32 { d.functions++; return d.functions }
func (d *discard) Stack(uint32, uint32) uint32       { d.stacks++; return d.stacks }
func (d *discard) Event(activity.Event) error        { d.events++; return nil }

// indexed reads a trace into an index.
func indexed(t testing.TB, read func(activity.Sink) error) (info activity.Info, size int64) {
	t.Helper()
	dir := t.TempDir()
	w, err := activity.NewWriter(dir, activity.Info{Name: "bench", Clock: activity.Clock{Exact: true}})
	if err == nil {
		err = read(w)
		var failed error
		info, failed = w.Close()
		err = errors.Join(err, failed)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := os.Stat(filepath.Join(dir, activity.IndexFile))
	if err != nil {
		t.Fatal(err)
	}
	return info, s.Size()
}

// TestTracesThroughPipes reads a trace of each format from a pipe. A process of a benchmark reads
// the trace in its input.
func TestTracesThroughPipes(t *testing.T) {
	if name := os.Getenv("EIDETICKER_BENCH_FORMAT"); name != "" {
		info, _ := indexed(t, func(to activity.Sink) error { return formats[name].read(os.Stdin, to) })
		t.Log(info.Events, info.Skipped)
		return
	}
	for name, f := range formats {
		r, w := io.Pipe()
		go func() { w.CloseWithError(f.write(bufio.NewWriter(w), 300_000)) }()
		info, size := indexed(t, func(to activity.Sink) error { return f.read(r, to) })
		if info.Events < 100 || size > 300_000/4 || len(info.Skipped) > 0 {
			t.Errorf("%s: %d events in %d bytes, skipped %v", name, info.Events, size, info.Skipped)
		}
	}
}

// memory returns the greatest memory of a process that reads a trace, in MiB.
func memory(b *testing.B, name string, size int) float64 {
	cmd := exec.Command(os.Args[0], "-test.run=^TestTracesThroughPipes$", "-test.v")
	cmd.Env = append(os.Environ(), "EIDETICKER_BENCH_FORMAT="+name)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	err = formats[name].write(bufio.NewWriterSize(in, 1<<20), size)
	if err = errors.Join(err, in.Close(), cmd.Wait()); err != nil {
		b.Fatalf("%v: %s", err, out.String())
	}
	return float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
}

// seconds returns the CPU time of a function, with that of child processes. Other programs on the
// machine hardly change it.
func seconds(b *testing.B, f func() error) float64 {
	b.Helper()
	used := func() (ns int64) {
		for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
			var u unix.Rusage
			_ = unix.Getrusage(who, &u) // it has no other error than a wrong argument
			ns += u.Utime.Nano() + u.Stime.Nano()
		}
		return ns
	}
	begin := used()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return float64(used()-begin) / 1e9
}

// command runs a program with a file as its input, and returns its output.
func command(b *testing.B, input, name string, args ...string) string {
	b.Helper()
	cmd := exec.Command(name, args...)
	if input != "" {
		f, err := os.Open(input)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		cmd.Stdin = f
	}
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s %q: %v", name, args, err)
	}
	return string(out)
}

// traceChromium records a page in Chromium, and returns the file: json or proto.
func traceChromium(b *testing.B, kind string) string {
	const page = `data:text/html,<!doctype html><canvas id=c></canvas><script>` +
		`let c=document.getElementById("c").getContext("2d"),n=0;` +
		`function f(){n++;for(let i=0;i<200;i++){c.fillStyle="rgb("+i+","+n%25255+",9)";c.fillRect(i,n%25150,9,9)};` +
		`document.title=n;let p=document.createElement("p");p.textContent=n;document.body.append(p);` +
		`if(n>60)document.body.children[2].remove();requestAnimationFrame(f)};f()</script>`
	dir := b.TempDir()
	file := filepath.Join(dir, "trace")
	cmd := exec.Command("chromium", "--headless=new", "--no-sandbox", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--trace-startup=devtools.timeline,v8,toplevel,cc,blink,disabled-by-default-v8.cpu_profiler",
		"--trace-startup-format="+kind, "--trace-startup-duration=6", "--trace-startup-file="+file, page)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	for last := int64(-1); ; time.Sleep(2 * time.Second) { // the file is complete where it no longer grows
		s, err := os.Stat(file)
		if err == nil && s.Size() == last && last > 0 {
			break
		} else if err == nil {
			last = s.Size()
		}
	}
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	_ = cmd.Wait() // it was killed
	return file
}

// BenchmarkAttach prints figures of readers and of the index, beside other programs that run in
// turns. It asserts none of them.
func BenchmarkAttach(b *testing.B) {
	var all []*activitytest.Figure
	run := func(name string, figures func(b *testing.B) []*activitytest.Figure) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				all = append(all, figures(b)...)
			}
		})
	}
	run("reading", func(b *testing.B) []*activitytest.Figure { return readingFigures(b, 5) })
	run("window", func(b *testing.B) []*activitytest.Figure { return []*activitytest.Figure{windowFigure(b)} })
	for _, name := range []string{"JSON", "Perfetto", "Gecko", "perf"} {
		run("memory-"+name, func(b *testing.B) []*activitytest.Figure {
			f := &activitytest.Figure{Name: "memory for 2 GB of " + name, Unit: "MiB", Goal: 256}
			f.Ours = []float64{memory(b, name, 2<<30)}
			return []*activitytest.Figure{f}
		})
	}
	if err := activitytest.Print(os.Stdout, all); err != nil {
		b.Fatal(err)
	}
}

// readingFigures compares speeds of reading and sizes.
func readingFigures(b *testing.B, turns int) (all []*activitytest.Figure) {
	const python = "import json,sys,time; t=time.process_time(); json.load(open(sys.argv[1])); " +
		"print(time.process_time()-t)"
	type side struct {
		name, anchor string
		goal, size   float64 // of the ratio of speeds; of the index
		file         string
		read         func(activity.Sink) error
		theirs       func() float64
	}
	whole := func(name, file string) func(activity.Sink) error {
		return func(to activity.Sink) error {
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			defer f.Close()
			return formats[name].read(f, to)
		}
	}
	text, proto := traceChromium(b, "json"), traceChromium(b, "proto")
	calls, samples := recordCalls(b), recordSamples(b)
	for _, s := range []side{
		{"JSON", "Python json", 2, 0, text, whole("JSON", text), func() float64 {
			n, _ := strconv.ParseFloat(strings.TrimSpace(command(b, "", "python3", "-c", python, text)), 64)
			return n
		}},
		{"Perfetto", "protoc --decode_raw", 5, 0.5, proto, whole("Perfetto", proto), func() float64 {
			return seconds(b, func() error { command(b, proto, "protoc", "--decode_raw"); return nil })
		}},
		{"uftrace", "uftrace report", 10, 0.3, calls, func(to activity.Sink) error {
			_, err := uftrace.Read(os.DirFS(calls), to)
			return err
		}, func() float64 {
			return seconds(b, func() error {
				command(b, "", "uftrace", "report", "--no-pager", "-d", calls)
				return nil
			})
		}},
		{"perf", "", 0, 0.5, samples, whole("perf", samples+".txt"), nil},
	} {
		mega := float64(bytesOf(b, s.file)) / 1e6
		reads := &activitytest.Figure{Name: "reading " + s.name, Anchor: s.anchor, Unit: "MB/s", Goal: s.goal,
			Least: true}
		writes := &activitytest.Figure{Name: s.name + " to index.etr", Anchor: s.anchor, Unit: "MB/s", Least: true}
		index := &activitytest.Figure{Name: "index.etr of " + s.name, Anchor: "raw", Unit: "MB", Goal: s.size,
			Theirs: []float64{mega}}
		for range turns {
			reads.Ours = append(reads.Ours, mega/seconds(b, func() error { return s.read(&discard{}) }))
			if s.theirs != nil {
				reads.Theirs = append(reads.Theirs, mega/s.theirs())
			}
			size := int64(0)
			writes.Ours = append(writes.Ours, mega/seconds(b, func() error {
				_, size = indexed(b, s.read)
				return nil
			}))
			index.Ours = []float64{float64(size) / 1e6}
		}
		writes.Theirs = reads.Theirs
		all = append(all, reads, writes, index)
	}
	return all
}

// bytesOf returns the size of a file, or of the files in a folder.
func bytesOf(b *testing.B, path string) (sum int64) {
	err := filepath.WalkDir(path, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		sum += info.Size()
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return sum
}

// build compiles a program with recursive calls in two threads.
func build(b *testing.B, flags ...string) string {
	source, path := filepath.Join(b.TempDir(), "p.c"), filepath.Join(b.TempDir(), "program")
	const text = `#include <pthread.h>
		__attribute__((noinline)) int leaf(int n) { return n + 1; }
		__attribute__((noinline)) int fib(int n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2) + leaf(n); }
		void *thread(void *n) { return (void *)(long)(fib(29) + (long)n); }
		int main(void) { pthread_t t; pthread_create(&t, 0, thread, 0); fib(29); pthread_join(t, 0); return 0; }`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	command(b, "", "gcc", append(flags, "-O1", "-fno-omit-frame-pointer", "-o", path, source, "-lpthread")...)
	return path
}

func recordCalls(b *testing.B) string {
	dir := filepath.Join(b.TempDir(), "data")
	command(b, "", "uftrace", "record", "--no-event", "-d", dir, build(b, "-pg"))
	return dir
}

// recordSamples returns a file of perf, beside which is its text.
func recordSamples(b *testing.B) string {
	file := filepath.Join(b.TempDir(), "perf.data")
	command(b, "", "perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-F", "9997", "-g", "--sample-cpu", "-o", file,
		"--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do "+build(b)+"; done")
	out := command(b, "", "perf", "script", "--ns", "--no-inline", "-F",
		"comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso", "-i", file)
	if err := os.WriteFile(file+".txt", []byte(out), 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}

// windowFigure reads windows of 16 ms from an hour that is not in memory.
func windowFigure(b *testing.B) *activitytest.Figure {
	dir, random := b.TempDir(), rand.New(rand.NewPCG(1, 1))
	w, err := activity.NewWriter(dir, activity.Info{Name: "bench", Clock: activity.Clock{Exact: true}})
	if err != nil {
		b.Fatal(err)
	}
	stacks := make([]uint32, 20_000)
	for i := range stacks {
		for range 22 {
			f := w.Function(activity.Function{Name: fmt.Sprint("f", random.IntN(1000))})
			stacks[i] = w.Stack(stacks[i], f)
		}
	}
	for i := range 30 {
		w.Thread(activity.Thread{ID: int32(i + 1)})
	}
	hour := int64(time.Hour)
	for at := int64(0); at < hour; at += 500_000 {
		e := activity.Event{At: at, Thread: 1 + random.Uint32N(30), Kind: activity.In}
		_ = w.Event(e) // Close returns the error
		e.Kind, e.At, e.Ref, e.Value = activity.Sample, at+100_000, stacks[random.IntN(len(stacks))], 1_003_009
		_ = w.Event(e)
		e.Kind, e.At, e.Value = activity.Out, at+200_000, activity.Waits
		_ = w.Event(e)
	}
	if _, err := w.Close(); err != nil {
		b.Fatal(err)
	}
	f := &activitytest.Figure{Name: "16 ms of an hour, cold", Unit: "ms", Goal: 100}
	for range 50 {
		index, err := os.Open(filepath.Join(dir, activity.IndexFile))
		if err == nil {
			err = errors.Join(index.Sync(), unix.Fadvise(int(index.Fd()), 0, 0, unix.FADV_DONTNEED), index.Close())
		}
		if err != nil {
			b.Fatal(err)
		}
		from := random.Int64N(hour)
		begin := time.Now()
		trace, err := activity.Open(dir)
		if err == nil {
			err = errors.Join(trace.Walk(from, from+16_000_000, activity.Visitor{}), trace.Close())
		}
		if err != nil {
			b.Fatal(err)
		}
		f.Ours = append(f.Ours, float64(time.Since(begin).Microseconds())/1000)
	}
	return f
}

// TestReadersAllocateLittle bounds the allocations, and the bytes of them, for each event of a
// trace.
func TestReadersAllocateLittle(t *testing.T) {
	for name, most := range map[string]struct{ count, bytes float64 }{
		"JSON": {1, 60}, "Perfetto": {1.6, 60}, "Gecko": {0.5, 100}, "perf": {2, 120},
	} {
		var raw bytes.Buffer
		if err := formats[name].write(bufio.NewWriter(&raw), 4<<20); err != nil {
			t.Fatal(err)
		}
		var d discard
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := formats[name].read(bytes.NewReader(raw.Bytes()), &d); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		count := float64(after.Mallocs-before.Mallocs) / float64(d.events)
		size := float64(after.TotalAlloc-before.TotalAlloc) / float64(d.events)
		t.Logf("%s: %d events, %.2f allocations and %.0f bytes for each", name, d.events, count, size)
		if count > most.count || size > most.bytes {
			t.Errorf("%s: %.2f allocations and %.0f bytes an event, want at most %v", name, count, size, most)
		}
	}
}
