package export_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/export"
	"github.com/eideticker/eideticker/analyze/result"
)

const ms = 1_000_000

// truth are the totals of a trace by name.
type truth struct {
	self, total, calls map[string]int64
	samples            int64
}

// traces writes random calls of one thread and random samples of another one, in frames of 20 ms.
// Their names are hostile.
func traces(t *testing.T, sampled bool) (*activity.Trace, []result.FrameSpan, *truth) {
	t.Helper()
	dir := t.TempDir()
	w, err := activity.NewWriter(dir, activity.Info{Name: "native", Engine: "perf", Way: "samples",
		Clock: activity.Clock{Exact: true}})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	thread := w.Thread(activity.Thread{Process: 7, ID: 8, Name: "main\nfn=evil", ProcessName: "chromium"})
	w.Thread(activity.Thread{Process: 7, ID: 9, Name: "idle"})
	f := make([]uint32, 7)
	for i := 1; i < len(f); i++ {
		f[i] = w.Function(activity.Function{Name: fmt.Sprintf("f%d;x", i), Module: "/usr/lib/lib;c.so", Line: 10 * i,
			File: "/src/a.c", Lang: activity.Native})
	}
	want := &truth{map[string]int64{}, map[string]int64{}, map[string]int64{}, 0}
	name := func(i int) string { return fmt.Sprintf("f%d", i) }
	var stack []int
	account := func(ns int64) {
		if len(stack) == 0 {
			return
		}
		want.self[name(stack[len(stack)-1])] += ns
		once := slices.Clone(stack)
		slices.Sort(once)
		for _, i := range slices.Compact(once) {
			want.total[name(i)] += ns
		}
	}
	put := func(e activity.Event) {
		e.Thread = thread
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	at := int64(0)
	for range 4000 {
		// A function calls itself, or one with a higher number: so it is never between two of its callers.
		if deep := len(stack); deep < 6 && random.IntN(2) == 0 {
			i := 1 + random.IntN(6)
			if deep > 0 {
				i = min(6, stack[deep-1]+random.IntN(2))
			}
			if stack = append(stack, i); !sampled {
				put(activity.Event{At: at, Kind: activity.Call, Ref: f[i]})
				want.calls[name(i)]++
			}
		} else if deep > 0 {
			if !sampled {
				put(activity.Event{At: at, Kind: activity.Return, Ref: f[stack[deep-1]]})
			}
			stack = stack[:deep-1]
		}
		lasts := 1 + random.Int64N(ms)
		if sampled {
			if lasts = ms; len(stack) > 0 {
				id := uint32(0)
				for _, i := range stack {
					id = w.Stack(id, f[i])
				}
				put(activity.Event{At: at, Kind: activity.Sample, Ref: id, Value: ms})
				want.samples++
			}
		}
		account(lasts)
		at += lasts
	}
	for n := len(stack); n > 0 && !sampled; n-- {
		put(activity.Event{At: at, Kind: activity.Return, Ref: f[stack[n-1]]})
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	trace, err := activity.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trace.Close() })
	var frames []result.FrameSpan
	for from := int64(0); from < at; from += 20 * ms {
		frames = append(frames, result.FrameSpan{Frame: len(frames) + 1, FromNS: from, ToNS: min(from+20*ms, at),
			Long: len(frames)%7 == 0})
	}
	return trace, frames, want
}

// short returns the name of a function that an export wrote.
func short(name string) string { return regexp.MustCompile(`f[1-6]`).FindString(name) }

func equal(t *testing.T, what string, got, want map[string]int64) {
	t.Helper()
	if len(want) < 5 || len(got) != len(want) {
		t.Errorf("%s: %d functions, want %d", what, len(got), len(want))
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s of %s is %d, want %d", what, name, got[name], n)
		}
	}
}

// TestCallgrind compares self and total costs and calls with the truth, as callgrind_annotate does.
func TestCallgrind(t *testing.T) {
	for _, sampled := range []bool{false, true} {
		trace, frames, want := traces(t, sampled)
		files, err := (&export.Selection{Trace: trace, Frames: frames}).Callgrind()
		if err != nil || len(files) != 1 {
			t.Fatalf("%d files, error %v", len(files), err)
		}
		var out bytes.Buffer
		if err := files[0].Write(&out); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"pid: 7\n", "part: 1\n", "thread: 8\n", "positions: line\n",
			"creator: eideticker\n",
			"desc: Thread: main fn=evil 8 (chromium 7)\n", "cob=(4) lib:c.so\n"} {
			if !strings.Contains(out.String(), line) {
				t.Errorf("no line %q in\n%.600s", line, out.String())
			}
		}
		self, total, calls := map[string]int64{}, map[string]int64{}, map[string]int64{}
		names := map[string]string{}
		var fn, callee string
		inCall := false
		number := regexp.MustCompile(`^(\d+) (\d+) (\d+)$`)
		for line := range strings.Lines(out.String()) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			if key == "fn" || key == "cfn" {
				id, name, first := strings.Cut(value, " ")
				if first {
					names[id] = short(name)
				}
				if key == "fn" {
					fn = names[id]
				} else {
					callee = names[id]
				}
			}
			if key == "calls" {
				n, _, _ := strings.Cut(value, " ")
				count, _ := strconv.ParseInt(n, 10, 64)
				if inCall = true; count > 0 {
					calls[callee] += count
				}
			} else if cost := number.FindStringSubmatch(strings.TrimSpace(line)); cost != nil {
				cpu, _ := strconv.ParseInt(cost[3], 10, 64)
				if inCall {
					total[callee] += cpu
				} else {
					self[fn] += cpu
				}
				inCall = false
			}
		}
		delete(self, "")
		equal(t, "self", self, want.self)
		equal(t, "total", total, want.total)
		if !sampled {
			equal(t, "calls", calls, want.calls)
		} else if len(calls) > 0 || !strings.Contains(out.String(), "events: Samples CpuNs\n") {
			t.Errorf("calls of samples %v", calls)
		}
		annotated(t, out.Bytes(), want)
	}
}

// annotated compares the totals that callgrind_annotate prints.
func annotated(t *testing.T, file []byte, want *truth) {
	t.Helper()
	program, err := exec.LookPath("callgrind_annotate")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "out.callgrind-01")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "--inclusive=yes", "--threshold=100", "--show=CpuNs", "--sort=CpuNs",
		path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := map[string]int64{}
	for _, row := range regexp.MustCompile(`(?m)^ *([\d,]+) .*(f[1-6]):x`).FindAllSubmatch(out, -1) {
		got[string(row[2])], _ = strconv.ParseInt(strings.ReplaceAll(string(row[1]), ",", ""), 10, 64)
	}
	equal(t, "total by callgrind_annotate", got, want.total)
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// TestRecursionCountsOnce: a stack has each function once, at its outermost place.
func TestRecursionCountsOnce(t *testing.T) {
	for _, tc := range []struct{ in, want []int32 }{
		{[]int32{1}, []int32{1}},
		{[]int32{2, 2, 2, 1}, []int32{1, 2}},
		{[]int32{3, 1, 2, 1}, []int32{1, 2, 3}},
		{[]int32{1, 2, 1, 4}, []int32{4, 1}},
	} {
		if got := export.Outermost(nil, tc.in); !slices.Equal(got, tc.want) {
			t.Errorf("%v becomes %v, want %v", tc.in, got, tc.want)
		}
	}
}

func TestPProf(t *testing.T) {
	trace, frames, want := traces(t, true)
	var out bytes.Buffer
	if err := (&export.Selection{Trace: trace, Frames: frames}).PProf(&out); err != nil {
		t.Fatal(err)
	}
	p, err := pprof.Parse(&out)
	if err != nil || p.CheckValid() != nil {
		t.Fatal(err, p.CheckValid())
	}
	self, samples, late := map[string]int64{}, int64(0), int64(0)
	seen := map[int64]bool{}
	for _, s := range p.Sample {
		self[short(s.Location[0].Line[0].Function.Name)] += s.Value[1]
		samples += s.Value[0]
		frame := s.NumLabel["frame"][0]
		if seen[frame] = true; len(s.Label["late"]) > 0 != (frame%7 == 1) || s.Label["thread"][0] == "" {
			t.Fatalf("labels %v of frame %d", s.Label, frame)
		}
		if len(s.Label["late"]) > 0 {
			late++
		}
	}
	equal(t, "self", self, want.self)
	if samples != want.samples || late == 0 || len(seen) < len(frames)/2 {
		t.Errorf("%d samples, want %d; %d late ones, %d frames", samples, want.samples, late, len(seen))
	}
}

func TestFolded(t *testing.T) {
	trace, frames, want := traces(t, false)
	for _, inverted := range []bool{false, true} {
		var out bytes.Buffer
		if err := (&export.Selection{Trace: trace, Frames: frames, Thread: "8", Inverted: inverted}).Folded(
			&out); err != nil {
			t.Fatal(err)
		}
		self := map[string]int64{}
		for line := range strings.Lines(out.String()) {
			parts := strings.Split(strings.TrimSpace(line), ";")
			last := parts[len(parts)-1]
			ns, _ := strconv.ParseInt(last[strings.LastIndexByte(last, ' ')+1:], 10, 64)
			if inverted {
				last = parts[1]
			}
			self[short(last)] += ns
		}
		equal(t, "self", self, want.self)
	}
}

func TestFlameIsXML(t *testing.T) {
	trace, frames, _ := traces(t, false)
	var out bytes.Buffer
	if err := (&export.Selection{Trace: trace, Frames: frames}).Flame(&out); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(&out); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestChart: the bars of a trace are nested, and those of a function last for its total time.
func TestChart(t *testing.T) {
	for _, sampled := range []bool{false, true} {
		trace, frames, want := traces(t, sampled)
		end := frames[len(frames)-1].ToNS
		tracks, left, err := export.Chart(trace, -ms, end, 100_000)
		if err != nil || left > 0 || len(tracks) != 1 {
			t.Fatalf("%d tracks without %d bars, error %v", len(tracks), left, err)
		}
		total := map[string]int64{}
		var open []export.Bar
		bars := tracks[0].Bars
		if sampled {
			bars = tracks[0].Samples
		}
		for _, b := range bars {
			for len(open) > 0 && open[len(open)-1].To <= b.From {
				open = open[:len(open)-1]
			}
			if n := len(open); n > 0 && open[n-1].To < b.To {
				t.Fatalf("%+v is not within %+v", b, open)
			}
			if !slices.ContainsFunc(open, func(o export.Bar) bool { return o.Name == b.Name }) {
				total[short(b.Name)] += b.To - b.From
			}
			open = append(open, b)
		}
		for name, ns := range total { // bars of samples last over gaps of a period
			if extra := ns - want.total[name]; sampled && extra > 0 && extra < want.total[name]/50 {
				total[name] = want.total[name]
			}
		}
		equal(t, "length of bars", total, want.total)
		tracks, left, err = export.Chart(trace, -ms, end, 100)
		if n := len(tracks[0].Bars) + len(tracks[0].Samples); err != nil || n > 100 || left+n < 500 {
			t.Errorf("%d bars, %d left out, error %v", n, left, err)
		}
	}
}

func TestMissingThreadsAreErrors(t *testing.T) {
	trace, frames, _ := traces(t, true)
	s := &export.Selection{Trace: trace, Frames: frames, Thread: "none"}
	_, err := s.Callgrind()
	for _, err := range []error{err, s.Folded(io.Discard), s.PProf(io.Discard), s.Flame(io.Discard)} {
		if err == nil || !strings.Contains(err.Error(), `no thread "none"`) {
			t.Errorf("error %v", err)
		}
	}
	s.Thread = "9"
	if err := s.Folded(io.Discard); err == nil || !strings.Contains(err.Error(), "no functions") {
		t.Errorf("error %v", err)
	}
	s.Thread = ""
	if err := s.Folded(full{}); err == nil {
		t.Error("a full disk is not an error")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }
