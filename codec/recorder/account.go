package recorder

import (
	"github.com/eideticker/eideticker/capture/frame"
)

// Account says what became of every frame that a source produced, by sequence number.
type Account struct {
	First, Last uint64 // sequence numbers; of no meaning where Total is 0
	Total       uint64 // Last − First + 1
	Stored      uint64
	Flagged     uint64 // of Stored, those that the source delivered as damaged
	Missing     uint64
	Lost        []Loss // Missing by cause, in the order of causes
}

// Loss is how many frames are missing for one reason.
type Loss struct {
	Cause  frame.Cause
	Frames uint64
}

// balanced reports whether stored + missing = last − first + 1, and whether the causes add up.
func (a Account) balanced() bool {
	sum := uint64(0)
	for _, l := range a.Lost {
		sum += l.Frames
	}
	if a.Total > 0 && a.Total != a.Last-a.First+1 {
		return false
	}
	return a.Stored+a.Missing == a.Total && sum == a.Missing && a.Flagged <= a.Stored
}

// causes is how many there can be: a cause is a byte, and files may hold any.
const causes = 256

// ledger counts while frames flow. It is used by the pump alone.
type ledger struct {
	any         bool
	first, next uint64         // next is the sequence number that would follow without a gap
	written     uint64         // handed to the writer
	flagged     uint64         // of these, delivered as damaged
	gaps        [causes]uint64 // told to the writer as gaps
}

// gap counts frames that are missing before the next.
func (l *ledger) gap(g frame.Gap) {
	if !l.any {
		l.any, l.first = true, g.First
	}
	l.gaps[g.Cause] += g.Count
	l.next = g.First + g.Count
}

// frame counts a frame that came.
func (l *ledger) frame(sequence uint64) {
	if !l.any {
		l.any, l.first = true, sequence
	}
	l.next = max(l.next, sequence+1)
}

// wrote counts a frame that is handed to the writer.
func (l *ledger) wrote(flags frame.Flags) {
	l.written++
	if flags&frame.FlagError != 0 {
		l.flagged++
	}
}

// settle closes the books with what the writer says it stored, and how many of these are flagged.
// After a failure, what it did not store any more is missing too.
func (l *ledger) settle(stored, flagged uint64, failed bool) Account {
	flagged = min(flagged, stored) // a failed writer may have kept fewer than it was given
	if !l.any {
		return Account{Stored: stored, Flagged: flagged}
	}
	a := Account{First: l.first, Last: l.next - 1, Total: l.next - l.first, Stored: stored, Flagged: flagged}
	lost := l.gaps
	told := uint64(0)
	for _, n := range l.gaps {
		told += n
	}
	if known := stored + told; failed && a.Total > known {
		lost[frame.Stopped] += a.Total - known
	}
	for cause, n := range lost {
		if n > 0 {
			a.Lost = append(a.Lost, Loss{frame.Cause(cause), n})
			a.Missing += n
		}
	}
	return a
}
