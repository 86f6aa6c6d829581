package gecko

import (
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
)

// pass passes on all threads of a process.
func (r *reader) pass(p *process) error {
	if len(p.threads) == 0 {
		return nil
	}
	if r.claims.Target == "" {
		r.claims.Target, r.claims.Monotonic = p.product, p.monotonic
		if p.interval > 0 {
			r.claims.RateHz = int(1e9 / p.interval)
		}
		if p.wall > 0 {
			r.claims.Wall, r.claims.WallWithin = p.wall-p.start, 1e9
		}
	}
	if r.claims.Monotonic != p.monotonic {
		if !p.foreign {
			r.claims.Skip("processes with another clock")
		}
		p.foreign, p.threads, r.held = true, nil, 0
		return nil
	}
	threads := p.threads
	p.threads = nil
	for i, t := range threads {
		threads[i] = nil
		if t.info.ProcessName == "" {
			t.info.ProcessName = t.kind
		}
		number := r.to.Thread(t.info)
		if err := r.samples(p, t, number); err != nil {
			return err
		}
		if err := r.markers(p, t, number); err != nil {
			return err
		}
	}
	r.held = 0
	return nil
}

// time returns a time of the trace; false: it is missing or impossible.
func (p *process) time(ns int64) (int64, bool) {
	return p.start + ns, ns != none && ns >= -p.start && ns < maxTime
}

// text returns a string of a thread.
func (t *thread) text(p *process, i int64) (string, bool) {
	texts := t.texts
	if texts == nil {
		texts = p.shared.texts
	}
	if i < 0 || i >= int64(len(texts)) {
		return "", false
	}
	return texts[i], true
}

// pick returns the thread's own table, or else that of all threads.
func pick(own, shared table) table {
	if own != nil {
		return own
	}
	return shared
}

// stacks makes stacks of a thread. Each is made once.
type stacks struct {
	*thread
	r         *reader
	p         *process
	stack     table
	frame     table
	made      []uint32 // plus 1; 0: not yet
	functions map[int64]uint32
}

// samples passes on the samples of a thread. One without CPU time waited.
func (r *reader) samples(p *process, t *thread, number uint32) error {
	if t.samples.rows("stack") == 0 {
		return nil // its part of a large table of stacks is not needed
	}
	s := stacks{thread: t, r: r, p: p, stack: pick(t.stacks, p.shared.stacks), frame: pick(t.frames, p.shared.frames),
		functions: map[int64]uint32{}}
	s.made = make([]uint32, s.stack.rows("frame"))
	at := int64(0) // of processed profiles with differences
	before := int64(none)
	for range t.samples.rows("stack") {
		r.claims.Records++
		ns, d := t.samples.next("time"), t.samples.next("timeDeltas")
		cpu, id := t.samples.next("threadCPUDelta"), t.samples.next("stack")
		if d > -maxTime && d < maxTime && at+d > -maxTime && at+d < maxTime {
			at += d
			ns = at
		}
		when, ok := p.time(ns)
		if !ok {
			r.claims.Skip("impossible times")
			continue
		}
		lasts := p.interval
		if before != none && when > before {
			lasts = min(when-before, 10*p.interval)
		}
		before = when
		if cpu != none && cpu >= 0 && cpu < maxTime {
			if cpu == 0 {
				continue
			}
			if p.cpuNS {
				lasts = cpu
			}
		}
		if id == none { // it has no stack
			continue
		}
		stack, ok := s.get(id)
		if !ok {
			r.claims.Skip("samples with impossible stacks")
			continue
		}
		r.claims.Seen(when)
		err := r.to.Event(activity.Event{At: when, Thread: number, Kind: activity.Sample, Ref: stack,
			Value: max(0, lasts)})
		if err != nil {
			return err
		}
	}
	return nil
}

// get returns a stack. Callers precede it in the table.
func (s *stacks) get(id int64) (uint32, bool) {
	var path []int64
	callers := uint32(0)
	for limit := int64(len(s.made)); id != none; {
		if id < 0 || id >= limit || len(path) > activity.MaxDepth {
			return 0, false
		}
		if made := s.made[id]; made > 0 {
			callers = made - 1
			break
		}
		path = append(path, id)
		limit, id = id, s.stack.get("prefix", id)
	}
	for i := len(path) - 1; i >= 0; i-- {
		f, ok := s.function(s.stack.get("frame", path[i]))
		if !ok {
			return 0, false
		}
		callers = s.r.to.Stack(callers, f)
		s.made[path[i]] = callers + 1
	}
	return callers, true
}

// function returns the function of a frame.
func (s *stacks) function(frame int64) (uint32, bool) {
	if n, ok := s.functions[frame]; ok {
		return n, true
	}
	var f activity.Function
	if location, ok := s.text(s.p, s.frame.get("location", frame)); ok {
		f = s.p.located(location)
	} else if of := s.frame.get("func", frame); of >= 0 {
		t := pick(s.thread.tables.functions, s.p.shared.functions)
		name, ok := s.text(s.p, t.get("name", of))
		if !ok {
			return 0, false
		}
		f = s.p.located(name)
		if file, ok := s.text(s.p, t.get("fileName", of)); ok {
			f.File, f.Line = file, int(max(0, t.get("lineNumber", of)))
			if f.Lang == activity.Script || t.get("isJS", of) == 1 {
				f.Offset = uint64(max(0, t.get("columnNumber", of)))
			}
		}
		if t.get("isJS", of) == 1 {
			f.Lang = activity.Script
		}
		resources := pick(s.thread.resources, s.p.shared.resources)
		if module, ok := s.text(s.p, resources.get("name", t.get("resource", of))); ok && f.Lang != activity.Script {
			f.Module = module
		}
	} else {
		return 0, false
	}
	n := s.r.to.Function(f)
	s.functions[frame] = n
	return n, true
}

// located reads a location: an address, or a name with the place of a script.
func (p *process) located(text string) activity.Function {
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		if at, err := strconv.ParseInt(hex, 16, 64); err == nil {
			for _, l := range p.libs {
				if at >= l.start && at < l.end {
					return activity.Function{Module: l.name, Offset: uint64(at - l.start + l.offset), BuildID: l.id,
						Lang: activity.Native}
				}
			}
			return activity.Function{Module: "(unknown)", Offset: uint64(max(0, at)), Lang: activity.Native}
		}
	}
	name, place, ok := strings.Cut(text, " (")
	if place, closed := strings.CutSuffix(place, ")"); ok && closed {
		file, line, column := place, 0, 0
		for range 2 { // line and column, or the line alone
			i := strings.LastIndexByte(file, ':')
			if n, err := strconv.Atoi(file[i+1:]); i > 0 && err == nil {
				file, line, column = file[:i], n, line
			}
		}
		if file != place {
			return activity.Function{Name: name, File: file, Line: max(0, line), Offset: uint64(max(0, column)),
				Lang: activity.Script}
		}
	}
	if text == "" {
		text = "(no name)"
	}
	return activity.Function{Name: text, Lang: activity.Native}
}
