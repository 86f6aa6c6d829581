package perfetto

import (
	"cmp"
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eideticker/eideticker/analyze/activity"
)

// Bits of the state in which a thread leaves its CPU, as the kernel numbers them.
const (
	stateBits  = 0xff // none: it can run
	statesEnds = 0x30
)

// Limits of scheduling.
const (
	maxPending = 1 << 20 // switches of threads whose processes are not known yet
	maxCPUs    = 1 << 12
	maxBatch   = 1 << 18 // events of a batch
)

// scheduling is the state of the kernel's scheduler. A bundle has the events of one CPU.
type scheduling struct {
	tasks   map[int32]*task // by thread
	cpus    map[uint64]*processor
	pending []turn
}

// task is a thread of the kernel.
type task struct {
	process int32 // 0: unknown
	name    string
	named   bool // its name was passed on
}

// processor is a CPU.
type processor struct {
	on    int32 // thread; -1: unknown
	until int64 // time of its last record
}

// turn is an event of a thread, and the other thread that it names.
type turn struct {
	at      int64
	tid, by int32
	kind    activity.Kind
	reason  activity.Reason
}

// tree reads processes and their threads.
func (r *reader) tree(raw []byte) {
	fields(raw, func(of field) {
		n := numbers(of.bytes)
		tid, process := int32(n[treeID]), int32(n[treeGroup])
		name := ""
		fields(of.bytes, func(f field) {
			if name == "" && (f.number == treeName && of.number == treeThread ||
				f.number == treeCommand && of.number == treeProcess) {
				name = text(f.bytes)
			}
		})
		switch t := r.task(tid, ""); {
		case t == nil || of.number != treeThread && of.number != treeProcess:
		case of.number == treeThread:
			if t.process = process; name != "" {
				t.named = true
				r.name("thread_name", process, tid, name)
			}
		default:
			if t.process = tid; name != "" {
				r.name("process_name", tid, 0, program(name))
			}
		}
	})
}

// task returns a thread, or nil beyond the limit. It keeps the first name.
func (r *reader) task(tid int32, name string) *task {
	t := r.sched.tasks[tid]
	if t == nil && tid > 0 && len(r.sched.tasks) < activity.MaxThreads && r.keep(nil, perName) {
		t = &task{}
		r.sched.tasks[tid] = t
	}
	if t != nil && t.name == "" && r.keep(nil, len(name)) {
		t.name = name
	}
	return t
}

// bundle reads the scheduler's events of a CPU.
func (r *reader) bundle(s *sequence, raw []byte) error {
	var cpu uint64
	var events [][]byte
	var batch []byte
	lost, other := false, false
	if !fields(raw, func(f field) {
		switch f.number {
		case bundleCPU:
			cpu = f.n
		case bundleEvent:
			events = append(events, f.bytes)
		case bundleLost:
			lost = f.n != 0
		case bundleBatch:
			batch = f.bytes
		case bundleClock:
			other = f.n != 0
		}
	}) || other || cpu >= maxCPUs {
		r.claims.Skip("malformed or foreign bundles of the kernel")
		return nil
	}
	p := r.sched.cpus[cpu]
	if p == nil {
		p = &processor{on: -1}
		r.sched.cpus[cpu] = p
	}
	if lost || s.lost.dropped {
		p.on = -1
	}
	turns := r.batch(p, batch)
	for _, raw := range events {
		turns = r.kernelEvent(p, turns, raw)
	}
	if len(turns) == 0 {
		return nil
	}
	first := slices.MinFunc(turns, func(a, b turn) int { return cmp.Compare(a.at, b.at) }).at
	var err error
	if lost && p.until > 0 {
		err = r.gap(&losing{}, p.until, first, causeKernel)
	}
	err = errors.Join(err, r.lose(s, first))
	for _, t := range turns {
		r.claims.Seen(t.at)
		p.until, s.lost.last = max(p.until, t.at), max(s.lost.last, t.at)
		err = errors.Join(err, r.turn(t))
	}
	return err
}

// at returns the time of a record of the kernel.
func (r *reader) at(ns uint64) (int64, bool) {
	at, ok := r.time(nil, &packet{time: ns, timed: true, clock: boottime, clocked: true})
	if !ok {
		r.claims.Skip("records of unknown clocks")
	}
	return at, ok
}

// kernelEvent adds the turns of an event with all of its fields.
func (r *reader) kernelEvent(p *processor, turns []turn, raw []byte) []turn {
	var at uint64
	var by int32
	var kind protowire.Number
	var inner []byte
	fields(raw, func(f field) {
		switch f.number {
		case kernelTime:
			at = f.n
		case kernelThread:
			by = int32(f.n)
		case kernelSwitch, kernelWakeup, kernelWaking, kernelWakeupNew:
			kind, inner = f.number, f.bytes
		}
	})
	ns, ok := int64(0), false
	if kind != 0 {
		ns, ok = r.at(at)
	}
	if !ok {
		return turns
	}
	n, names := numbers(inner), map[protowire.Number]string{}
	fields(inner, func(f field) {
		if f.number == switchName || f.number == wakingName {
			names[f.number] = text(f.bytes)
		}
	})
	if kind == kernelSwitch {
		p.on = int32(n[switchPrevious])
		r.task(p.on, names[wakingName])
		return r.switched(p, turns, ns, n[switchState], int32(n[switchNext]), names[switchName])
	}
	r.task(by, "")
	r.task(int32(n[wakingThread]), names[wakingName])
	return append(turns, turn{at: ns, tid: int32(n[wakingThread]), by: by, kind: activity.Woken})
}

// switched adds the turns of the thread that leaves a CPU, if it is known, and of the next one.
func (r *reader) switched(p *processor, turns []turn, at int64, state uint64, next int32, name string) []turn {
	reason := activity.Waits
	if state&stateBits == 0 {
		reason = activity.Preempted
	} else if state&statesEnds != 0 {
		reason = activity.Ended
	}
	if p.on > 0 {
		turns = append(turns, turn{at: at, tid: p.on, kind: activity.Out, reason: reason})
	}
	r.task(next, name)
	p.on = next
	return append(turns, turn{at: at, tid: next, kind: activity.In})
}

// batch returns the turns of a batch, which has a list per field. The times are differences.
func (r *reader) batch(p *processor, raw []byte) (turns []turn) {
	var lists [12][]uint64
	var names []string
	fields(raw, func(f field) {
		if f.number == batchNames {
			names = append(names, text(f.bytes))
		} else if int(f.number) < len(lists) {
			lists[f.number] = varints(lists[f.number], f)
		}
	})
	if len(lists[batchSwitch]) == maxBatch || len(lists[batchWaking]) == maxBatch {
		r.claims.Skip("long records")
	}
	value := func(list protowire.Number, i int) uint64 {
		if i < len(lists[list]) {
			return lists[list][i]
		}
		return 0
	}
	name := func(list protowire.Number, i int) string {
		if k := value(list, i); k < uint64(len(names)) && i < len(lists[list]) {
			return names[k]
		}
		return ""
	}
	wakes, wakesAt := 0, value(batchWaking, 0)
	wake := func(until uint64) { // while one thread is on the CPU
		for ; wakes < len(lists[batchWaking]) && wakesAt < until; wakes++ {
			tid := int32(value(batchWoken, wakes))
			if at, ok := r.at(wakesAt); ok {
				r.task(tid, name(batchWokenName, wakes))
				turns = append(turns, turn{at: at, tid: tid, by: max(p.on, 0), kind: activity.Woken})
			}
			wakesAt += value(batchWaking, wakes+1)
		}
	}
	time := uint64(0)
	for i, since := range lists[batchSwitch] {
		time += since
		wake(time)
		if at, ok := r.at(time); ok {
			turns = r.switched(p, turns, at, value(batchState, i), int32(value(batchNext, i)), name(batchNextName, i))
		}
	}
	wake(1 << 63)
	return turns
}

// varints adds the numbers of a field, which may be packed.
func varints(all []uint64, f field) []uint64 {
	if f.kind == protowire.VarintType && len(all) < maxBatch {
		return append(all, f.n)
	}
	for raw := f.bytes; len(raw) > 0 && len(all) < maxBatch; {
		v, n := protowire.ConsumeVarint(raw)
		if n < 0 {
			break
		}
		all, raw = append(all, v), raw[n:]
	}
	return all
}

// turn passes on a turn, or keeps it until the process of its thread is known.
func (r *reader) turn(t turn) error {
	if t.tid <= 0 {
		return nil // an idle CPU
	}
	for _, tid := range []int32{t.tid, t.by} {
		if of := r.sched.tasks[tid]; of != nil && of.process == 0 {
			if len(r.sched.pending) < maxPending {
				r.sched.pending = append(r.sched.pending, t)
			} else {
				r.claims.Skip("switches of unknown processes")
			}
			return nil
		}
	}
	return r.emit(t)
}

func (r *reader) emit(t turn) error {
	e := activity.Event{At: t.at, Thread: r.number(t.tid), Kind: t.kind, Value: t.reason}
	if t.kind == activity.Woken {
		e.Ref = r.number(t.by)
	}
	if e.Thread == 0 {
		r.claims.Skip("switches of too many threads")
		return nil
	}
	return r.to.Event(e)
}

// number returns the number of a thread of the kernel; 0: it is unknown.
func (r *reader) number(tid int32) uint32 {
	t := r.sched.tasks[tid]
	if t == nil {
		return 0
	}
	if !t.named && t.name != "" {
		t.named = true
		r.name("thread_name", t.process, tid, t.name)
	}
	return r.events.Number(t.process, tid)
}

// schedRest passes on the turns of threads whose process stayed unknown.
func (r *reader) schedRest() (err error) {
	for _, t := range r.sched.pending {
		err = errors.Join(err, r.emit(t))
	}
	r.sched.pending = nil
	return err
}

// kernelStats reads the statistics of the kernel's buffers, at the begin and at the end.
func (l *losses) kernelStats(raw []byte) {
	sum, phase := uint64(0), uint64(0)
	fields(raw, func(f field) {
		if f.number == kernelPhase {
			phase = f.n
		} else if f.number == kernelCPU {
			n := numbers(f.bytes)
			sum += n[cpuOverrun] + n[cpuCommits] + n[cpuDropped]
		}
	})
	if phase == 1 {
		l.overrun[0] = sum
	} else {
		l.overrun[1] = sum
	}
}
