package trace

import (
	"math"

	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// enter begins a call.
func (b *builder) enter(at int64, id uint32) {
	call, parent := int32(len(b.Calls)), int32(-1)
	if n := len(b.stack); n > 0 {
		parent = b.stack[n-1].call
	}
	b.Calls = append(b.Calls, Call{Function: id, Parent: parent, Begin: at, End: at})
	b.state = append(b.state, ended)
	b.next++
	b.push(call, at)
	b.functions[b.frame().function].calls++
	b.task.calls++
	b.armed = true
}

// push puts a call on the stack.
func (b *builder) push(call int32, at int64) {
	if n := len(b.stack); n > 0 {
		b.functions[b.stack[n-1].function].self.child++
	} else {
		b.beginTask(at)
	}
	c := &b.Calls[call]
	if c.spans < math.MaxUint16 {
		c.spans++
	}
	i := b.index(c.Function)
	f := &b.functions[i]
	f.self.own++
	if f.depth++; f.depth == 1 {
		f.since, f.sincePair = at, b.pairs
	}
	b.stack = append(b.stack, frame{since: at, pairs: b.pairs, call: call, function: i})
	b.pairs++
	b.state[call] = stacked
	b.mark(at, uint32(call)<<1|pushed)
}

// pop removes the call on top of the stack. The caller marks the new top.
func (b *builder) pop(at int64) int32 {
	top := b.stack[len(b.stack)-1]
	b.stack = b.stack[:len(b.stack)-1]
	c := &b.Calls[top.call]
	c.End = at
	c.Total += at - top.since
	c.below += uint32(b.pairs - top.pairs - 1)
	f := &b.functions[top.function]
	if f.depth--; f.depth == 0 {
		f.total.time += at - f.since
		f.total.own++
		f.total.child += float64(b.pairs - f.sincePair - 1)
	}
	b.state[top.call] = ended
	return top.call
}

// reach removes the calls above one that an exception ended. A call that was on the stack when
// records were lost is below all others.
func (b *builder) reach(call int32, at int64) {
	switch b.state[call] {
	case stacked:
		b.throw(call, at)
	case unknown:
		b.throw(-1, at)
	}
}

// throw removes the calls above one that is on the stack; -1: all. They ended between the last
// record and now.
func (b *builder) throw(call int32, at int64) {
	kind := ranOn
	b.closing++
	for n := len(b.stack); n > 0 && b.stack[n-1].call != call; n-- {
		b.doubt(b.stack[n-1], kind, b.now, at)
		b.Calls[b.pop(at)].Threw = true
		kind = between
	}
	if n := len(b.stack); n > 0 && kind == between {
		b.doubt(b.stack[n-1], under, b.now, at)
	}
}

// doubt notes that a span may belong to another call. A closing counts once for each function.
func (b *builder) doubt(of frame, kind doubtKind, from, to int64) {
	if from >= to {
		return
	}
	b.doubts = append(b.doubts, doubt{from, to, of.call, kind})
	f := &b.functions[of.function]
	if f.closing == b.closing {
		return
	}
	f.closing = b.closing
	if kind == ranOn {
		f.self.less += to - from
	} else {
		f.self.more += to - from
	}
	if kind != under {
		f.total.less += to - from
	}
}

// idle empties the stack.
func (b *builder) idle(at int64) {
	b.throw(-1, at)
	b.empty, b.armed = idle, false
	b.settle(at)
	b.mark(at, idle)
}

// beginTask begins a task, or continues the last one. The runtime reports idle after each task in
// which a function was entered. Breaks that the clock cannot show are none.
func (b *builder) beginTask(at int64) {
	if b.inTask && (b.armed || at-b.at[b.task.last] <= b.Step) {
		return
	}
	b.endTask()
	b.inTask, b.task = true, span{first: int32(len(b.at))}
}

func (b *builder) endTask() {
	if b.inTask {
		b.tasks = append(b.tasks, b.task)
	}
	b.inTask, b.armed = false, false
}

// gap begins a part of the records that is lost.
func (b *builder) gap(at, records int64, cause record.Cause) {
	b.started = true
	b.lose(at)
	b.known = false
	b.Gaps = append(b.Gaps, Gap{at, at, records, cause})
}

// lose makes the stack unknown. Its calls are open.
func (b *builder) lose(at int64) {
	for len(b.stack) > 0 {
		call := b.pop(at)
		b.Calls[call].Open = true
		b.state[call] = unknown
		b.pending = append(b.pending, len(b.doubts))
		b.doubts = append(b.doubts, doubt{at, at, call, missing})
	}
	b.empty = lost
	b.mark(at, lost)
	b.endTask()
}

// settle ends the doubts about lost records: the stack is empty. Calls that were on it before the
// loss have ended or are suspended.
func (b *builder) settle(at int64) {
	b.closing++
	for _, i := range b.pending {
		d := &b.doubts[i]
		d.to = at
		if b.state[d.call] == unknown {
			b.state[d.call] = suspended
		}
		if f := &b.functions[b.index(b.Calls[d.call].Function)]; f.closing != b.closing {
			f.closing = b.closing
			f.self.more += d.to - d.from
			f.total.more += d.to - d.from
		}
	}
	b.pending = b.pending[:0]
}

// resync continues after a loss, with the number of the next call.
func (b *builder) resync(at int64, next uint64) {
	if next < b.next {
		b.contradictions++
		return
	}
	if b.known {
		b.lose(at)
	}
	for ; b.resumed < len(b.Gaps); b.resumed++ {
		b.Gaps[b.resumed].To = at
	}
	if last := &b.runs[len(b.runs)-1]; last.index == int32(len(b.Calls)) {
		last.number = next
	} else {
		b.runs = append(b.runs, numbers{next, int32(len(b.Calls))})
	}
	b.known, b.next = true, next
}

// finish ends the realm and frees what the results do not need. Windows and frames report their
// end, so records after the last batch of others are lost.
func (b *builder) finish() {
	if len(b.stack) > 0 {
		b.lose(b.now)
	}
	b.endTask()
	if !b.ends && (b.Kind == record.Window || b.Kind == record.Frame) {
		b.mark(b.End, lost)
	}
	b.settle(b.End)
	for ; b.resumed < len(b.Gaps); b.resumed++ {
		b.Gaps[b.resumed].To = b.End
	}
	for i := range b.Calls {
		c := &b.Calls[i]
		c.Open = c.Open || b.state[i] == suspended
		if c.Open {
			b.functions[b.index(c.Function)].open++
		}
	}
	b.stack, b.state, b.runs, b.pending, b.small, b.large = nil, nil, nil, nil, nil, nil
	b.finals = nil
}
