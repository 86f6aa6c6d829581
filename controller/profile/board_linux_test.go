package profile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

const secret wire.Token = "correct horse battery staple"

// agentDir names the environment variable that makes the test's program an agent with that folder.
const agentDir = "EIDETICKER_TEST_AGENT"

func TestMain(m *testing.M) {
	dir := os.Getenv(agentDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	l, err := wire.Listen("127.0.0.1:0", secret)
	if err == nil {
		fmt.Println(l.Addr())
		err = (&Agent{Token: secret, Dir: dir}).Serve(context.Background(), l)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func tokenFile(t *testing.T, token wire.Token) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// otherClock starts an agent whose CLOCK_MONOTONIC is 27 hours ahead, if that is permitted.
func otherClock(t *testing.T) Board {
	t.Helper()
	args := []string{os.Args[0]}
	if ahead := []string{"unshare", "--time", "--monotonic", "100000", "--fork", "--kill-child"}; exec.Command(ahead[0],
		append(ahead[1:], "true")...).Run() == nil {
		args = append(ahead, args...)
	} else if os.Geteuid() == 0 && os.Getenv("CI") == "true" {
		t.Error("there is no time namespace")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), agentDir+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return Board{Address: strings.TrimSpace(address), TokenFile: tokenFile(t, secret)}
}

// TestBoard: an agent in a process with another CLOCK_MONOTONIC samples a program that runs
// already. Its times are right, and other programs are not in the trace.
func TestBoard(t *testing.T) {
	b := otherClock(t)
	path := compile(t, "testdata/tree.c")
	b.Of = fmt.Sprintf("tree-%d", os.Getpid())
	named := filepath.Join(filepath.Dir(path), b.Of+"-more")
	if err := os.Rename(path, named); err != nil {
		t.Fatal(err)
	}
	if system, err := b.Ask(t.Context()); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil || !strings.Contains(system, "Linux ") {
		t.Fatal(system, err)
	}
	p := start(t, &Session{}, named)
	dir := filepath.Join(t.TempDir(), activity.TracesDir)
	s, err := OpenBoard(t.Context(), Options{Native: Samples, Dir: dir, Sockets: true, Content: true}, b)
	if err == nil || !strings.Contains(err.Error(), "sockets") || strings.Contains(err.Error(), "samples:") {
		t.Fatal(err)
	}
	if err := s.Attach(); err != nil {
		t.Fatal(err)
	}
	if err := s.Failed(); err != nil {
		t.Fatal(err)
	}
	p.run("main")
	from := timeline.Monotonic().Now()
	s.Content(true)
	p.run("thread", "child")
	s.Content(false)
	to := timeline.Monotonic().Now()
	p.run("main")
	trace, info := p.end(s)
	samples := usage(t, trace, activity.Sample)
	for _, want := range [][]string{{"second thread: ", "in_thread;burn"}, {"in_child;burn"}, {"after_exec;burn"}} {
		if got := total(samples, want...); got < 10e6 || got > 120e6 {
			t.Errorf("%q ran %d ns, want 60 ms", want, got)
		}
	}
	if total(samples, "in_main") > 0 {
		t.Errorf("samples outside the content: %v", samples)
	}
	for _, thread := range trace.Threads()[1:] {
		of := thread.Name
		if int(thread.Process) != p.cmd.Process.Pid && of != b.Of[:min(len(b.Of), 15)] && of != "exe" {
			t.Errorf("%+v is of another program", thread)
		}
	}
	for e, err := range trace.Events(-1<<60, 1<<60) {
		if err != nil {
			t.Fatal(err)
		}
		earliest, latest := info.Clock.Bounds(e.At)
		if e.At < earliest || e.At > latest || latest < int64(from) || earliest > int64(to) {
			t.Fatalf("an event at %d is shown from %d to %d, content from %d to %d", e.At, earliest, latest, from, to)
		}
	}
	if info.Clock.Exact || !strings.Contains(info.Clock.Text, " exchanges;") || info.Recording != "id" ||
		!strings.Contains(info.Why, b.Address) {
		t.Errorf("%+v", info)
	}
	t.Log(info.Clock.Text, info.Why, info.Warnings, info.Events)
}

// boardClock runs too fast by 900 ppm, and has another begin. It can jump.
type boardClock struct {
	begin timeline.Time
	jump  atomic.Int64
}

func (c *boardClock) of(t timeline.Time) timeline.Time {
	return t + 987_654_321_987 + (t-c.begin)*900/1e6 + timeline.Time(c.jump.Load())
}

func (c *boardClock) Now() timeline.Time { return c.of(timeline.Monotonic().Now()) }

// fakeSampler is a sampler with a text of its own.
type fakeSampler struct {
	text    func() string
	mu      sync.Mutex
	content []bool
	stopped bool
	dir     string
}

func (f *fakeSampler) Prepare(context.Context, *exec.Cmd) error { return os.MkdirAll(f.dir, 0o700) }

func (f *fakeSampler) Content(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.content = append(f.content, on)
}

func (f *fakeSampler) Stop(context.Context) (activity.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	return activity.Info{RateHz: 1000, EndNS: int64(timeline.Monotonic().Now())}, nil
}

func (f *fakeSampler) script(context.Context) (io.Reader, func(error) error, error) {
	return strings.NewReader(f.text()), func(err error) error { return err }, nil
}

// agent serves a fake sampler, and returns a board and an end of the agent.
func (f *fakeSampler) agent(t *testing.T, clock timeline.Clock) (b Board, end func()) {
	t.Helper()
	l, err := wire.Listen("127.0.0.1:0", secret)
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{Token: secret, Dir: t.TempDir(), clock: clock}
	a.open = func(_ context.Context, o Options) (sampler, error) {
		f.dir = o.Dir
		return f, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx, l) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return Board{Address: l.Addr().String(), TokenFile: tokenFile(t, secret)}, end
}

// attach opens a session and starts it.
func (b Board) attach(t *testing.T, o Options) *Session {
	t.Helper()
	o.Native, o.Dir = Samples, filepath.Join(t.TempDir(), activity.TracesDir)
	s, err := OpenBoard(t.Context(), o, b)
	if err == nil {
		if err := s.Attach(); err != nil {
			t.Fatal(err)
		}
		err = s.Failed()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sampled is a record of perf script.
func sampled(at timeline.Time) string {
	return fmt.Sprintf("hot 42/42 [000] %d.%09d: 1000000 cycles: \n\t 1234 spin+0x4 (/usr/bin/hot)\n\n", at/1e9, at%1e9)
}

// TestBoardClock: the bounds of each event hold its true time, of a board with another clock. The
// content is complete.
func TestBoardClock(t *testing.T) {
	clock := &boardClock{begin: timeline.Monotonic().Now()}
	var inside []timeline.Time
	f := &fakeSampler{text: func() string {
		text := sampled(clock.of(inside[0].Add(-time.Second)))
		for _, at := range inside {
			text += sampled(clock.of(at))
		}
		return text + sampled(clock.of(inside[len(inside)-1].Add(time.Second)))
	}}
	b, _ := f.agent(t, clock)
	s := b.attach(t, Options{Content: true})
	engine := s.engines[0].(*board)
	s.Content(true)
	for range 200 {
		inside = append(inside, timeline.Monotonic().Now())
		if err := engine.exchange(1); err != nil {
			t.Fatal(err)
		}
	}
	s.Content(false)
	infos, err := s.Convert(t.Context(), "id")
	if err != nil || len(infos) != 1 || !f.stopped || fmt.Sprint(f.content) != "[true false]" {
		t.Fatal(infos, err, f.content)
	}
	trace, err := activity.Open(filepath.Join(s.o.Dir, nativeDir))
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	n := 0
	for e, err := range trace.Events(-1<<60, 1<<60) {
		if err != nil || n == len(inside) {
			t.Fatal("too many events, or", err)
		}
		truth := int64(inside[n])
		if earliest, latest := infos[0].Clock.Bounds(e.At); earliest > truth || latest < truth {
			t.Errorf("event %d: %d to %d, in truth %d", n, earliest, latest, truth)
		}
		n++
	}
	if n != len(inside) || !strings.Contains(infos[0].Clock.Text, "exchanges; drift") {
		t.Errorf("%d events of %d, clock %s", n, len(inside), infos[0].Clock.Text)
	}
	t.Log(infos[0].Clock.Text)
}

// cut is a proxy that ends the connection after so many bytes of the agent.
func cut(t *testing.T, to string, after int64) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		rig, err := l.Accept()
		if err != nil {
			return
		}
		defer rig.Close()
		agent, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer agent.Close()
		go func() { _, _ = io.Copy(agent, rig) }()
		_, _ = io.CopyN(rig, agent, after)
	}()
	return l.Addr().String()
}

// TestBoardIsLost: the agent or the connection ends, or the clock jumps.
//
// Fault: The agent of a board is lost, or its clock jumps
func TestBoardIsLost(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	long := func() string { // it cannot be packed well
		var text bytes.Buffer
		for range 200_000 {
			fmt.Fprintf(&text, "# %x\n", random.Uint64())
		}
		return text.String()
	}
	for name, tc := range map[string]struct {
		harm func(c *boardClock, end func())
		cut  int64
		want string
	}{
		"ends":       {harm: func(_ *boardClock, end func()) { end() }, want: "the connection ended"},
		"is cut off": {cut: 1 << 20, want: "the connection ended"},
		"sleeps":     {harm: func(c *boardClock, _ func()) { c.jump.Store(-5e9) }, want: "it may have slept"},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &boardClock{begin: timeline.Monotonic().Now()}
			f := &fakeSampler{text: long}
			b, end := f.agent(t, clock)
			if tc.cut > 0 {
				b.Address = cut(t, b.Address, tc.cut)
			}
			s := b.attach(t, Options{})
			if tc.harm != nil {
				tc.harm(clock, end)
			}
			_, err := s.Stop(t.Context())
			if err != nil {
				t.Error(err)
			}
			infos, err := s.Convert(t.Context(), "id")
			if len(infos) > 0 || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, %v; want %s", infos, err, tc.want)
			}
			end()
			_, left := os.Stat(f.dir)
			if _, trace := os.Stat(filepath.Join(s.o.Dir, nativeDir)); !f.stopped || left == nil || trace == nil {
				t.Errorf("stopped %v, files of the agent: %v, of the rig: %v", f.stopped, left, trace)
			}
		})
	}
}

// TestBoardRefuses: the agent is unreachable or busy, or it has another token.
//
// Fault: The agent of a board cannot record
func TestBoardRefuses(t *testing.T) {
	f := &fakeSampler{text: func() string { return "" }}
	b, _ := f.agent(t, &boardClock{})
	open := func(b Board, way string) error {
		t.Helper()
		s, err := OpenBoard(t.Context(), Options{Native: way, Dir: t.TempDir()}, b)
		if s == nil || len(s.engines) > 0 {
			t.Errorf("session %+v, %v", s, err)
		}
		return err
	}
	other := Board{b.Address, tokenFile(t, secret+"."), ""}
	for want, err := range map[string]error{
		"connection refused":                open(Board{cut(t, "127.0.0.1:1", 0), other.TokenFile, ""}, Samples),
		"do not have the same token":        open(other, Samples),
		"no such file":                      open(Board{b.Address, "/nowhere", ""}, Samples),
		"records programs that run already": open(b, functions),
	} {
		if want == "connection refused" && err != nil { // or the proxy's end
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	first := b.attach(t, Options{})
	if err := open(b, Samples); err == nil || !strings.Contains(err.Error(), "another rig uses the agent") {
		t.Errorf("a second rig: %v", err)
	}
	if err := first.Discard(t.Context()); err != nil || !f.stopped {
		t.Errorf("%v, stopped %v", err, f.stopped)
	}
}

// Fault: The agent of a board cannot record
func TestBoardIsFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); errors.Is(err, unix.EPERM) {
		t.Skip("mount: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	s := &boardSession{agent: &Agent{Dir: dir}}
	err := s.start(t.Context(), boardRequest{Engine: Samples, Rate: 997, Limit: 1 << 30})
	if err == nil || !strings.Contains(err.Error(), "the board is full") {
		t.Error(err)
	}
}

func packed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.Bytes()
}

// TestHostileAgents: an agent with the token that sends impossible replies harms neither memory nor
// run.
//
// Fault: An agent of a board that sends impossible replies
func TestHostileAgents(t *testing.T) {
	piece := func(data []byte) boardReply {
		sum := sha256.Sum256(data)
		return boardReply{Data: data, SHA256: hex.EncodeToString(sum[:])}
	}
	good := boardStopped{Rate: 1000, EndNS: 1}
	for name, tc := range map[string]struct {
		clock   func(timeline.Time) boardReply
		stopped *boardStopped
		fetched boardReply
		want    string // in an error, or in a warning
	}{
		"answers before it was asked": {clock: func(at timeline.Time) boardReply {
			return boardReply{Received: at, Sent: at - 1}
		}, want: "impossible times"},
		"does not describe":  {want: "does not describe"},
		"impossible figures": {stopped: &boardStopped{}, want: "impossible"},
		"impossible process": {stopped: &boardStopped{Rate: 1, Processes: map[int32]string{-1: ""}},
			want: "process -1"},
		"sends too much": {fetched: boardReply{Data: make([]byte, pieceSize)}, want: "more than 1048576 bytes"},
		"large piece":    {fetched: boardReply{Data: make([]byte, pieceSize+1025)}, want: "impossible times or data"},
		"damaged":        {fetched: boardReply{Data: []byte("x"), SHA256: "00"}, want: "damaged on its way"},
		"not packed":     {fetched: piece([]byte("plain")), want: "The trace ends early"},
		"a bomb":         {fetched: piece(packed(strings.Repeat("#\n", 8<<20))), want: "the text is too long"},
		"an error":       {fetched: boardReply{Error: "\x1b[31mno perf\n"}, want: "no perf"},
		"no engines":     {want: "no engine for samples"},
		"other messages": {want: "connection ended"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := wire.Listen("127.0.0.1:0", secret)
			if err != nil {
				t.Fatal(err)
			}
			server := wire.Server{Protocol: boardProtocol, Token: secret}
			server.Serve = func(_ context.Context, c *wire.Conn, _ string, _ *slog.Logger) error {
				hello := boardHello{Engines: map[string]string{Samples: ""}}
				if name == "no engines" {
					hello.Engines = nil
				}
				if err := c.Write(hello, nil); err != nil {
					return err
				}
				for {
					var q boardRequest
					if err := c.Read(&q, time.Minute); err != nil || q.Op == opBye {
						return err
					}
					now := timeline.Monotonic().Now()
					r := boardReply{Received: now, Sent: now}
					switch {
					case q.Op == opClock && tc.clock != nil:
						r = tc.clock(now)
					case q.Op == opStop && (tc.stopped != nil || name == "does not describe"):
						r.Stopped = tc.stopped
					case q.Op == opStop:
						r.Stopped = &good
					case q.Op == opFetch && name == "other messages":
						return c.Write([]int{1}, nil)
					case q.Op == opFetch:
						r = tc.fetched
					}
					if err := c.Write(r, nil); err != nil {
						return err
					}
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- server.Run(ctx, l) }()
			defer func() {
				cancel()
				<-ended
			}()
			b := Board{Address: l.Addr().String(), TokenFile: tokenFile(t, secret)}
			s, err := OpenBoard(t.Context(), Options{Native: Samples, Dir: t.TempDir(), Limit: 1 << 20}, b)
			if err := s.Attach(); err != nil {
				t.Fatal(err)
			}
			_, stopErr := s.Stop(t.Context())
			infos, convertErr := s.Convert(t.Context(), "id")
			said := fmt.Sprint(errors.Join(err, s.Failed(), stopErr, convertErr))
			for _, i := range infos {
				said += strings.Join(i.Warnings, " ")
			}
			if !strings.Contains(said, tc.want) || strings.ContainsAny(said, "\x1b") {
				t.Errorf("%q; want %s", said, tc.want)
			}
		})
	}
}

// FuzzBoardSession has a rig that knows the token send anything. The agent removes its files.
func FuzzBoardSession(f *testing.F) {
	for _, said := range []string{
		`{"op":"clock"}`, `{"op":"start","engine":"samples","rate":997,"limit":2000000,"of":"hot","content":true}` +
			"\n" + `{"op":"content","on":true}` + "\n" + `{"op":"stop"}` + "\n" + `{"op":"fetch"}` + "\n" +
			`{"op":"fetch"}`,
		`{"op":"start","engine":"samples","rate":1,"limit":-1}` + "\n" + `{"op":"stop"}`,
		`{"op":"start","engine":"functions","of":"../x"}`, `{"op":"fetch"}`, `{"op":"bye"}`, `[]`, "\n",
	} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		made := &fakeSampler{text: func() string { return "text" }}
		a := &Agent{Dir: t.TempDir(), clock: timeline.Monotonic()}
		a.open = func(_ context.Context, o Options) (sampler, error) {
			made.dir = o.Dir
			return made, nil
		}
		mine, b := net.Pipe()
		upgraded := make(chan error, 1)
		s := &boardSession{agent: a, found: map[int32]string{}}
		go func() {
			var err error
			s.conn, err = wire.Plain(b)
			upgraded <- err
		}()
		var d websocket.Dialer
		d.NetDialContext = func(context.Context, string, string) (net.Conn, error) { return mine, nil }
		ws, _, err := d.Dial("ws://agent/", nil)
		if err := errors.Join(err, <-upgraded); err != nil {
			t.Fatal(err)
		}
		go func() {
			for { // replies
				if _, _, err := ws.ReadMessage(); err != nil {
					return
				}
			}
		}()
		go func() {
			for line := range strings.SplitSeq(said, "\n") {
				if ws.WriteMessage(websocket.TextMessage, []byte(line)) != nil {
					break
				}
			}
			ws.Close()
		}()
		_ = s.run(t.Context())
		_ = s.conn.Close()
		s.close()
		if left, _ := os.ReadDir(a.Dir); len(left) > 0 || s.state != boardIdle && !made.stopped {
			t.Fatalf("left %v, stopped %v", left, made.stopped)
		}
	})
}

// FuzzBoardReply: accepted replies have possible times and clean text.
func FuzzBoardReply(f *testing.F) {
	f.Add([]byte(`{"received_ns":1,"sent_ns":2,"stopped":{"begin_ns":1,"end_ns":2,"rate_hz":997,` +
		`"warnings":["a\u001b"],"processes":{"42":"hot\n"}}}`))
	f.Add([]byte(`{"received_ns":9223372036854775807,"sent_ns":-9223372036854775808,"data":"AAAA"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r boardReply
		if json.Unmarshal(text, &r) != nil || r.check() != nil {
			return
		}
		if r.Received > r.Sent || r.Stopped != nil && (r.Stopped.BeginNS > r.Stopped.EndNS || r.Stopped.Rate < 1) {
			t.Fatalf("%+v", r)
		}
		if again := r.check(); again != nil {
			t.Fatal(again)
		}
	})
}
