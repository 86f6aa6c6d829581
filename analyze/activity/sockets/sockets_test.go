package sockets

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/serve"
)

var (
	device  = netip.MustParseAddrPort("198.18.0.2:40000")
	remote  = netip.MustParseAddrPort("198.18.0.9:80")
	first   = activity.Thread{Process: 7, ID: 7, Name: "browser", ProcessName: "browser", Start: 5}
	network = activity.Thread{Process: 7, ID: 8, Name: "Network", ProcessName: "browser", Start: 6}
)

const (
	ms     = 1_000_000
	origin = 1<<32 - 1000 // sequence numbers wrap after 1000 bytes
)

// TestRecordsHaveTheirLayout compares records with those of reflection.
func TestRecordsHaveTheirLayout(t *testing.T) {
	random, raw := rand.New(rand.NewPCG(1, 1)), make([]byte, recordSize)
	for range 20 {
		for i := range raw {
			raw[i] = byte(random.Uint32())
		}
		raw[3] = 0 // unused
		var r Record
		if _, err := binary.Decode(raw, binary.LittleEndian, &r); err != nil {
			t.Fatal(err)
		}
		if got := r.append(nil); !bytes.Equal(got, raw) {
			t.Fatalf("% x, want % x", got, raw)
		}
	}
}

// call is a call of a thread without a socket.
func call(h activity.Thread, name Name, begin, end, result int64) *Record {
	r := &Record{Kind: IsCall, Name: name, FD: -1, Begin: begin, End: end, Result: result, Process: h.Process, ID: h.ID,
		Start: h.Start}
	copy(r.Thread[:], h.Name)
	copy(r.Leader[:], h.ProcessName)
	return r
}

// over is the record with a connection of the device.
func over(r *Record) *Record {
	r.FD, r.Inode, r.Family, r.Type = 23, 100, ipv4, stream
	r.Local, r.Remote = AddressOf(device), AddressOf(remote)
	return r
}

// read is a call that returned bytes up to an offset in the stream.
func read(h activity.Thread, begin, end, bytes, offset int64) *Record {
	r := over(call(h, Recvfrom, begin, end, bytes))
	r.Flags, r.Sequence, r.Origin = Streamed, uint32(origin+offset), origin
	return r
}

// arrival states that the connection has bytes up to an offset.
func arrival(at, offset int64) *Record {
	return &Record{Kind: IsArrival, Begin: at, End: at, Inode: 100, Flags: Streamed, Sequence: uint32(origin + offset),
		Origin: origin}
}

func written(t testing.TB, limit int64, records ...*Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, limit)
	for _, r := range records {
		if err := w.Write(r); err != nil && !errors.Is(err, ErrLimit) {
			t.Fatal(err)
		}
	}
	if err := w.Close(1, 1000*ms); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decoded(t testing.TB, b []byte) *Table {
	t.Helper()
	table, err := Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// load is a page whose response was read late by the thread of the network.
func load(t testing.TB) []byte {
	peek := read(network, 31*ms, 32*ms, 1, 0)
	peek.Flags |= Peek
	other := read(network, 90*ms, 90*ms+9, 50, 50)
	other.Inode, other.Local.Port = 101, 40001
	torn := arrival(40*ms, 2000)
	torn.Origin += 3
	return written(t, 0, over(call(first, Connect, 10*ms, 15*ms, -115)), arrival(20*ms, 1000),
		call(network, EpollWait, 16*ms, 21*ms, 1), call(network, EpollWait, 22*ms, 22*ms+9, 1), peek,
		read(network, 33*ms, 34*ms, 600, 600), torn,
		&Record{Kind: IsGap, Begin: 50 * ms, End: 60 * ms, Result: 4},
		read(network, 80*ms, 82*ms, 1400, 2000), other, call(first, Poll, 70*ms, 900*ms, 0))
}

func TestFilesAreReadAsWritten(t *testing.T) {
	table := decoded(t, load(t))
	if table.Begin != 1 || table.End != 1000*ms || len(table.Skipped) != 0 || table.Lost() != 4 ||
		!reflect.DeepEqual(table.Gaps, []Gap{{50 * ms, 60 * ms, 4}}) {
		t.Errorf("table %+v", table)
	}
	if !reflect.DeepEqual(table.Threads, []activity.Thread{first, network}) ||
		len(table.Sockets) != 2 || table.Sockets[0] != (Socket{100, ipv4, stream, device, remote}) {
		t.Errorf("threads %v, sockets %v", table.Threads, table.Sockets)
	}
	var texts []string
	var offsets []int64
	for i := range table.Calls {
		texts, offsets = append(texts, table.Text(&table.Calls[i])), append(offsets, table.Calls[i].Offset)
	}
	if want := []string{"connect fd 23 to 198.18.0.9:80: EINPROGRESS", "epoll_wait 1 ready", "epoll_wait 1 ready",
		"recvfrom 1 byte (peek) of fd 23", "recvfrom 600 bytes of fd 23", "poll 0 ready",
		"recvfrom 1,400 bytes of fd 23", "recvfrom 50 bytes of fd 23"}; !reflect.DeepEqual(texts, want) {
		t.Errorf("calls %q, want %q", texts, want)
	}
	// One origin is wrong. Sequence numbers wrap.
	if want := []int64{-1, -1, -1, 0, 600, -1, 2000, 50}; !reflect.DeepEqual(offsets, want) {
		t.Errorf("offsets %v, want %v", offsets, want)
	}
	if want := []Arrival{{20 * ms, 0, 1000}, {40 * ms, 0, 2000}}; !reflect.DeepEqual(table.Arrivals, want) {
		t.Errorf("arrivals %v, want %v", table.Arrivals, want)
	}
}

// sink keeps events as text.
type sink struct {
	names []string
	texts []string
	err   error
}

func (s *sink) Thread(h activity.Thread) uint32 { return uint32(h.ID) }
func (s *sink) Stack(uint32, uint32) uint32     { return 0 }
func (s *sink) Function(f activity.Function) uint32 {
	s.names = append(s.names, f.Name)
	return uint32(len(s.names))
}

func (s *sink) Event(e activity.Event) error {
	s.texts = append(s.texts, fmt.Sprint(e.Thread, e.Kind, e.At/ms, e.Value/ms, e.Ref))
	return s.err
}

func TestCallsAreSlices(t *testing.T) {
	table := decoded(t, load(t))
	var s sink
	if err := table.Events(&s); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprint(8, activity.Slice, 33, 1, 4); len(s.texts) != 9 || s.texts[4] != want || s.names[3] !=
		"recvfrom 600 bytes of fd 23" || s.texts[5] != fmt.Sprint(0, activity.Lost, 50, 10, 4) {
		t.Errorf("events %q of %q", s.texts, s.names)
	}
	s.err = errors.New("full")
	if err := table.Events(&s); !errors.Is(err, s.err) {
		t.Errorf("error %v, want that of the sink", err)
	}
	table.Keep(60*ms, 85*ms)
	if len(table.Calls) != 2 || len(table.Arrivals) != 0 || len(table.Gaps) != 1 {
		t.Errorf("kept %+v", table)
	}
}

func exact(at int64) har.Moment {
	t := timeline.Time(at)
	return har.Moment{At: t, Earliest: t, Latest: t, By: har.Line}
}

func TestRequestsHaveThreeTimes(t *testing.T) {
	table := decoded(t, load(t))
	c := serve.Connection{ID: 1, Network: "tcp", Client: device, Server: remote, Protocol: "http/1.1"}
	request := func(url string, c serve.Connection, sent, ended, from, to int64) har.Request {
		return har.Request{Served: serve.Exchange{URL: url, From: from, To: to}, Over: c, Sent: exact(sent),
			Ended: exact(ended)}
	}
	elsewhere, wrong := c, c
	elsewhere.Client = netip.MustParseAddrPort("198.18.0.2:50000")
	wrong.Server = netip.MustParseAddrPort("198.18.0.9:443")
	fall := &har.Waterfall{Requests: []har.Request{
		request("http://a.example/?token=1#x", c, 16*ms, 19*ms, 0, 600),
		request("http://u:p@a.example/b.js", c, 20*ms, 39*ms, 600, 2000),
		request("http://a.example/late", c, 20*ms, 39*ms, 2000, 2001),
		request("http://a.example/other", elsewhere, 20*ms, 39*ms, 0, 10),
		request("http://a.example/wrong", wrong, 20*ms, 39*ms, 0, 10),
	}}
	got := table.Requests(fall)
	want := []Request{
		{Index: 0, URL: "http://a.example/", Link: 19 * ms, Arrived: 20 * ms, Read: 34 * ms, Call: 4},
		{Index: 1, URL: "http://a.example/b.js", Link: 39 * ms, Arrived: 40 * ms, Read: 82 * ms, Call: 6},
		{Index: 2, URL: "http://a.example/late", Link: 39 * ms, Call: -1},
		{Index: 3, URL: "http://a.example/other", Link: 39 * ms, Socket: -1, Call: -1},
		{Index: 4, URL: "http://a.example/wrong", Link: 39 * ms, Socket: -1, Call: -1},
	}
	for i := range want {
		got[i].from, got[i].to, want[i].LinkBy = 0, 0, want[i].Link
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("requests\n%+v, want\n%+v", got, want)
	}
	threads := map[activity.Thread]int{first: 3, network: 4}
	waits := table.Waits(fall, nil, func(h activity.Thread) int { return threads[h] })
	wantWaits := []result.SocketWait{
		{Thread: 4, WokenThread: -1, Call: "recvfrom", BeginNS: 40 * ms, EndNS: 82 * ms, Bytes: 1400,
			Request: "http://a.example/b.js", LinkNS: 39 * ms,
			Text: "1,400 bytes of fd 23 waited 42 ms until recvfrom returned"},
		{Thread: 4, WokenThread: -1, Call: "recvfrom", BeginNS: 20 * ms, EndNS: 34 * ms, Bytes: 600,
			Request: "http://a.example/", LinkNS: 19 * ms,
			Text: "600 bytes of fd 23 waited 14 ms until recvfrom returned"},
		{Thread: 3, WokenThread: -1, Call: "connect", BeginNS: 10 * ms, EndNS: 15 * ms,
			Text: "connect fd 23 to 198.18.0.9:80: EINPROGRESS blocked the main thread for 5 ms"},
		{Thread: 4, WokenThread: -1, Call: "epoll_wait", BeginNS: 16 * ms, EndNS: 21 * ms,
			Bytes: 1, Text: "epoll_wait waited 5 ms, then recvfrom 1 byte (peek) of fd 23"},
		{Thread: 4, WokenThread: -1, Call: "recvfrom", BeginNS: 31 * ms, EndNS: 32 * ms, Bytes: 1,
			Text: "recvfrom 1 byte (peek) of fd 23 blocked for 1 ms"},
	}
	// The poll without a read after it, and the calls whose bytes were there before, are left out.
	if !reflect.DeepEqual(waits, wantWaits) {
		t.Errorf("waits\n%+v, want\n%+v", waits, wantWaits)
	}
}

// TestNextThreadWoken: samples have the wakes of a thread between its read and its next poll.
func TestNextThreadWoken(t *testing.T) {
	table := decoded(t, load(t))
	numbers := func(h activity.Thread) int { return map[int32]int{7: 3, 8: 4}[h.ID] }
	read := table.Waits(nil, nil, numbers)[0].EndNS
	for name, tc := range map[string]struct {
		at   int64
		by   uint32
		way  string
		want int64
	}{"woken": {read + 5, 2, activity.WaySamples, read + 5}, "before": {read - 5, 2, activity.WaySamples, 0},
		"of another thread": {read + 5, 3, activity.WaySamples, 0}, "no samples": {read + 5, 2, "functions", 0},
		"much later": {read + 2*wokenWithin, 2, activity.WaySamples, 0}} {
		dir := t.TempDir()
		w, err := activity.NewWriter(dir, activity.Info{Way: tc.way, Clock: activity.Clock{Exact: true}})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []activity.Thread{first, network, {Process: 8, ID: 9}} {
			h.Start = 0 // unknown to perf
			w.Thread(h)
		}
		err = errors.Join(w.Event(activity.Event{At: tc.at, Thread: 1, Kind: activity.Woken, Ref: tc.by}),
			w.Event(activity.Event{At: tc.at + 2, Thread: 3, Kind: activity.Woken, Ref: tc.by}))
		if _, closed := w.Close(); err != nil || closed != nil {
			t.Fatal(err, closed)
		}
		trace, err := activity.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, thread := table.Waits(nil, []*activity.Trace{trace}, numbers)[0], -1
		if tc.want > 0 {
			thread = 3
		}
		if got.WokenNS != tc.want || got.WokenThread != thread {
			t.Errorf("%s: woke %d at %d, want %d at %d", name, got.WokenThread, got.WokenNS, thread, tc.want)
		}
		_ = trace.Close()
	}
}

func TestDatagramsAreCounted(t *testing.T) {
	udp := func(r *Record) *Record {
		r.Inode, r.FD, r.Family, r.Type = 9, 4, ipv4, datagram
		r.Local = AddressOf(netip.AddrPortFrom(netip.IPv4Unspecified(), device.Port()))
		return r
	}
	at := func(n int64) *Record { return udp(&Record{Kind: IsArrival, Begin: n * ms, End: n * ms}) }
	table := decoded(t, written(t, 0, udp(call(network, Sendto, 10*ms, 11*ms, 1200)), at(20), at(21), at(22), at(34),
		udp(call(network, Recvmmsg, 30*ms, 31*ms, 3)), udp(call(network, Recvmsg, 35*ms, 36*ms, 1200)),
		udp(call(network, Recvmsg, 95*ms, 96*ms, 1200))))
	c := serve.Connection{ID: 1, Network: "udp", Client: device, Server: remote, Protocol: "h3"}
	fall := &har.Waterfall{Requests: []har.Request{{Over: c, Sent: exact(12 * ms), Ended: exact(40 * ms)}}}
	got := table.Requests(fall)
	if len(got) != 1 || got[0].Socket != 0 || got[0].Datagrams != 4 || got[0].Read != 0 {
		t.Errorf("requests %+v, want 4 datagrams", got)
	}
	waits := table.Waits(nil, nil, func(activity.Thread) int { return -1 })
	if len(waits) < 2 || waits[0].BeginNS != 22*ms || waits[0].EndNS != 31*ms || waits[0].Thread != -1 ||
		!strings.HasPrefix(waits[0].Text, "Network: 3 messages of fd 4 waited 9 ms") {
		t.Errorf("waits %+v, want first those of three messages", waits)
	}
}

func TestDamageIsSkipped(t *testing.T) {
	whole := load(t)
	for want, change := range map[string]func(*Record){
		"unknown records":           func(r *Record) { r.Kind = 'X' },
		"impossible times":          func(r *Record) { r.End = r.Begin - 1 },
		"impossible calls":          func(r *Record) { r.Name = numNames },
		"arrivals without a socket": func(r *Record) { r.Kind, r.Inode = IsArrival, 0 },
		"overlapping calls":         func(r *Record) { r.Begin = 1 },
	} {
		wrong := read(first, 3, 4, 5, 10)
		change(wrong)
		table := decoded(t, written(t, 0, read(first, 1, 3, 5, 5), wrong))
		if !reflect.DeepEqual(table.Skipped, map[string]int64{want: 1}) || len(table.Calls) != 1 ||
			table.End != 1000*ms {
			t.Errorf("skipped %v with %d calls until %d, want %s", table.Skipped, len(table.Calls), table.End, want)
		}
	}
	for _, change := range []func(*Record){func(r *Record) { r.Begin = -1 }, func(r *Record) { r.End = 1 << 62 },
		func(r *Record) { r.Result = -5000 }, func(r *Record) { r.Result = 1 << 62 }} {
		wrong := read(first, 3, 4, 5, 10)
		change(wrong)
		if table := decoded(t, written(t, 0, wrong)); len(table.Calls) > 0 || len(table.Skipped) != 1 {
			t.Errorf("calls %v, skipped %v", table.Calls, table.Skipped)
		}
	}
	for n := len(magic); n < len(whole); n++ {
		table := decoded(t, whole[:n])
		if table.Skipped["cut file"] != 1 {
			t.Fatalf("%d of %d bytes: skipped %v", n, len(whole), table.Skipped)
		}
		if n == len(whole)-1 && (len(table.Calls) != 8 || table.End != 900*ms) {
			t.Errorf("%d calls until %d without the end", len(table.Calls), table.End)
		}
	}
	if _, err := Decode(strings.NewReader("EIDSOCK\x02")); err == nil {
		t.Error("a file of another format is read")
	}
	failed := errors.New("broken disk")
	for _, r := range []io.Reader{iotest.ErrReader(failed), io.MultiReader(bytes.NewReader(whole[:200]),
		iotest.ErrReader(failed))} {
		if _, err := Decode(r); !errors.Is(err, failed) {
			t.Errorf("error %v, want that of the disk", err)
		}
	}
	if table, err := decode(bytes.NewReader(whole), 3); err != nil || len(table.Calls)+len(table.Arrivals) != 3 ||
		table.Skipped["records over the limit"] != 8 {
		t.Errorf("%v: %d calls, skipped %v", err, len(table.Calls), table.Skipped)
	}
	var all []*Record
	for i := range int64(100) {
		all = append(all, read(first, i, i+1, 1, i+1))
	}
	b := written(t, 1000, all...)
	if table := decoded(t, b); len(b) > 1000 || len(table.Calls) != 6 || table.End != 1000*ms ||
		len(table.Skipped) > 0 {
		t.Errorf("%d bytes with %d calls until %d, skipped %v", len(b), len(table.Calls), table.End, table.Skipped)
	}
}

func TestThreadsHaveTheirLastNames(t *testing.T) {
	odd, renamed, later := first, first, first
	odd.Name, renamed.Name, later.Start = "\x1b[31m", "renamed", 900
	table := decoded(t, written(t, 0, call(odd, Poll, 1, 2, 0)))
	if name := table.Threads[0].Name; name != "?[31m" {
		t.Errorf("name %q", name)
	}
	table = decoded(t, written(t, 0, call(first, Poll, 1, 2, 0), call(renamed, Poll, 3, 4, 0),
		call(later, Poll, 5, 6, 0)))
	if renamed.ProcessName = "browser"; !reflect.DeepEqual(table.Threads, []activity.Thread{renamed, later}) {
		t.Errorf("threads %v, want two: the number was used again", table.Threads)
	}
}

// FuzzDecode checks that a file of any content gives a table whose parts fit together.
func FuzzDecode(f *testing.F) {
	f.Add(load(f))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := decode(bytes.NewReader(b), 1000)
		if err != nil {
			return
		}
		last := map[uint32]int64{}
		for i := range table.Calls {
			c := &table.Calls[i]
			h := uint32(c.Thread)
			if c.End < c.Begin || c.Begin < last[h] || table.Text(c) == "" {
				t.Errorf("call %+v after %d", c, last[h])
			}
			last[h] = c.End
		}
		if err := table.Events(&sink{}); err != nil {
			t.Error(err)
		}
		c := serve.Connection{Network: "tcp", Client: device, Server: remote}
		fall := &har.Waterfall{Requests: []har.Request{{Served: serve.Exchange{To: 100}, Over: c, Sent: exact(1)}}}
		for _, w := range table.Waits(fall, nil, func(activity.Thread) int { return 0 }) {
			if w.EndNS <= w.BeginNS || w.Call == "" || w.Bytes < 0 {
				t.Errorf("wait %+v", w)
			}
		}
	})
}

func TestWaitsForOtherProcessesAreLeftOut(t *testing.T) {
	local := func(r *Record) *Record {
		r.Inode, r.FD, r.Family, r.Type = 7, 9, 1, stream
		return r
	}
	table := decoded(t, written(t, 0, call(network, EpollWait, 10*ms, 80*ms, 1),
		local(call(network, Recvmsg, 81*ms, 90*ms, 4)), local(call(first, Read, 20*ms, 30*ms, 4)),
		local(call(first, Read, 31*ms, 31*ms+900_000, 4))))
	waits := table.Waits(nil, nil, func(activity.Thread) int { return 0 })
	if len(waits) != 1 || waits[0].Text != "read 4 bytes of fd 9 blocked the main thread for 10 ms" {
		t.Errorf("waits %+v, want only that of the main thread", waits)
	}
}
