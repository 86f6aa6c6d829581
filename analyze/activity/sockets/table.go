package sockets

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Table is the content of a raw file. Times are in ns on CLOCK_MONOTONIC.
type Table struct {
	Begin, End int64
	Threads    []activity.Thread
	Sockets    []Socket
	Calls      []Call // by begin
	Arrivals   []Arrival
	Gaps       []Gap
	// Skipped counts records that were damaged or over a limit, by kind.
	Skipped map[string]int64
}

// Socket is a socket of a process. Its addresses are the last known ones.
type Socket struct {
	Inode         uint64
	Family        uint16 // of Linux
	Type          uint16
	Local, Remote netip.AddrPort // not valid: unknown
}

// Families and a type of sockets in Linux.
const (
	ipv4     = 2
	ipv6     = 10
	stream   = 1
	datagram = 2
)

// Internet reports whether the socket is one of IPv4 or IPv6.
func (s *Socket) Internet() bool { return s.Family == ipv4 || s.Family == ipv6 }

// Call is a system call.
type Call struct {
	Thread     int32 // index in Threads
	Socket     int32 // index in Sockets; -1: none
	Name       Name
	Flags      Flags
	FD         int32 // -1: none
	Begin, End int64
	Result     int64 // of Linux: a count, or below 0 an errno
	// Offset counts the bytes of the stream that were read until the end of the call. -1: unknown.
	Offset int64
}

// Flags of a call.
type Flags uint8

// The flags.
const (
	Peek       Flags = 1 << iota // the bytes stay in the socket
	Unfinished                   // the recording ended before the call
	Streamed                     // in a record: it has sequence numbers
)

// Arrival states that a socket had the first Offset bytes of a stream at a time. Offset is -1 for a
// datagram.
type Arrival struct {
	At     int64
	Socket int32
	Offset int64
}

// Gap is a time with lost records.
type Gap struct {
	Begin, End int64
	Lost       int64
}

// Name is a system call.
type Name uint8

// The system calls. Numbers are those of raw files.
const (
	Connect Name = iota + 1
	Accept
	Accept4
	Sendto
	Sendmsg
	Sendmmsg
	Recvfrom
	Recvmsg
	Recvmmsg
	Read
	Readv
	Write
	Writev
	Poll
	Ppoll
	Select
	Pselect6
	EpollWait
	EpollPwait
	EpollPwait2
	Close
	numNames
)

func (n Name) String() string {
	names := [numNames]string{"", "connect", "accept", "accept4", "sendto", "sendmsg", "sendmmsg", "recvfrom",
		"recvmsg", "recvmmsg", "read", "readv", "write", "writev", "poll", "ppoll", "select", "pselect6",
		"epoll_wait", "epoll_pwait", "epoll_pwait2", "close"}
	if n >= numNames {
		return ""
	}
	return names[n]
}

// Receives reports whether a call reads from a socket.
func (n Name) Receives() bool { return n >= Recvfrom && n <= Readv }

// Sends reports whether a call writes to a socket.
func (n Name) Sends() bool { return n >= Sendto && n <= Sendmmsg || n == Write || n == Writev }

// Polls reports whether a call waits for any of several descriptors.
func (n Name) Polls() bool { return n >= Poll && n <= EpollPwait2 }

// counts reports whether the result of a call is a number of messages.
func (n Name) counts() bool { return n == Sendmmsg || n == Recvmmsg }

// Bytes returns the bytes that a call moved. It is 0 if they are unknown.
func (c *Call) Bytes() int64 {
	if c.Flags&Unfinished != 0 || c.Name.counts() || !c.Name.Receives() && !c.Name.Sends() {
		return 0
	}
	return max(0, c.Result)
}

// Messages returns the datagrams that a call moved over a datagram socket.
func (c *Call) Messages() int64 {
	switch {
	case c.Flags&(Unfinished|Peek) != 0 || c.Result < 0:
		return 0
	case c.Name.counts():
		return c.Result
	case c.Name.Receives() || c.Name.Sends():
		return 1
	}
	return 0
}

// Text describes a call, such as "recvfrom 1,448 bytes of fd 23".
func (t *Table) Text(c *Call) string {
	return t.text(c, true)
}

func (t *Table) text(c *Call, amount bool) string {
	var b strings.Builder
	b.WriteString(c.Name.String())
	done := c.Result >= 0 && c.Flags&Unfinished == 0 && amount
	switch {
	case done && c.Name.counts():
		b.WriteString(" " + wording.Plural(c.Result, "message"))
	case done && (c.Name.Receives() || c.Name.Sends()):
		b.WriteString(" " + wording.Plural(c.Result, "byte"))
	case done && c.Name.Polls():
		fmt.Fprintf(&b, " %d ready", c.Result)
	}
	if c.Flags&Peek != 0 {
		b.WriteString(" (peek)")
	}
	switch {
	case c.FD < 0:
	case c.Name.Sends():
		fmt.Fprintf(&b, " to fd %d", c.FD)
	case c.Name.Receives():
		fmt.Fprintf(&b, " of fd %d", c.FD)
	default:
		fmt.Fprintf(&b, " fd %d", c.FD)
	}
	if s := t.socket(c); s != nil && c.Name == Connect && s.Remote.IsValid() {
		fmt.Fprintf(&b, " to %v", s.Remote)
	}
	switch {
	case c.Flags&Unfinished != 0:
		b.WriteString(": still open")
	case c.Result < 0:
		b.WriteString(": " + errno(-c.Result))
	}
	return b.String()
}

func (t *Table) socket(c *Call) *Socket {
	if c.Socket < 0 {
		return nil
	}
	return &t.Sockets[c.Socket]
}

// errno returns the name of an error of Linux, on every system.
func errno(n int64) string {
	known := map[int64]string{2: "ENOENT", 4: "EINTR", 9: "EBADF",
		11: "EAGAIN", 14: "EFAULT", 22: "EINVAL", 24: "EMFILE", 32: "EPIPE",
		88: "ENOTSOCK", 89: "EDESTADDRREQ", 90: "EMSGSIZE", 97: "EAFNOSUPPORT", 98: "EADDRINUSE", 99: "EADDRNOTAVAIL",
		100: "ENETDOWN", 101: "ENETUNREACH", 103: "ECONNABORTED", 104: "ECONNRESET", 105: "ENOBUFS", 106: "EISCONN",
		107: "ENOTCONN", 110: "ETIMEDOUT", 111: "ECONNREFUSED", 113: "EHOSTUNREACH", 114: "EALREADY",
		115: "EINPROGRESS", 512: "interrupted", 513: "interrupted", 514: "interrupted", 516: "interrupted"}
	if name := known[n]; name != "" {
		return name
	}
	return fmt.Sprintf("error %d", n)
}

// maxTexts bounds the different texts of slices. Further ones have no amount.
const maxTexts = 20_000

// Events writes calls as slices and gaps to a sink, in the order of their begins.
func (t *Table) Events(sink activity.Sink) error {
	threads := make([]uint32, len(t.Threads))
	for i, h := range t.Threads {
		threads[i] = sink.Thread(h)
	}
	texts, gaps := map[string]uint32{}, t.Gaps
	lost := func(until int64) (err error) {
		for ; err == nil && len(gaps) > 0 && gaps[0].Begin <= until; gaps = gaps[1:] {
			g := gaps[0]
			err = sink.Event(activity.Event{At: g.Begin, Kind: activity.Lost, Ref: uint32(min(g.Lost, 1<<32-1)),
				Value: g.End - g.Begin})
		}
		return err
	}
	for i := range t.Calls {
		c := &t.Calls[i]
		text := t.text(c, len(texts) < maxTexts)
		f, ok := texts[text]
		if !ok {
			f = sink.Function(activity.Function{Name: text, Module: "sockets", Lang: activity.Kernel})
			texts[text] = f
		}
		if err := lost(c.Begin); err != nil {
			return err
		}
		if err := sink.Event(activity.Event{At: c.Begin, Thread: threads[c.Thread], Kind: activity.Slice, Ref: f,
			Value: c.End - c.Begin}); err != nil {
			return err
		}
	}
	return lost(maxTime)
}

// Keep drops calls, arrivals and gaps outside a time. Of calls at its ends all is kept.
func (t *Table) Keep(begin, end int64) {
	t.Begin, t.End = max(t.Begin, begin), min(t.End, end)
	t.Calls = slices.DeleteFunc(t.Calls, func(c Call) bool { return c.End < begin || c.Begin > end })
	t.Arrivals = slices.DeleteFunc(t.Arrivals, func(a Arrival) bool { return a.At < begin || a.At > end })
	t.Gaps = slices.DeleteFunc(t.Gaps, func(g Gap) bool { return g.End < begin || g.Begin > end })
}

// Lost returns the number of lost records.
func (t *Table) Lost() (n int64) {
	for _, g := range t.Gaps {
		n += g.Lost
	}
	return n
}

// order sorts calls, arrivals and gaps by time, and drops calls of a thread that overlap.
func (t *Table) order() {
	slices.SortStableFunc(t.Calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End))
	})
	slices.SortStableFunc(t.Arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(t.Gaps, func(a, b Gap) int { return cmp.Compare(a.Begin, b.Begin) })
	ends := make([]int64, len(t.Threads))
	t.Calls = slices.DeleteFunc(t.Calls, func(c Call) bool {
		if c.Begin < ends[c.Thread] {
			t.Skipped["overlapping calls"]++
			return true
		}
		ends[c.Thread] = c.End
		return false
	})
}
