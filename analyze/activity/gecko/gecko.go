// Package gecko reads profiles of Firefox. Raw ones are written by the profiler in the browser.
// Others were processed by profiler.firefox.com.
//
// Samples and markers become records. Markers of requests and of inputs become claims too. Markers
// that overlap others of their thread without being inside them become instants.
package gecko

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/jsonstream"
)

const (
	maxTime      = 1 << 60 // ns
	maxStrings   = 4 << 20
	maxProcesses = 1000 // processes in each other count too
)

type reader struct {
	to       activity.Sink
	claims   activity.Claims
	held     int // bytes of tables
	limit    int
	strings  int
	requests map[string]int // indices in claims.Requests, by number and address
}

// Read reads a profile. Damaged records are skipped and counted. The error is that of the sink, or
// of a file without a profile.
func Read(from io.Reader, to activity.Sink) (*activity.Claims, error) { return read(from, to, maxHeld) }

// read reads a profile. Its tables may need some bytes of memory.
func read(from io.Reader, to activity.Sink, limit int) (*activity.Claims, error) {
	r := &reader{to: to, limit: limit, requests: map[string]int{}}
	r.claims.Engine, r.claims.Way, r.claims.Resolution = "gecko", "samples and markers", 1
	s := jsonstream.New(from)
	err := r.process(s, 0)
	if errors.Is(err, io.ErrUnexpectedEOF) && r.claims.Records > 0 {
		r.claims.Truncated, err = true, nil
	}
	if err == nil && r.claims.Records == 0 {
		err = errors.New("it has no threads")
	}
	if err != nil {
		return nil, fmt.Errorf("read Firefox profile: %w", err)
	}
	return &r.claims, nil
}

// process is the profile of one process of a raw profile, or of all processes of another one.
type process struct {
	start, wall int64 // of times 0, in ns; wall of the epoch
	monotonic   bool
	cpuNS       bool // units of a sample's CPU time
	interval    int64
	product     string
	libs        []lib
	shared      tables
	threads     []*thread // that wait for tables
	count       int       // of all
	described   bool      // meta is known
	foreign     bool      // it has another clock
}

// lib is a module in memory.
type lib struct {
	name       string
	start, end int64
	offset     int64
	id         string
}

// tables are those of stacks.
type tables struct {
	stacks, frames, functions, resources table
	texts                                []string
}

// thread has the records of a thread until its tables are known.
type thread struct {
	tables
	info    activity.Thread
	kind    string // of its process
	samples records
	markers records            // waits: those of a time in which the thread may do other work
	network map[int64]*network // by marker
	inputs  map[int64]string
	strips  map[int64]string // names of marks of pictures
}

// process reads a process, and then those in it.
func (r *reader) process(s *jsonstream.Stream, depth int) error {
	p := &process{}
	passed := false
	err := s.Object(func(key string) error {
		switch key {
		case "meta":
			raw, err := s.Raw()
			p.meta(raw)
			p.described = true
			return err
		case "libs":
			p.libs = []lib{}
			return r.elements(s, func(raw []byte) error { p.lib(raw); return nil })
		case "shared":
			return s.Object(func(key string) error { return r.tables(s, &p.shared, key) })
		case "threads":
			return s.Array(func() error {
				t := &thread{network: map[int64]*network{}, inputs: map[int64]string{}, strips: map[int64]string{}}
				if p.count++; p.count > activity.MaxThreads {
					return fmt.Errorf("over %d threads", activity.MaxThreads)
				}
				p.threads = append(p.threads, t)
				err := r.thread(s, t)
				if err == nil && p.described && p.libs != nil && t.texts != nil && t.stacks != nil { // in raw profiles
					err = r.pass(p)
				}
				return err
			})
		case "processes":
			if depth > 2 {
				return s.Skip()
			}
			n := 0
			passed = true
			if err := r.pass(p); err != nil { // its memory is not needed any more
				return err
			}
			p.shared = tables{}
			return s.Array(func() error {
				if n++; n > maxProcesses {
					return fmt.Errorf("over %d processes", maxProcesses)
				}
				return r.process(s, depth+1)
			})
		}
		return s.Skip()
	})
	if passed || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return errors.Join(err, r.pass(p))
}

// meta reads the statements about the process.
func (p *process) meta(raw []byte) {
	start, ok := jsonstream.Decimal(jsonstream.Find(raw, "startTimeAsClockMonotonicNanosecondsSinceBoot"), 0)
	if p.monotonic = ok && start > 0 && start < maxTime; p.monotonic {
		p.start = start
	}
	p.wall, _ = jsonstream.Decimal(jsonstream.Find(raw, "startTime"), 6)
	unit, _ := jsonstream.Text(jsonstream.Find(raw, "sampleUnits", "threadCPUDelta"))
	p.cpuNS = unit == "ns"
	p.interval, _ = jsonstream.Decimal(jsonstream.Find(raw, "interval"), 6)
	product, _ := jsonstream.Text(jsonstream.Find(raw, "product"))
	version, _ := jsonstream.Text(jsonstream.Find(raw, "misc"))
	p.product = product + " " + version
}

func (p *process) lib(raw []byte) {
	at := func(name string) int64 {
		n, _ := jsonstream.Decimal(jsonstream.Find(raw, name), 0)
		return n
	}
	l := lib{start: at("start"), end: at("end"), offset: at("offset")}
	l.name, _ = jsonstream.Text(jsonstream.Find(raw, "name"))
	l.id, _ = jsonstream.Text(jsonstream.Find(raw, "breakpadId"))
	if len(p.libs) < 1<<16 {
		p.libs = append(p.libs, l)
	}
}

// tables reads a table of a thread, or of all threads.
func (r *reader) tables(s *jsonstream.Stream, t *tables, key string) error {
	switch key {
	case "stackTable":
		t.stacks = table{}
		return r.table(s, map[string]int{"prefix": 0, "frame": 0}, t.stacks.put, nil)
	case "frameTable":
		t.frames = table{}
		return r.table(s, map[string]int{"location": 0, "func": 0}, t.frames.put, nil)
	case "funcTable":
		t.functions = table{}
		return r.table(s, map[string]int{"name": 0, "fileName": 0, "lineNumber": 0, "isJS": 0, "resource": 0},
			t.functions.put, nil)
	case "resourceTable":
		t.resources = table{}
		return r.table(s, map[string]int{"name": 0}, t.resources.put, nil)
	case "stringTable", "stringArray":
		if c, err := s.Peek(); err != nil || c != '[' {
			return errors.Join(err, s.Skip())
		}
		return r.elements(s, func(raw []byte) error {
			if r.strings++; r.strings > maxStrings {
				return fmt.Errorf("over %d strings", maxStrings)
			}
			text, _ := jsonstream.Text(raw)
			if len(text) > 4*activity.MaxName {
				text = strings.Clone(text[:4*activity.MaxName]) // so that the rest is freed
			}
			t.texts = append(t.texts, text)
			return r.hold(len(text) + 16)
		})
	}
	return s.Skip()
}

func (r *reader) thread(s *jsonstream.Stream, t *thread) error {
	text := func(to *string) error {
		raw, err := s.Raw()
		*to, _ = jsonstream.Text(raw)
		return err
	}
	integer := func(to *int32) error {
		raw, err := s.Raw()
		*to = jsonstream.Int(raw)
		return err
	}
	return s.Object(func(key string) error {
		switch key {
		case "name":
			return text(&t.info.Name)
		case "processName":
			return text(&t.info.ProcessName)
		case "processType":
			return text(&t.kind)
		case "pid":
			return integer(&t.info.Process)
		case "tid":
			return integer(&t.info.ID)
		case "samples":
			t.samples = records{}
			return r.table(s, map[string]int{"stack": 0, "time": 6, "timeDeltas": 6, "threadCPUDelta": 0},
				t.samples.put, nil)
		case "markers":
			t.markers = records{}
			return r.table(s, map[string]int{"name": 0, "startTime": 6, "endTime": 6, "phase": 0},
				t.markers.put, t.claim)
		}
		return r.tables(s, &t.tables, key)
	})
}
