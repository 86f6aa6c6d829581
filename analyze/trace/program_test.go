package trace

import (
	"math/rand/v2"
	"slices"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// program simulates a realm that runs random calls. It has the true times, in ns.
type program struct {
	random       *rand.Rand
	now, step    int64
	costs        [2]int64 // of a record, before and after the reading of the clock
	swallow      bool     // natives catch exceptions
	records      []record.Record
	calls        []truth
	stack        []int
	suspended    []int
	course       []stretch
	onStack      map[uint32]int64 // time with at least one call
	left         int              // calls
	offset, trip int64
	question     uint32
}

// truth is a call as it was.
type truth struct {
	Call
	finished bool
}

// stretch is a span in which one function ran; 0: none.
type stretch struct {
	from, to int64
	function uint32
	cost     bool
}

func newProgram(seed uint64, step int64, costs [2]int64) *program {
	return &program{random: rand.New(rand.NewPCG(seed, 1)), now: 1e6, step: step, costs: costs,
		left: 300, offset: 5e9, trip: 2e6, onStack: map[uint32]int64{}}
}

// read returns the page's clock. It rounds up or down at random, and never goes back.
func (p *program) read() int64 {
	low := p.now / p.step * p.step
	threshold := int64(rand.New(rand.NewPCG(uint64(low), 7)).Uint64() % uint64(p.step))
	if p.now-low > threshold {
		return low + p.step
	}
	return low
}

// work lets time pass in the function on top.
func (p *program) work(d int64) {
	if n := len(p.stack); n > 0 {
		p.calls[p.stack[n-1]].Self += d
		counted := map[uint32]bool{}
		for _, c := range p.stack {
			p.calls[c].Total += d
			if f := p.calls[c].Function; !counted[f] {
				counted[f] = true
				p.onStack[f] += d
			}
		}
	}
	p.add(d, false)
}

// pass lets time pass for a record.
func (p *program) pass(d int64) { p.add(d, true) }

func (p *program) add(d int64, cost bool) {
	s := stretch{p.now, p.now + d, 0, cost}
	if n := len(p.stack); n > 0 {
		s.function = p.calls[p.stack[n-1]].Function
	}
	p.course = append(p.course, s)
	p.now += d
}

func (p *program) emit(code record.Code, id uint32) int64 {
	p.pass(p.costs[0])
	at := p.read()
	p.records = append(p.records, record.Record{Code: code, ID: id, At: float64(at) / 1e6})
	p.pass(p.costs[1])
	return at
}

func (p *program) number(call int) uint32 { return uint32(call) + 1 }

func (p *program) some() int64 { return int64(p.random.ExpFloat64() * 2e5) }

// push runs a call again, with the record after which it is on the stack.
func (p *program) push(call int, code record.Code) {
	p.pass(p.costs[0])
	p.records = append(p.records, record.Record{Code: code, ID: p.number(call), At: float64(p.read()) / 1e6})
	p.stack = append(p.stack, call)
	p.pass(p.costs[1])
}

// pop ends the call on top with a record; 0: by an exception.
func (p *program) pop(code record.Code) {
	call := p.stack[len(p.stack)-1]
	if code == 0 {
		p.calls[call].Threw = true
		p.calls[call].End = p.read()
	} else {
		p.pass(p.costs[0])
		p.calls[call].End = p.read()
		p.records = append(p.records, record.Record{Code: code, ID: p.number(call),
			At: float64(p.calls[call].End) / 1e6})
	}
	p.stack = p.stack[:len(p.stack)-1]
	if code != 0 {
		p.pass(p.costs[1])
	}
	if p.calls[call].finished = code != record.Suspend; !p.calls[call].finished {
		p.suspended = append(p.suspended, call)
	}
}

// call runs a new call and reports whether it throws.
func (p *program) call() bool {
	p.left--
	call, parent := len(p.calls), int32(-1)
	if n := len(p.stack); n > 0 {
		parent = int32(p.stack[n-1])
	}
	function := 1 + uint32(p.random.IntN(6))
	p.pass(p.costs[0])
	at := p.read()
	p.calls = append(p.calls, truth{Call: Call{Function: function, Parent: parent, Begin: at}})
	p.records = append(p.records, record.Record{Code: record.Enter, ID: function, At: float64(at) / 1e6})
	p.stack = append(p.stack, call)
	p.pass(p.costs[1])
	return p.run(call)
}

// run runs the code of the call on top, until it ends or is suspended.
func (p *program) run(call int) (threw bool) {
	p.work(p.some())
	for range p.random.IntN(5) {
		threw := false
		switch p.random.IntN(9) {
		case 0, 1, 2, 3:
			if p.left > 0 && len(p.stack) < 12 {
				threw = p.call()
			}
		case 4:
			if n := len(p.suspended); n > 0 {
				i := p.random.IntN(n)
				other := p.suspended[i]
				p.suspended = slices.Delete(p.suspended, i, i+1)
				p.push(other, record.Resume)
				threw = p.run(other)
			}
		case 5:
			p.emit(record.Reopen, p.number(call))
			p.work(p.some())
			p.emit(record.Reclose, p.number(call))
		case 6:
			threw = p.random.IntN(4) == 0
		}
		if threw && p.handle(call) {
			p.pop(0)
			return true
		}
		p.work(p.some())
	}
	switch p.random.IntN(6) {
	case 0:
		p.pop(record.Suspend)
	case 1: // return in a block with finally, in which the call is suspended
		p.pop(record.Leave)
		p.push(call, record.Reopen)
		p.work(p.some())
		if p.left > 0 && p.call() {
			p.pop(0)
			return true
		}
		p.pop(record.Suspend)
		p.suspended = p.suspended[:len(p.suspended)-1]
		p.push(call, record.Resume)
		p.work(p.some())
		p.pop(record.Reclose)
	default:
		p.pop(record.Leave)
	}
	return false
}

// handle handles an exception in a call and reports whether the call ends by it.
func (p *program) handle(call int) bool {
	if p.swallow && p.random.IntN(3) == 0 {
		p.work(p.some())
		return false
	}
	switch p.random.IntN(4) {
	case 0:
		return true
	case 1: // finally
		p.emit(record.Reopen, p.number(call))
		p.work(p.some())
		p.emit(record.Reclose, p.number(call))
		return true
	default:
		p.emit(record.Caught, p.number(call))
		p.work(p.some())
		return false
	}
}

// ask asks for the time of the rig. The trip takes different times in both directions.
func (p *program) ask() {
	asked := p.read()
	p.work(p.random.Int64N(p.trip))
	rig := p.now + p.offset
	p.work(p.random.Int64N(p.trip))
	for code, at := range map[record.Code]float64{record.Asked: float64(asked) / 1e6,
		record.Answered: float64(p.read()) / 1e6, record.Rig: float64(rig)} {
		p.records = append(p.records, record.Record{Code: code, ID: p.question, At: at})
	}
	slices.SortFunc(p.records[len(p.records)-3:], func(a, b record.Record) int { return int(a.Code) - int(b.Code) })
	p.question++
}

// play runs tasks until no calls are left.
func (p *program) play() *program {
	p.emit(record.Start, 0)
	for range 8 {
		p.ask()
	}
	if pairs := int64(4096); p.costs != [2]int64{} {
		for range 2 {
			begin := p.read()
			p.work(pairs * 2 * (p.costs[0] + p.costs[1]))
			p.records = append(p.records, record.Record{Code: record.Cost, ID: uint32(pairs),
				At: float64(p.read()-begin) / 1e6})
		}
	}
	for p.left > 0 {
		p.call()
		p.emit(record.Idle, 0)
		p.work(4 * p.some())
	}
	p.emit(record.End, 0)
	for i := range p.calls {
		p.calls[i].Open = !p.calls[i].finished
	}
	return p
}

// batches cuts the records into batches that arrive in any order, some twice.
func (p *program) batches() (all []Arrived) {
	for sequence, rest := uint32(0), p.records; len(rest) > 0; sequence++ {
		n := min(len(rest), 1+p.random.IntN(100))
		last := slices.MaxFunc(rest[:n], func(a, b record.Record) int {
			if a.Code == record.Rig || a.At < b.At && b.Code != record.Rig {
				return -1
			}
			return 1
		})
		b := &record.Batch{Kind: record.Window, Realm: 9, Sequence: sequence, Origin: 1e12, Sent: last.At,
			Records: rest[:n]}
		a := Arrived{timeline.Time(p.now + p.offset), b}
		if all = append(all, a); p.random.IntN(5) == 0 {
			all = append(all, a)
		}
		rest = rest[n:]
	}
	p.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// functions sums the true times of each function.
func (p *program) functions() map[uint32]*Call {
	sums := map[uint32]*Call{}
	for _, c := range p.calls {
		if sums[c.Function] == nil {
			sums[c.Function] = &Call{}
		}
		sums[c.Function].Self += c.Self
	}
	return sums
}
