package perfetto

import (
	"errors"
	"maps"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
)

// losing is the state of lost records of one writer.
type losing struct {
	dropped bool     // records before the next one are lost
	begun   bool     // it had a record
	early   int64    // records before this time may be lost
	last    int64    // time of the last record
	threads []uint32 // of its records
}

// maxThreads bounds the threads of a writer. One with more concerns all threads.
const maxThreads = 64

// by notes the thread of a record.
func (l *losing) by(thread uint32) {
	if len(l.threads) <= maxThreads && !slices.Contains(l.threads, thread) {
		l.threads = append(l.threads, thread)
	}
}

// losses are statements of a trace about its lost records.
type losses struct {
	overwritten, discarded, unwritten uint64
	overrun                           [2]uint64 // of the kernel, at the begin and at the end
	firsts                            bool      // it marks the first packet of each writer
	until                             int64     // time of the last snapshot
	gaps                              int
}

// Causes of gaps.
const (
	causeDropped     = "the writer or the buffer dropped packets"
	causeOverwritten = "the ring buffer overwrote packets"
	causeFull        = "the buffer was full"
	causeKernel      = "the kernel's buffer overflowed"
	causeUnknown     = "the trace states lost packets without their time"
)

// read reads the statistics of a trace. The last ones count.
func (l *losses) read(raw []byte) {
	l.overwritten, l.discarded, l.unwritten = 0, 0, 0
	fields(raw, func(f field) {
		if f.number != statsBuffer {
			return
		}
		fields(f.bytes, func(f field) {
			switch f.number {
			case bufferOverwrites:
				l.overwritten += f.n
			case bufferDiscards:
				l.discarded += f.n
			case bufferLosses:
				l.unwritten += f.n
			}
		})
	})
}

// lose passes on the gap before a writer's record.
func (r *reader) lose(s *sequence, at int64) (err error) {
	l := &s.lost
	switch {
	case l.dropped && !l.begun: // a first packet is always marked
		l.early = at
	case l.dropped:
		err = r.gap(l, l.last, at, causeDropped)
	}
	l.dropped, l.begun, l.last = false, true, max(l.last, at)
	return err
}

// loseRest passes on the gaps that are known at the end.
func (r *reader) loseRest() (err error) {
	of, end := &r.stated, max(r.claims.End, r.stated.until)
	for _, id := range slices.Sorted(maps.Keys(r.sequences)) {
		l := &r.sequences[id].lost
		if l.early > 0 && (of.firsts || of.overwritten > 0) {
			err = errors.Join(err, r.gap(l, r.claims.Begin, l.early, causeOverwritten))
		}
		if l.begun && of.discarded > 0 {
			err = errors.Join(err, r.gap(l, l.last, end, causeFull))
		}
	}
	if of.gaps == 0 && (of.overwritten+of.discarded+of.unwritten > 0 || of.overrun[1] > of.overrun[0]) {
		err = errors.Join(err, r.gap(&losing{}, r.claims.Begin, end, causeUnknown))
	}
	return err
}

// gap passes on a gap on the threads of a writer. Without any, it concerns all threads.
func (r *reader) gap(l *losing, from, until int64, cause string) error {
	threads := l.threads
	if n := len(threads); n == 0 || n > maxThreads {
		threads = []uint32{0}
	}
	if from >= until {
		return nil
	}
	r.stated.gaps++
	for _, t := range threads {
		if err := activity.WriteGap(r.to, t, from, until, cause); err != nil {
			return err
		}
	}
	return nil
}
