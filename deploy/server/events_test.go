package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// A client that is disconnected in the middle of a job continues where it stopped, and gets every
// event once.
//
// Fault: A connection to a rig breaks
func TestEventsGoOn(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	from := s.Events().Latest()
	j := s.Scene("ci", api.StartParams{})
	var got []uint64
	cuts := 0
	for ended := false; !ended; {
		conn := s.socket()
		if r := talkOnly(t, conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"from_seq":%d}}`,
			from)); r.Error != nil {
			t.Fatalf("%+v", r.Error)
		}
		for range 3 {
			e := event(t, conn)
			got, from = append(got, e.Seq), e.Seq
			if ended = ended || e.Job != nil && e.Job.ID == j.ID && e.Job.EndedWallNS != 0; ended {
				break
			}
		}
		conn.NetConn().Close()
		cuts++
	}
	for i, seq := range got {
		if seq != got[0]+uint64(i) {
			t.Fatalf("event %d follows %d", seq, got[i-1])
		}
	}
	if cuts < 3 {
		t.Errorf("%d events over %d connections", len(got), cuts)
	}
}

// talkOnly sends a call whose answer must come before any event.
func talkOnly(t *testing.T, conn *websocket.Conn, message string) (r api.Response) {
	t.Helper()
	if err := conn.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		t.Fatal(err)
	}
	_, text, err := conn.ReadMessage()
	if err != nil || json.Unmarshal(text, &r) != nil || len(r.ID) == 0 {
		t.Fatalf("%s, %v", text, err)
	}
	return r
}

// The Go client makes a connection anew that breaks.
//
// Fault: A connection to a rig breaks
func TestClientGoesOn(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	c, err := client.New(s.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	from := s.Events().Latest()
	j := s.Scene("ci", api.StartParams{})
	over := errors.New("over")
	var got []uint64
	err = c.Events(t.Context(), &from, nil, time.Minute, nil, func(e api.Event) error {
		if got = append(got, e.Seq); len(got)%5 == 0 {
			s.CloseClientConnections()
			s.cutSockets()
		}
		if e.Job != nil && e.Job.ID == j.ID && e.Job.EndedWallNS != 0 {
			return over
		}
		return nil
	})
	if !errors.Is(err, over) || len(got) < 10 {
		t.Fatalf("%v after %d events", err, len(got))
	}
	for i, seq := range got {
		if seq != from+1+uint64(i) {
			t.Fatalf("%d is the %dth event after %d", seq, i+1, from)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Events(ctx, nil, nil, time.Minute, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// cutSockets breaks all websockets, as a network does.
func (s *served) cutSockets() {
	s.api.stop()
	s.api.sockets.Wait()
	s.api.ctx, s.api.stop = context.WithCancel(context.Background())
}

// Fault: A connection to a rig breaks
func TestSubscribe(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	conn := s.socket()
	for params, want := range map[string]api.Code{
		`{"from_seq": -1}`: api.InvalidParams, `{"from_seq": "5"}`: api.InvalidParams,
		`{"kinds": ["gossip"]}`: api.InvalidParams,
	} {
		if r := talk(t, conn, `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":`+params+`}`); r.Error == nil ||
			r.Error.Code != want {
			t.Errorf("%s: %+v", params, r)
		}
	}
	if r := talk(t, conn, `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"from_seq":5}}`); r.Error != nil ||
		!strings.Contains(string(r.Result), `"missed":true`) {
		t.Errorf("of another time: %s", r.Result)
	}
	if r := talk(t, conn, `{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"kinds":["log"]}}`); r.Error != nil {
		t.Errorf("%+v", r)
	}
	if e := s.call("device.quarantine", api.QuarantineParams{Device: "local"}, nil); e != nil {
		t.Errorf("%+v", e)
	}
	if e := event(t, conn); e.Kind != "log" || e.Log == nil {
		t.Errorf("%+v", e)
	}
}

// A client that does not read is dropped when what it has not read is gone, and nobody else
// notices.
//
// Fault: A client that does not read
func TestSilentClient(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	// a machine may stand still for less, in the middle of a message to the other one
	s.api.times.write = 4 * time.Second
	silent, good := s.socket(), s.socket()
	for _, conn := range []*websocket.Conn{silent, good} {
		r := talk(t, conn, `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"kinds":["log"]}}`)
		if r.Error != nil {
			t.Fatalf("%+v", r)
		}
	}
	if tcp, is := silent.NetConn().(*net.TCPConn); is {
		_ = tcp.SetReadBuffer(4096)
	}
	first := s.Events().Latest()
	var heard atomic.Uint64
	done := make(chan error, 1)
	go func() {
		for {
			_, text, err := good.ReadMessage()
			if err != nil {
				done <- err
				return
			}
			var n struct{ Params api.Event }
			if err := json.Unmarshal(text, &n); err != nil {
				done <- err
				return
			}
			if was := heard.Swap(n.Params.Seq); was != 0 && n.Params.Seq != was+1 {
				done <- fmt.Errorf("%d follows %d", n.Params.Seq, was)
				return
			}
		}
	}()
	line := strings.Repeat("a", 1900)
	for range 2 * daemon.MaxEvents { // more than is kept for late clients, and on its way to them
		s.Daemon.Log().Info(line)
		latest := s.Events().Latest()
		s.Until("the other client to hear it", func() bool {
			select {
			case err := <-done:
				t.Fatal("the other client: ", err)
			default:
			}
			return latest-heard.Load() < 1000
		})
	}
	s.Until("a client that does not read to be dropped", func() bool { return s.api.clients.Load() == 1 })
	last := s.Events().Latest()
	s.Until("the other client to hear all", func() bool { return heard.Load() == last })
	if last-first < daemon.MaxEvents {
		t.Logf("dropped after %d events, while it was written to", last-first)
	}
}

// TestCrowd has 200 clients look at recordings of 1080p60 and hear their events. Recordings lose
// nothing by it, nobody misses an event, and memory stays as it is from one to the next. A busy
// machine spoils some: two of up to five must lose nothing. With EIDETICKER_SOAK there is half an
// hour of recordings.
//
// Fault: A client that does not read
func TestCrowd(t *testing.T) {
	const clients = 200
	length, recordings := 4*time.Second, 2
	if testing.Short() {
		length = time.Second
	}
	if os.Getenv("EIDETICKER_SOAK") != "" {
		length, recordings = time.Minute, 30
	}
	d := daemontest.New("wide")
	d.About.Source = "synth:strip?size=1920x1080&fps=60&pace=realtime"
	s := serveRig(t, daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil), nil)
	alone := record(t, s, length)
	c := &crowd{}
	for i := range clients {
		c.join(t, s, i%10 == 9) // one in ten is slow
	}
	s.Until("all to be shown the device", func() bool { return c.pictures.Load() >= 2*clients })
	before := c.pictures.Load()
	var watched api.RunInfo
	var memory []uint64 // after each recording
	whole := 0          // recordings that lost nothing
	wanted := max(2, recordings/2)
	for made := 0; made < recordings || whole < wanted && made < recordings+3; made++ {
		lost := s.lost("wide")
		r := record(t, s, length)
		if s.lost("wide") == lost {
			whole++
		}
		watched.Frames, watched.Lost = watched.Frames+r.Frames, watched.Lost+r.Lost
		memory = append(memory, c.heap())
		if recordings > 2 {
			t.Logf("after %d recordings: heap %d KiB, %d goroutines, %d frames, %d lost", len(memory),
				memory[len(memory)-1]>>10, runtime.NumGoroutine(), watched.Frames, watched.Lost)
		}
	}
	// Data on its way to 200 clients counts too, and varies. A lasting rise is a leak.
	first, last := memory[0], memory[len(memory)-1]
	s.Until(fmt.Sprintf("memory to be what it was, %d KiB", first>>10), func() bool {
		last = min(last, c.heap())
		return last <= first*3/2+8<<20
	})
	latencies := c.leave(t)
	t.Logf("alone %d of %d frames were lost, with %d clients %d of %d; %d events heard, latency p50 %v, p99 %v; "+
		"%d pictures taken meanwhile; heap %d KiB, then %d KiB",
		alone.Lost, alone.Frames+alone.Lost, clients, watched.Lost, watched.Frames+watched.Lost, len(latencies),
		percentile(latencies, 50), percentile(latencies, 99), c.pictures.Load()-before, first>>10, last>>10)
	if c.gaps.Load() > 0 {
		t.Errorf("%d events were missed", c.gaps.Load())
	}
	if len(latencies) < clients {
		t.Errorf("%d events for %d clients", len(latencies), clients)
	}
	if whole < wanted {
		t.Errorf("%d of %d recordings lost nothing: %v", whole, len(memory), s.Figures().Lost["wide"])
	}
}

// lost returns how many frames of a device were lost. A scene whose own thread had no processor is
// left out: other programs may be to blame.
func (s *served) lost(device string) (n uint64) {
	for cause, frames := range s.Figures().Lost[device] {
		if cause != frame.SourceLate.String() {
			n += frames
		}
	}
	return n
}

// record makes a recording of some length.
func record(t *testing.T, s *served, length time.Duration) api.RunInfo {
	t.Helper()
	j, err := s.Record(t.Context(), "me", api.RecordParams{Device: "wide", DurationNS: int64(length)})
	if err != nil {
		t.Fatal(err)
	}
	if j = s.Ended(j.ID); j.State != "ok" {
		t.Fatalf("%+v", j)
	}
	var run api.RunDetail
	if e := s.call("run.get", api.RunID{Run: j.ID}, &run); e != nil {
		t.Fatalf("%+v", e)
	}
	return run.RunInfo
}

// crowd is clients that look on.
type crowd struct {
	wg       sync.WaitGroup
	conns    []*websocket.Conn
	pictures atomic.Int64
	gaps     atomic.Int64

	mu        sync.Mutex
	latencies []time.Duration
}

func (c *crowd) join(t *testing.T, s *served, slow bool) {
	conn := s.socket()
	conn.SetReadDeadline(time.Time{})
	for i, m := range []string{`"subscribe"`, `"preview.start","params":{"device":"wide"}`} {
		if err := conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%s}`, i,
			m)); err != nil {
			t.Fatal(err)
		}
	}
	c.conns = append(c.conns, conn)
	c.wg.Go(func() {
		var last uint64
		for {
			kind, text, err := conn.ReadMessage()
			if err != nil {
				return
			}
			if kind == websocket.BinaryMessage {
				if c.pictures.Add(1); slow {
					time.Sleep(300 * time.Millisecond) // what makes it slow
				}
				continue
			}
			var n struct {
				Method string
				Params struct {
					Seq        uint64 `json:"seq"`
					TimeWallNS int64  `json:"time_wall_ns"`
				}
			}
			if json.Unmarshal(text, &n) != nil || n.Method != api.EventMethod {
				continue
			}
			if last != 0 && n.Params.Seq != last+1 {
				c.gaps.Add(1)
			}
			if last = n.Params.Seq; !slow {
				c.mu.Lock()
				c.latencies = append(c.latencies, time.Duration(time.Now().UnixNano()-n.Params.TimeWallNS))
				c.mu.Unlock()
			}
		}
	})
}

// heap is how many bytes are held, but for what the crowd itself remembers.
func (c *crowd) heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc - c.size()
}

// size is how many bytes the crowd itself remembers.
func (c *crowd) size() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return uint64(cap(c.latencies)) * uint64(unsafe.Sizeof(time.Duration(0)))
}

func (c *crowd) leave(t *testing.T) []time.Duration {
	for _, conn := range c.conns {
		conn.Close()
	}
	c.wg.Wait()
	slices.Sort(c.latencies)
	return c.latencies
}

func percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100]
}
