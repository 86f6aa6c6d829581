package trace

import (
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
	if len(b.stack) == 0 {
		b.beginTask(at)
	}
	c := &b.Calls[call]
	c.spans++
	i := b.index(c.Function)
	f := &b.functions[i]
	if f.depth++; f.depth == 1 {
		f.since, f.before = at, b.counts
	}
	b.stack = append(b.stack, frame{since: at, last: at, self: c.Self, before: b.counts, call: call, function: i})
	b.counts.begun++
	b.state[call] = stacked
	b.mark(at, pushed)
}

// touch notes a record of the call on top that changes nothing else.
func (b *builder) touch(at int64) {
	b.counts.begun++
	b.mark(at, extra)
	f := b.frame()
	f.last, f.self = at, b.Calls[f.call].Self
}

// close removes the call on top by a record of its own.
func (b *builder) close(at int64) {
	b.pop(at)
	b.counts.closed++
	b.mark(at, closed)
}

// pop removes the call on top of the stack.
func (b *builder) pop(at int64) {
	top := *b.frame()
	b.stack = b.stack[:len(b.stack)-1]
	c := &b.Calls[top.call]
	c.End = at
	c.Total += at - top.since
	c.begun += uint32(b.counts.begun - top.before.begun - 1)
	c.closed += uint32(b.counts.closed - top.before.closed)
	f := &b.functions[top.function]
	if f.depth--; f.depth == 0 {
		f.total.time += at - f.since
		f.total.own++
		f.total.child += uint32(b.counts.begun - f.before.begun - 1)
		f.total.childClosed += uint32(b.counts.closed - f.before.closed)
	}
	b.state[top.call] = ended
}

// stale reports whether a call may have changed its state when records were lost.
func (b *builder) stale(call int32) bool {
	return b.state[call] == unknown || b.state[call] != stacked && b.Calls[call].End < b.since
}

// below reports whether a call that is not on the known stack may be below it.
func (b *builder) below(call int32) bool { return b.empty == lost && b.stale(call) }

// reach removes the calls above one that an exception ended.
func (b *builder) reach(call int32, at int64) {
	switch {
	case b.state[call] == stacked:
		b.throw(call, at)
	case b.below(call):
		b.throw(-1, at)
	}
}

// throw removes the calls above one that is on the stack; -1: all. They ended after their last
// records. A native may have caught the exception, so a call below may have gone on since then.
func (b *builder) throw(call int32, at int64) {
	n := len(b.stack)
	if n == 0 || b.stack[n-1].call == call {
		return
	}
	b.closing++
	time, from := int64(0), at
	pending := at - b.at[len(b.at)-1] // self time of the top that is not yet counted
	for ; n > 0 && b.stack[n-1].call != call; n-- {
		top := b.stack[n-1]
		c := &b.Calls[top.call]
		b.doubt(top, under, from, at, time)
		own := c.Self + pending - top.self
		b.doubt(top, ranOn, top.last, at, own)
		time, from, pending = time+own, min(from, top.last), 0
		c.Threw = true
		// A caught exception has a record of its own, so the caller's return means a for await.
		if b.pop(at); call < 0 || b.code == record.Leave || b.code == record.Suspend {
			b.state[top.call] = left
		}
	}
	if n > 0 {
		b.doubt(b.stack[n-1], under, from, at, time)
	}
	b.mark(at, 0)
}

// doubt notes that a time may belong to another call. Recursive calls share a time.
func (b *builder) doubt(of frame, kind doubtKind, from, to, time int64) {
	if from >= to {
		return
	}
	b.doubts = append(b.doubts, doubt{from, to, time, of.call, kind})
	f := &b.functions[of.function]
	if f.closing != b.closing {
		f.closing, f.doubted, f.more = b.closing, 0, 0
	}
	if kind == under {
		f.self.more += max(0, time-f.more)
		f.more = max(f.more, time)
		return
	}
	f.self.less += time
	f.total.less += max(0, to-from-f.doubted)
	f.doubted = max(f.doubted, to-from)
}

// idle empties the stack.
func (b *builder) idle(at int64) {
	b.throw(-1, at)
	b.empty, b.armed = idle, false
	b.settle(at)
	b.mark(at, 0)
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
		call := b.frame().call
		b.pop(at)
		b.Calls[call].Open = true
		b.state[call] = unknown
		b.pending = append(b.pending, len(b.doubts))
		b.doubts = append(b.doubts, doubt{from: at, to: at, call: call, kind: missing})
	}
	b.empty = lost
	b.mark(at, 0)
	b.endTask()
}

// settle ends the doubts about lost records: the stack is empty. Calls that were on it before the
// loss have ended or are suspended.
func (b *builder) settle(at int64) {
	b.closing++
	for _, i := range b.pending {
		d := &b.doubts[i]
		d.to, d.time = at, at-d.from
		if b.state[d.call] == unknown {
			b.state[d.call] = suspended
		}
		if f := &b.functions[b.index(b.Calls[d.call].Function)]; f.closing != b.closing {
			f.closing = b.closing
			f.self.more += d.time
			f.total.more += d.time
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
	b.known, b.since, b.next = true, at, next
}

// finish ends the realm and frees what the results do not need. Windows and frames report their
// end, so records after the last batch of others are lost.
func (b *builder) finish() {
	hung := len(b.doubts)
	if len(b.stack) > 0 {
		b.lose(b.now)
	}
	b.endTask()
	if !b.ends && (b.Kind == record.Window || b.Kind == record.Frame) {
		b.empty = lost
		b.mark(b.End, 0)
	}
	b.settle(b.End)
	for i := hung; i < len(b.doubts); i++ {
		b.doubts[i].to, b.doubts[i].time = never, never
	}
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
	b.finals, b.strays = nil, nil
}
