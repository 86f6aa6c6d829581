package sockets

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/netsim/har"
)

const (
	waitsOfThread = 3
	maxWaits      = 100
	minBlocking   = 1_000_000 // ns of a call
	shortPoll     = 100_000   // ns of a poll that did not wait
)

// kind is the reason of a wait.
type kind uint8

const (
	unread       kind = iota // received bytes were not read
	polling                  // a thread polled before it read
	blocking                 // a call blocked
	blockingMain             // a call blocked a main thread; it is listed beside the longest of the thread
)

// wait is a candidate for the list.
type wait struct {
	kind     kind
	call     int // index in Calls
	thread   int32
	from, to int64
	reading  int // call that read the bytes; -1: none
}

// words describes a wait.
func (t *Table) words(w *wait) string {
	c, ms := &t.Calls[w.call], wording.Number(float64(w.to-w.from)/1e6)+" ms"
	switch w.kind {
	case unread:
		what := wording.Plural(c.Bytes(), "byte")
		if c.Name.counts() {
			what = wording.Plural(c.Result, "message")
		}
		return fmt.Sprintf("%s of fd %d waited %s until %v returned", what, c.FD, ms, c.Name)
	case polling:
		return fmt.Sprintf("%v waited %s, then %s", c.Name, ms, t.Text(&t.Calls[w.reading]))
	case blockingMain:
		return t.Text(c) + " blocked the main thread for " + ms
	}
	return t.Text(c) + " blocked for " + ms
}

// Waits lists the longest waits for sockets of the internet, longest first. It has three of each
// kind for each thread: received bytes that were not read, calls that blocked, polls before a read.
// Blocking calls on the first thread of a process are in it for all sockets. Thread returns the
// number of a thread in the results; -1: none. Fall may be nil. Traces of samples
// state which thread was woken next.
func (t *Table) Waits(fall *har.Waterfall, traces []*activity.Trace,
	thread func(activity.Thread) int) []result.SocketWait {
	requests := t.Requests(fall)
	x := t.index()
	of := map[int32][]*Request{} // by socket
	for i := range requests {
		if r := &requests[i]; r.Socket >= 0 && r.to > r.from {
			of[r.Socket] = append(of[r.Socket], r)
		}
	}
	var all []result.SocketWait
	for _, w := range longest(t.candidates(x)) {
		c := &t.Calls[w.call]
		one := result.SocketWait{Thread: thread(t.Threads[w.thread]), Call: c.Name.String(), BeginNS: w.from,
			EndNS: w.to, Text: t.words(&w), WokenThread: -1}
		if one.Thread < 0 {
			one.Text = t.Threads[w.thread].Name + ": " + one.Text
		}
		if w.reading >= 0 {
			read := &t.Calls[w.reading]
			one.Bytes, one.LinkNS = read.Bytes(), x.arrival(w.reading)
			if at, woken := t.woken(w.reading, traces); at > 0 {
				one.WokenNS, one.WokenThread = at, thread(woken)
			}
			for _, r := range of[read.Socket] {
				if r.from < read.Offset && r.to > read.Offset-read.Bytes() { // the last one of these
					if one.Request = r.URL; r.to == read.Offset && r.Link > 0 {
						one.LinkNS = r.Link
					}
				}
			}
		}
		all = append(all, one)
	}
	return all
}

// wokenWithin limits the time from the end of a call to the thread that is woken next.
const wokenWithin = 1_000_000_000 // ns

// woken returns the first thread that a call's thread woke after the call, before it polled again,
// and the time; 0: none, or no trace has it.
func (t *Table) woken(call int, traces []*activity.Trace) (at int64, woken activity.Thread) {
	c := &t.Calls[call]
	by, to := t.Threads[c.Thread], c.End+wokenWithin
	for _, next := range t.Calls[call+1:] {
		if next.Begin >= to || next.Thread == c.Thread && next.Name.Polls() {
			to = min(to, next.Begin)
			break
		}
	}
	for _, trace := range traces {
		if info := trace.Info(); info.Way != activity.WaySamples || !info.Clock.Exact {
			continue
		}
		threads := trace.Threads()
		for e, err := range trace.Events(c.End, to) {
			if err != nil {
				break // the trace has this error elsewhere too
			}
			if e.Kind == activity.Woken && threads[e.Ref].ID == by.ID && threads[e.Ref].Process == by.Process {
				return e.At, threads[e.Thread]
			}
		}
	}
	return 0, woken
}

// ReadWaits returns the waits of a trace's folder, with the threads of a profile. It returns none
// without the raw file, which another machine does not have.
func ReadWaits(dir string, of *result.Profile, traces []*activity.Trace,
	fall *har.Waterfall) ([]result.SocketWait, error) {
	t, err := open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.Waits(fall, traces, func(t activity.Thread) int {
		return slices.IndexFunc(of.Threads, func(known result.ProfileThread) bool {
			return known.Process == int(t.Process) && known.ID == int(t.ID)
		})
	}), nil
}

// candidates returns all waits.
func (t *Table) candidates(x *index) (all []wait) {
	for s := range x.used {
		all = x.unread(all, int32(s))
	}
	polled := make([]int, len(t.Threads)) // last poll of a thread, plus one
	for i := range t.Calls {
		c := &t.Calls[i]
		if c.Name.Polls() {
			// Some programs poll again before they read.
			if again := polled[c.Thread] > 0 && c.End-c.Begin < shortPoll; c.Result <= 0 {
				polled[c.Thread] = 0
			} else if !again {
				polled[c.Thread] = i + 1
			}
			continue
		}
		s := t.socket(c)
		internet := s != nil && s.Internet()
		if p := polled[c.Thread]; p > 0 && c.Name.Receives() && c.Result > 0 {
			polled[c.Thread] = 0
			if internet { // a thread without work waits for other processes
				poll := &t.Calls[p-1]
				all = append(all, wait{kind: polling, call: p - 1, thread: c.Thread, from: poll.Begin, to: poll.End,
					reading: i})
			}
		}
		w := wait{kind: blocking, call: i, thread: c.Thread, from: c.Begin, to: c.End, reading: -1}
		if c.End-c.Begin < minBlocking {
			continue
		}
		if h := &t.Threads[c.Thread]; h.ID == h.Process {
			w.kind = blockingMain
		} else if at := x.arrival(i); !internet || at > 0 && at < c.Begin { // its bytes are listed as unread
			continue
		}
		if c.Name.Receives() {
			w.reading = i
		}
		all = append(all, w)
	}
	return all
}

// unread adds times from the arrival of a call's last byte to the end of the call.
func (x *index) unread(all []wait, socket int32) []wait {
	u := &x.used[socket]
	for _, i := range u.receives {
		c := &x.t.Calls[i]
		arrived := x.arrival(i)
		if arrived == 0 || arrived >= c.Begin { // the call waited for them itself
			continue
		}
		all = append(all, wait{kind: unread, call: i, thread: c.Thread, from: arrived, to: c.End, reading: i})
	}
	return all
}

// longest returns the longest waits of each thread and kind, longest first.
func longest(all []wait) (some []wait) {
	slices.SortStableFunc(all, func(a, b wait) int { return cmp.Compare(b.to-b.from, a.to-a.from) })
	type list struct {
		thread int32
		kind   kind
	}
	of := map[list]int{}
	for _, w := range all {
		l := list{w.thread, w.kind}
		if of[l]++; of[l] > waitsOfThread && w.kind != blockingMain || w.to == w.from {
			continue
		}
		if some = append(some, w); len(some) == maxWaits {
			break
		}
	}
	return some
}
