// Package perfscript reads the text of perf script: samples, switches of threads, lost records.
//
// Each record has a line with thread and time. Lines with a tab are functions of its stack, the
// innermost first. The text may have any fields that contain these.
package perfscript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
)

// Options select processes and complete the text.
type Options struct {
	Root   int32            // keep only this process and its descendants; 0: all
	Period int64            // CPU time of a sample in ns; 0: as in the text
	Names  map[int32]string // names of processes
	Named  bool             // keep only the processes in Names and their descendants
	// Place returns the begin of the function around an offset, and the build id; nil: unknown.
	Place func(module string, offset uint64) (begin uint64, buildID string)
}

// Counts are those of a text.
type Counts struct {
	Begin, End int64 // times of the first and the last record; 0 without any
	Samples    int64
	Lost       int64            // records; some may have no time
	Skipped    map[string]int64 // damaged or unusable records by kind
	Truncated  bool             // the last line has no end
	Period     int64            // CPU time of a sample
	Processes  []int32          // that had records
	Assumed    bool             // the text has no period: perf's default rate is assumed
}

const (
	maxLine       = 64 << 10
	maxCache      = 1 << 16
	maxKey        = 1 << 10 // bytes
	maxCPU        = 1 << 16
	assumedPeriod = 1_000_000_000 / 4000 // of perf's default rate
	maxPeriod     = 10_000_000_000
	maxTime       = 1 << 60
)

// Detect reports whether a text begins like that of perf script.
func Detect(begin []byte) bool {
	for line := range bytes.Lines(begin) {
		line = bytes.TrimRight(line, "\r\n")
		if len(bytes.TrimSpace(line)) == 0 || line[0] == '#' {
			continue
		}
		h, ok := parseHeader(line)
		if !ok {
			return false
		}
		_, name, _ := splitEvent(h.rest)
		return bytes.HasPrefix(h.rest, []byte("PERF_RECORD_")) || len(name) > 0
	}
	return false
}

// thread is a thread that runs now.
type thread struct {
	activity.Thread
	number uint32 // in the sink; 0: it had no event yet
	on     activity.Running
}

// record is one whose functions are read.
type record struct {
	kind   activity.Kind // 0: none
	at     int64
	thread *thread
	value  int64
	stack  []uint32 // innermost first
}

type reader struct {
	o         Options
	to        activity.Sink
	counts    Counts
	threads   map[int32]*thread
	kept      map[int32]bool   // processes
	names     map[int32]string // of processes, by their first threads
	functions map[string]uint32
	lines     map[string]uint32 // functions by line
	key       []byte
	event     string // the event that samples time
	last      map[int]int64
	now       record
	all       []*thread
}

// Read reads a text until its end. The error is that of the text's reader or the sink.
func Read(from io.Reader, o Options, to activity.Sink) (Counts, error) {
	r := &reader{o: o, to: to, threads: map[int32]*thread{}, kept: map[int32]bool{}, names: map[int32]string{},
		functions: map[string]uint32{}, lines: map[string]uint32{}, last: map[int]int64{}}
	r.counts.Skipped, r.counts.Period = map[string]int64{}, o.Period
	if o.Root != 0 {
		r.kept[o.Root] = true
	}
	for pid := range o.Names {
		r.kept[pid] = r.kept[pid] || o.Named
	}
	err := r.read(bufio.NewReaderSize(from, maxLine))
	if err == nil {
		err = r.flush()
	}
	for _, t := range r.all { // names may have changed after the last event
		r.number(t)
	}
	if err != nil {
		return r.counts, fmt.Errorf("read perf script: %w", err)
	}
	return r.counts, nil
}

func (r *reader) read(in *bufio.Reader) error {
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			r.skip("long lines")
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			if err == nil {
				continue
			}
		case err == nil || len(line) > 0:
			r.counts.Truncated = err != nil
			if failed := r.line(bytes.TrimRight(line, "\r\n")); failed != nil {
				return failed
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// some reports whether only some processes are kept.
func (r *reader) some() bool { return r.o.Root != 0 || r.o.Named }

func (r *reader) skip(kind string) { r.counts.Skipped[kind]++ }

func (r *reader) line(line []byte) error {
	switch {
	case len(line) == 0:
		return r.flush()
	case line[0] == '#':
		return nil
	case line[0] == '\t':
		r.frame(bytes.TrimLeft(line, "\t "))
		return nil
	}
	h, ok := parseHeader(line)
	if !ok {
		r.skip("unknown lines")
		return nil
	}
	if err := r.flush(); err != nil {
		return err
	}
	if h.at < 0 || h.at > maxTime {
		r.skip("impossible times")
		return nil
	}
	if r.counts.Begin == 0 && h.at > 0 {
		r.counts.Begin = h.at
	}
	r.counts.End = max(r.counts.End, h.at)
	if rest, ok := bytes.CutPrefix(h.rest, []byte("PERF_RECORD_")); ok {
		return r.side(h, string(rest))
	}
	if h.cpu >= 0 {
		r.last[h.cpu] = h.at
	}
	return r.sample(h)
}

// flush passes the last record on.
func (r *reader) flush() error {
	one := &r.now
	if one.kind == 0 {
		return nil
	}
	stack := uint32(0)
	for i := len(one.stack) - 1; i >= 0; i-- {
		stack = r.to.Stack(stack, one.stack[i])
	}
	kind := one.kind
	one.kind, one.stack = 0, one.stack[:0]
	if kind == activity.Sample {
		r.counts.Samples++
	}
	return r.emit(one.thread, kind, one.at, stack, one.value)
}

func (r *reader) emit(t *thread, kind activity.Kind, at int64, ref uint32, value int64) error {
	n := r.number(t)
	if n == 0 {
		return nil
	}
	return r.to.Event(activity.Event{At: at, Thread: n, Kind: kind, Ref: ref, Value: value})
}

// number returns a thread's number. The sink learns the thread's present names.
func (r *reader) number(t *thread) uint32 {
	name := r.o.Names[t.Process]
	if name == "" {
		name = r.names[t.Process]
	}
	if t.number == 0 || t.ProcessName != name {
		if t.number == 0 {
			if len(r.all) == activity.MaxThreads {
				r.skip("threads beyond the limit")
				return 0
			}
			r.all = append(r.all, t)
			if !slices.Contains(r.counts.Processes, t.Process) {
				r.counts.Processes = append(r.counts.Processes, t.Process)
			}
		}
		t.ProcessName = name
		t.number = r.to.Thread(t.Thread)
	}
	return t.number
}

// find returns the thread of a line; nil: it is not kept.
func (r *reader) find(h header) *thread {
	if h.tid <= 0 || r.some() && !r.kept[h.pid] {
		return nil // an idle processor, or a thread that has ended
	}
	t := r.threads[h.tid]
	if t == nil || h.pid != 0 && t.Process != h.pid {
		if t = r.add(h.pid, h.tid, 0, string(h.comm)); t == nil {
			return nil
		}
	}
	if string(h.comm) != t.Name {
		r.rename(t, string(h.comm))
	}
	return t
}

// add adds a thread that started at a time; 0: before the trace.
func (r *reader) add(pid, tid int32, start int64, name string) *thread {
	if len(r.threads) >= activity.MaxThreads {
		r.skip("threads beyond the limit")
		return nil
	}
	t := &thread{Thread: activity.Thread{Process: pid, ID: tid, Start: start}}
	r.threads[tid] = t
	r.rename(t, name)
	return t
}

func (r *reader) rename(t *thread, name string) {
	t.Name = name
	if t.ID == t.Process && len(r.names) < activity.MaxThreads {
		r.names[t.Process] = name
	}
	if t.number != 0 {
		t.number = r.to.Thread(t.Thread)
	}
}

// sample begins a record with a stack.
func (r *reader) sample(h header) error {
	period, name, text := splitEvent(h.rest)
	if len(name) == 0 {
		r.skip("unknown lines")
		return nil
	}
	t := r.find(h)
	if t == nil {
		return nil
	}
	if t.on == activity.OffCPU { // a record of one process may have no switch to this thread
		if err := r.in(t, h.at); err != nil {
			return err
		}
	}
	r.now = record{at: h.at, thread: t, stack: r.now.stack[:0]}
	switch event := string(name); event {
	case "sched:sched_switch":
		return r.switched(h, t, string(text))
	case "sched:sched_wakeup", "sched:sched_waking", "sched:sched_wakeup_new":
		if woken := r.threads[int32(number(string(text), "pid="))]; woken != nil {
			return r.emit(woken, activity.Woken, h.at, r.number(t), 0) // the stack is that of the waker
		}
	default:
		if !r.timed(event) {
			return r.other(t, event)
		}
		if strings.Contains(event, "clock") && period > 0 {
			r.counts.Period = period
		} else if r.counts.Period == 0 {
			r.counts.Period, r.counts.Assumed = assumedPeriod, true
		}
		if r.counts.Period > maxPeriod {
			r.skip("impossible periods")
			return nil
		}
		r.now.kind, r.now.value = activity.Sample, r.counts.Period
		if len(text) > 0 {
			r.frame(text)
		}
	}
	return nil
}

// timed reports whether an event samples the time on a CPU. The text's first such event counts.
func (r *reader) timed(event string) bool {
	for _, unit := range []string{"cycles", "clock"} {
		if strings.Contains(event, unit) && !tracepoint(event) {
			if r.event == "" {
				r.event = unit
			}
			return r.event == unit
		}
	}
	return false
}

// other passes a tracepoint on as an instant.
func (r *reader) other(t *thread, event string) error {
	if !tracepoint(event) {
		r.skip("samples of other events")
		return nil
	}
	f := r.function(event, "tracepoint", 0, func() activity.Function {
		return activity.Function{Name: event, Lang: activity.Category}
	})
	return r.emit(t, activity.Instant, r.now.at, f, 0)
}

// tracepoint reports whether an event is a tracepoint, such as irq:softirq_entry. An event with
// modifiers, such as cycles:u, is another kind.
func tracepoint(event string) bool {
	system, name, ok := strings.Cut(event, ":")
	return ok && system != "" && !strings.Contains(system, "/") && strings.Trim(name, "ukhGHpPSDIWeb") != ""
}

// switched begins the record of a thread that leaves its CPU.
func (r *reader) switched(h header, t *thread, text string) error {
	previous, next, _ := strings.Cut(text, " ==> ")
	if t.on != activity.OffCPU {
		t.on = activity.OffCPU
		r.now.kind, r.now.value = activity.Out, activity.Waits
		if _, state, _ := strings.Cut(previous, " prev_state="); strings.HasPrefix(state, "R") {
			r.now.value = activity.Preempted
		}
	}
	if to := r.threads[int32(number(next, "next_pid="))]; to != nil {
		return r.in(to, h.at)
	}
	return nil
}

func (r *reader) in(t *thread, at int64) error {
	if t.on == activity.OnCPU {
		return nil
	}
	t.on = activity.OnCPU
	return r.emit(t, activity.In, at, 0, 0)
}
