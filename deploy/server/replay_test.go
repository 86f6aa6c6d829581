package server

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// subscribed sends a subscription, and returns its answer.
func subscribed(t *testing.T, conn *websocket.Conn, params string) (out api.Subscribed) {
	t.Helper()
	r := talkOnly(t, conn, `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":`+params+`}`)
	if r.Error != nil {
		t.Fatalf("%+v", r.Error)
	}
	if err := json.Unmarshal(r.Result, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReplay: a client that gives the number of its last event first gets the later ones, each
// once. Events that are gone are reported.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	say := func(n int) {
		for i := range n {
			s.Daemon.Log().Info("said", "n", i)
		}
	}
	hear := func(conn *websocket.Conn, first uint64, n int) {
		t.Helper()
		for i := range n {
			if e := event(t, conn); e.Seq != first+uint64(i) {
				t.Fatalf("event %d comes in the place of %d", e.Seq, first+uint64(i))
			}
		}
	}
	from := s.Events().Latest()
	say(100)
	conn := s.socket()
	if got := subscribed(t, conn, fmt.Sprintf(`{"from_seq":%d}`, from+40)); got.Missed || got.Seq < from+100 {
		t.Errorf("%+v", got)
	}
	hear(conn, from+41, 60)
	say(1)
	hear(conn, from+101, 1) // and continues with new events

	conn = s.socket() // only some kinds, of past events too
	if e := s.call("device.quarantine", api.QuarantineParams{Device: "local"}, nil); e != nil {
		t.Fatalf("%+v", e)
	}
	subscribed(t, conn, fmt.Sprintf(`{"from_seq":%d,"kinds":["device"]}`, from))
	if e := event(t, conn); e.Kind != "device" || e.Device == nil || e.Device.State != "quarantined" {
		t.Errorf("%+v", e)
	}

	say(daemon.MaxEvents)
	latest := s.Events().Latest()
	conn = s.socket() // too late for the first ones
	if got := subscribed(t, conn, fmt.Sprintf(`{"from_seq":%d}`, from)); !got.Missed || got.Seq < latest {
		t.Errorf("%+v", got)
	}
	oldest := event(t, conn).Seq
	if oldest < latest-daemon.MaxEvents+1 || oldest > latest {
		t.Errorf("the oldest event is %d, where %d is the latest", oldest, latest)
	}
	hear(conn, oldest+1, int(latest-oldest))

	conn = s.socket() // just in time
	const kept = daemon.MaxEvents - 10
	if got := subscribed(t, conn, fmt.Sprintf(`{"from_seq":%d}`, latest-kept)); got.Missed {
		t.Errorf("%+v", got)
	}
	hear(conn, latest-kept+1, kept)
}

// TestReplayAfterRestart: the numbers of events keep rising over a restart of the rig. So a client
// sees that it has missed some.
func TestReplayAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := serveRig(t, daemontest.Start(t, dir, daemontest.Devices{daemontest.New("local")}, nil), nil)
	before.Daemon.Log().Info("said")
	last := before.Events().Latest()
	before.api.Close()
	before.Stop()
	s := serveRig(t, daemontest.Start(t, dir, daemontest.Devices{daemontest.New("local")}, nil), nil)
	s.Daemon.Log().Info("said again")
	conn := s.socket()
	if got := subscribed(t, conn, fmt.Sprintf(`{"from_seq":%d}`, last)); !got.Missed || got.Seq <= last {
		t.Errorf("%+v, where %d was the last", got, last)
	}
	if e := event(t, conn); e.Seq <= last {
		t.Errorf("event %d after %d", e.Seq, last)
	}
}

// TestReplayOfTheFuture: a number that the rig has not given yet is that of another rig. Its client
// has missed all, and gets events from now on.
//
// Fault: A client resumes at an event that the rig never had
func TestReplayOfTheFuture(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.Daemon.Log().Info("said before")
	conn, latest := s.socket(), s.Events().Latest()
	if got := subscribed(t, conn, fmt.Sprintf(`{"from_seq":%d}`, uint64(1)<<62)); !got.Missed || got.Seq < latest ||
		got.Seq > s.Events().Latest() {
		t.Errorf("%+v, where %d was the latest", got, latest)
	}
	s.Daemon.Log().Info("said now")
	if e := event(t, conn); e.Log == nil || e.Log.Message != "said now" {
		t.Errorf("%+v", e)
	}
	for want, from := range map[bool]uint64{false: s.Events().Latest(), true: s.Events().Latest() + 1} {
		if got := subscribed(t, s.socket(), fmt.Sprintf(`{"from_seq":%d}`, from)); got.Missed != want {
			t.Errorf("from %d, where %d is the latest: %+v", from, got.Seq, got)
		}
	}
}

// TestPreviewOfAnotherDevice: a viewer who switches to another screen sees that one. Both are still
// and have been shown once.
func TestPreviewOfAnotherDevice(t *testing.T) {
	t.Parallel()
	one, other := daemontest.New("one"), daemontest.New("other")
	for _, d := range []*daemontest.Device{one, other} {
		d.About.Source = "synth:pattern?size=64x48&fps=20&pace=realtime"
	}
	// a recorded screen is known to be still
	s := serveRig(t, daemontest.Start(t, t.TempDir(), daemontest.Devices{one, other}, func(o *daemon.Options) {
		o.KeepLast = map[string]time.Duration{"one": api.MaxKeepLast, "other": api.MaxKeepLast}
	}), nil)
	conn := s.socket()
	for _, name := range []string{"one", "other", "one"} {
		if err := conn.WriteJSON(api.Request{Version: api.JSONRPC, ID: []byte("1"), Method: "preview.start",
			Params: json.RawMessage(`{"device":"` + name + `"}`)}); err != nil {
			t.Fatal(err)
		}
		for shown := ""; shown != name; {
			kind, message, err := conn.ReadMessage()
			if err != nil {
				t.Fatalf("device %s: %v", name, err)
			}
			if kind != websocket.BinaryMessage {
				continue
			}
			var info api.PictureInfo
			if err := json.Unmarshal(message[6:4+int(message[4])<<8+int(message[5])], &info); err != nil {
				t.Fatal(err)
			}
			shown = info.Device
		}
	}
}

// TestSlowClient: a client that reads late gets every event, and of the pictures the latest instead
// of all; another one does not wait for it.
//
// Fault: A client that does not read
func TestSlowClient(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.narrow()
	slow, quick := s.socket(), s.socket()
	for _, conn := range []*websocket.Conn{slow, quick} {
		subscribed(t, conn, `{"kinds":["log"]}`)
		r := talk(t, conn, `{"jsonrpc":"2.0","id":2,"method":"preview.start","params":{"device":"local"}}`)
		if r.Error != nil {
			t.Fatalf("%+v", r.Error)
		}
	}
	// While the slow one reads nothing, the quick one hears all events, and then goes on seeing
	// pictures.
	const said, seen = 200, 12
	for range said {
		s.Daemon.Log().Info(strings.Repeat("a", 1900))
	}
	for heard := 0; heard < said; {
		if kind, _ := read(t, quick); kind == websocket.TextMessage {
			heard++
		}
	}
	pictures := map[string]bool{}
	for len(pictures) < seen {
		if kind, content := read(t, quick); kind == websocket.BinaryMessage {
			pictures[content] = true
		}
	}
	// Then the slow one reads: no event is missing, and most of these pictures are.
	late := 0
	for heard, newer := 0, false; heard < said || !newer; {
		kind, content := read(t, slow)
		switch {
		case kind == websocket.TextMessage:
			heard++
		case pictures[content]:
			late++
		default:
			newer = heard == said
		}
	}
	if late > 2 {
		t.Errorf("%d of %d pictures were kept for the slow client", late, seen)
	}
}

func read(t *testing.T, conn *websocket.Conn) (kind int, content string) {
	t.Helper()
	kind, message, err := conn.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	return kind, string(message)
}

// narrow has clients reach the rig over connections on which little is under way.
func (s *served) narrow() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	h := s.api.HTTP()
	var over sync.WaitGroup
	over.Go(func() { _ = h.Serve(narrowListener{l}) }) // until it is closed
	s.t.Cleanup(func() {
		s.api.Close()
		_ = h.Close()
		over.Wait()
	})
	s.URL = "http://" + l.Addr().String()
}

type narrowListener struct{ net.Listener }

func (l narrowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, is := conn.(*net.TCPConn); is && err == nil {
		err = tcp.SetWriteBuffer(4096)
	}
	return conn, err
}
