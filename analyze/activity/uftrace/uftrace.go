// Package uftrace reads the folder that uftrace record writes: each call and return of each thread.
//
// A thread has a file TID.dat with records of 16 bytes in the order of time: the time, and a word
// with the type, the depth of the call and the function's address. task.txt lists processes,
// threads and sessions. A session is a program with its modules, in sid-ID.map. Files *.sym have
// the symbols of modules.
package uftrace

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
)

// Counts are those of a folder.
type Counts struct {
	Begin, End int64 // times of the first and the last record; 0 without any
	Calls      int64
	Lost       int64
	Closed     int64            // calls without a return: their ends are the latest possible ones
	Deep       int64            // calls at the greatest recorded depth, whose callees are not recorded
	Skipped    map[string]int64 // damaged records by kind
}

// The types of records, and the constant bits of each.
const (
	entry = iota
	exit
	lost
	event

	buffers  = 512 << 10 // bytes of all streams, except small ones
	magic    = 5
	maxDepth = 1023
	maxTime  = 1 << 60
	maxLost  = 1 << 60
)

// record is one call or return.
type record struct {
	at   int64
	word uint64
}

func (r record) kind() int    { return int(r.word & 1) }
func (r record) depth() int   { return int(r.word >> 6 & 0x3ff) }
func (r record) addr() uint64 { return r.word >> 16 }

// stream is the file of a thread. Its open calls are by depth; 0: one whose begin is not recorded.
type stream struct {
	in      *bufio.Reader
	ahead   []byte // in its buffer
	file    io.Closer
	tasks   []task // of its thread number, by time
	next    record
	last    int64 // time of the last record
	lost    int64 // records before the next one
	thread  uint32
	process int32
	open    []uint32
	failed  string // kind of the damage at which it ended
	session *session
	until   int64         // of the session or of the thread; 0: to be found
	cache   [256]struct { // functions of the session
		addr   uint64
		number uint32
	}
}

type reader struct {
	dir     fs.FS
	to      activity.Sink
	counts  Counts
	tables  tables
	streams streams
	ends    map[int32]int64 // last record of each process
	ended   []*stream
}

// Read reads a folder. Damaged records are skipped and counted. The error is that of the sink, or
// of a folder without tasks.
func Read(dir fs.FS, to activity.Sink) (Counts, error) {
	r := &reader{dir: dir, to: to, ends: map[int32]int64{}}
	r.counts.Skipped = map[string]int64{}
	err := r.tables.load(dir, func(kind string) { r.counts.Skipped[kind]++ })
	if err == nil {
		err = r.openAll()
	}
	if err == nil {
		err = r.merge()
	}
	for _, s := range r.streams {
		s.file.Close()
	}
	if err != nil {
		return r.counts, fmt.Errorf("read uftrace: %w", err)
	}
	return r.counts, nil
}

// openAll opens the files of threads.
func (r *reader) openAll() error {
	names, err := fs.Glob(r.dir, "*.dat")
	if err != nil {
		return err
	}
	for _, name := range names {
		tid, err := strconv.ParseInt(strings.TrimSuffix(name, ".dat"), 10, 32)
		if err != nil {
			continue // records of the kernel or of perf
		}
		if len(r.streams) == activity.MaxThreads {
			r.counts.Skipped["threads beyond the limit"]++
			continue
		}
		f, err := r.dir.Open(name)
		if err != nil {
			return err
		}
		in := bufio.NewReaderSize(f, max(buffers/len(names), 16<<10))
		s := &stream{in: in, file: f, tasks: r.tables.tasks[int32(tid)]}
		if len(s.tasks) == 0 { // a thread that task.txt does not have
			s.tasks = []task{{Thread: activity.Thread{Process: int32(tid), ID: int32(tid)}}}
		}
		if !s.advance() {
			r.done(s)
			continue
		}
		r.streams = append(r.streams, s)
	}
	if heap.Init(&r.streams); len(r.streams) > 0 {
		r.counts.Begin = r.streams[0].next.at
	}
	return nil
}

// merge reads all files in the order of time.
func (r *reader) merge() error {
	for len(r.streams) > 0 {
		s, next, more := r.streams[0], int64(math.MaxInt64), true
		for _, other := range r.streams[1:min(3, len(r.streams))] {
			next = min(next, other.next.at)
		}
		for more && s.next.at <= next {
			if err := r.record(s); err != nil {
				return err
			}
			more = s.advance()
		}
		if more {
			heap.Fix(&r.streams, 0)
		} else {
			heap.Pop(&r.streams)
			r.done(s)
		}
	}
	for _, s := range r.ended { // a process may exit within a call
		if err := r.close(s, 0, max(r.ends[s.process], s.last)); err != nil {
			return err
		}
	}
	return nil
}

// addLost counts lost records, which a damaged file may state as more than fit.
func (r *reader) addLost(s *stream) { r.counts.Lost = min(r.counts.Lost+s.lost, maxLost) }

func (r *reader) done(s *stream) {
	r.addLost(s)
	r.ends[s.process] = max(r.ends[s.process], s.last)
	r.counts.End = max(r.counts.End, s.last)
	s.file.Close()
	s.in = nil
	if s.failed != "" {
		r.counts.Skipped[s.failed]++
	}
	r.ended = append(r.ended, s)
}

// advance reads the next call or return. It skips other records.
func (s *stream) advance() bool {
	for {
		if len(s.ahead) < 16 {
			if err := s.fill(); len(s.ahead) < 16 {
				if len(s.ahead) > 0 || !errors.Is(err, io.EOF) {
					s.failed = "cut records"
				}
				return false
			}
		}
		raw := s.ahead[:16]
		s.ahead = s.ahead[16:]
		at, word := binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[8:])
		if word&0x3e == magic<<3 && at <= maxTime && int64(at) >= s.last { // a call or return without arguments
			s.next = record{int64(at), word}
			return true
		}
		switch kind := int(word & 3); {
		case word>>3&7 != magic, kind != lost && (at > maxTime || int64(at) < s.last):
			s.failed = "damaged records" // the next one has no certain place
			return false
		case kind == lost:
			s.lost = min(s.lost+int64(word>>16), maxLost)
		case kind == event:
			if more := word>>2&1 == 1; more && !s.skipData() {
				s.failed = "cut records"
				return false
			}
		default: // arguments, whose size is not stated
			s.failed = "records with arguments"
			return false
		}
	}
}

// fill reads on, behind the bytes that were read ahead.
func (s *stream) fill() (err error) {
	_, _ = s.in.Discard(s.in.Buffered() - len(s.ahead)) // they are in the buffer
	s.ahead, err = s.in.Peek(s.in.Size())
	return err
}

// skipData skips the data of an event: its size in two bytes, and bytes up to a multiple of eight.
func (s *stream) skipData() bool {
	if len(s.ahead) < 2 && s.fill() != nil && len(s.ahead) < 2 {
		return false
	}
	n := (int(binary.LittleEndian.Uint16(s.ahead)) + 2 + 7) / 8 * 8
	for n > len(s.ahead) {
		n -= len(s.ahead)
		if s.ahead = nil; s.fill() != nil && len(s.ahead) < n {
			return false
		}
	}
	s.ahead = s.ahead[n:]
	return true
}

// record passes a call or a return on.
func (r *reader) record(s *stream) error {
	n := s.next
	depth, addr := n.depth(), n.addr()
	if n.at >= s.until {
		if err := r.place(s, n.at); err != nil {
			return err
		}
	}
	if s.lost > 0 {
		r.addLost(s)
		if err := r.close(s, 0, n.at); err != nil {
			return err
		}
		if err := r.event(s, activity.Lost, max(s.last, s.tasks[0].Start), uint32(min(s.lost, math.MaxUint32)),
			n.at-max(s.last, s.tasks[0].Start)); err != nil {
			return err
		}
		s.lost = 0
	}
	s.last = n.at
	cached := &s.cache[(addr^addr>>8)>>2%uint64(len(s.cache))]
	if cached.addr != addr {
		cached.addr, cached.number = addr, s.session.function(r.to, addr)
	}
	f := cached.number
	if n.kind() == entry {
		// A call at the depth of an open one: that one was left by longjmp, an exception or exec.
		if len(s.open) > depth {
			if err := r.close(s, depth, n.at); err != nil {
				return err
			}
		}
		for len(s.open) < depth {
			s.open = append(s.open, 0)
		}
		s.open = append(s.open, f)
		r.counts.Calls++
		if depth >= maxDepth {
			r.counts.Deep++
		}
		return r.event(s, activity.Call, n.at, f, 0)
	}
	if len(s.open) > depth+1 {
		if err := r.close(s, depth+1, n.at); err != nil {
			return err
		}
	}
	if depth >= len(s.open) || s.open[depth] == 0 {
		return nil // its call was before the records
	}
	if s.open[depth] != f { // setjmp returned again: longjmp left the calls that followed it
		return r.close(s, depth, n.at)
	}
	s.open = s.open[:depth]
	return r.event(s, activity.Return, n.at, f, 0)
}

// place finds the thread and the session of a stream at a time.
func (r *reader) place(s *stream, at int64) error {
	for s.thread == 0 || len(s.tasks) > 1 && s.tasks[1].Start <= at {
		if s.thread != 0 { // another thread with the same number
			if err := r.close(s, 0, at); err != nil {
				return err
			}
			s.tasks = s.tasks[1:]
			r.ends[s.process] = max(r.ends[s.process], s.last)
		}
		s.thread, s.process = r.to.Thread(s.tasks[0].Thread), s.tasks[0].Process
		if s.thread == 0 {
			return errors.New("too many threads")
		}
	}
	s.session, s.until = r.tables.session(s.process, at)
	clear(s.cache[:])
	s.cache[0].addr = ^uint64(0) // the function at 0 is not known
	if len(s.tasks) > 1 {
		s.until = min(s.until, s.tasks[1].Start)
	}
	return nil
}

// close ends the open calls from a depth on. Their returns are not recorded.
func (r *reader) close(s *stream, depth int, at int64) error {
	for i := len(s.open) - 1; i >= depth; i-- {
		f := s.open[i]
		s.open = s.open[:i]
		if f == 0 {
			continue
		}
		r.counts.Closed++
		if err := r.event(s, activity.Return, at, f, 1); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) event(s *stream, kind activity.Kind, at int64, ref uint32, value int64) error {
	return r.to.Event(activity.Event{At: at, Thread: s.thread, Kind: kind, Ref: ref, Value: value})
}

// streams is a heap by the time of the next record.
type streams []*stream

func (s streams) Len() int           { return len(s) }
func (s streams) Less(i, j int) bool { return s[i].next.at < s[j].next.at }
func (s streams) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *streams) Push(x any)        { *s = append(*s, x.(*stream)) }
func (s *streams) Pop() any {
	all := *s
	last := all[len(all)-1]
	*s = all[:len(all)-1]
	return last
}
