//go:build linux && (amd64 || arm64)

package sockets_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/sockets"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/capture/timeline"
	record "github.com/eideticker/eideticker/controller/profile/sockets"
)

// partEnv names the part that this test binary plays as a recorded program.
const partEnv = "EIDETICKER_TEST_SOCKETS"

func TestMain(m *testing.M) {
	if part := os.Getenv(partEnv); part != "" {
		out, err := play(part, os.Args[1:])
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(out)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// played is what a recorded program reports.
type played struct {
	PID, TID    int
	BeforeRead  int64 // times of CLOCK_MONOTONIC
	AfterPoll   int64
	AfterRead   int64
	Wrote, Read int64
	Calls       int
}

func now() int64 { return int64(timeline.Monotonic().Now()) }

// recordable ends a test where the kernel or rights do not allow recording.
func recordable(t testing.TB) {
	t.Helper()
	err := record.Check()
	var missing *record.MissingError
	switch {
	case err == nil:
	case errors.As(err, &missing) && (missing.Kernel || os.Getenv("CI") != "true"):
		t.Skipf("cannot record here: %v", err)
	default:
		t.Fatal(err)
	}
}

// recorded records a part, and returns its report and the table.
func recorded(t *testing.T, o record.Options, part string, args ...string) (played, *sockets.Table, record.Info) {
	t.Helper()
	recordable(t)
	var file bytes.Buffer
	r, err := record.Open(&file, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), partEnv+"="+part)
	cmd.Stderr = os.Stderr
	r.Prepare(cmd)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", part, err)
	}
	info, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	var p played
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	table, err := sockets.Decode(&file)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Skipped) > 0 {
		t.Errorf("skipped records: %v", table.Skipped)
	}
	return p, table, info
}

// only returns the calls with a name.
func only(t *sockets.Table, names ...sockets.Name) (all []sockets.Call) {
	for _, c := range t.Calls {
		if slices.Contains(names, c.Name) {
			all = append(all, c)
		}
	}
	return all
}

// listen accepts a connection for each call of handle until the test ends.
func listen(t testing.TB, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				handle(c)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// dial connects a blocking socket.
func dial(address string) (int, error) {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	return fd, unix.Connect(fd, &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())})
}

func play(part string, args []string) (p played, err error) {
	runtime.LockOSThread()
	p.PID, p.TID = os.Getpid(), unix.Gettid()
	switch part {
	case "sleep":
		return p, p.sleep(args[0])
	case "refused":
		if _, err = dial(args[0]); errors.Is(err, unix.ECONNREFUSED) {
			err = nil
		}
		return p, err
	case "partial":
		return p, p.partial(args[0], args[1])
	case "messages":
		return p, p.messages(args[0])
	case "processes":
		return p, p.processes(args[0])
	case "child":
		return p, write(args[0])
	case "stay":
		return p, stay()
	case "flood":
		return p, p.flood()
	case "echo":
		return p, echo(args[0])
	default:
		return p, fmt.Errorf("unknown part %q", part)
	}
}

// sleep polls for an answer, sleeps, and reads it.
func (p *played) sleep(address string) error {
	fd, err := dial(address)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, []byte("?")); err != nil {
		return err
	}
	for n := 0; n == 0 || errors.Is(err, unix.EINTR); {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
	}
	p.AfterPoll = now()
	time.Sleep(250 * time.Millisecond)
	p.BeforeRead = now()
	n, err := unix.Read(fd, make([]byte, 100))
	p.AfterRead = now()
	p.Read = int64(n)
	return errors.Join(err, unix.Close(fd))
}

// partial writes until a socket is full.
func (p *played) partial(address, size string) error {
	fd, err := dial(address)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(size)
	for b := make([]byte, n); err == nil; {
		n, _, e := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
			unix.MSG_DONTWAIT, 0, 0)
		if e != 0 {
			err = e
			break
		}
		p.Wrote += int64(n)
	}
	if !errors.Is(err, unix.EAGAIN) {
		return err
	}
	return unix.Close(fd)
}

// messages sends datagrams, and receives one from itself.
func (p *played) messages(address string) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	to := &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
	if err := unix.Connect(fd, to); err != nil {
		return err
	}
	n, err := unix.SendmsgN(fd, []byte("datagram"), nil, nil, 0)
	if err != nil {
		return err
	}
	p.Wrote = int64(n)
	var all [3]struct {
		unix.Msghdr
		n uint32
		_ uint32
	}
	text := []byte("three")
	part := unix.Iovec{Base: &text[0]}
	part.SetLen(len(text))
	for i := range all {
		all[i].Iov = &part
		all[i].SetIovlen(1)
	}
	if _, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&all)), uintptr(len(all)), 0, 0,
		0); e != 0 {
		return e
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	if _, err := unix.Write(pair[0], []byte("datagram")); err != nil {
		return err
	}
	for _, flags := range []int{unix.MSG_PEEK, 0} {
		if _, _, _, _, err := unix.Recvmsg(pair[1], make([]byte, 100), nil, flags); err != nil {
			return err
		}
	}
	return nil
}

// processes writes 10 bytes from each of 4 threads, and from a child.
func (p *played) processes(address string) error {
	failed := make(chan error)
	for range 4 {
		go func() {
			runtime.LockOSThread() // and ends the thread, so that each has its own
			failed <- write(address)
		}()
	}
	var err error
	for range 4 {
		err = errors.Join(err, <-failed)
	}
	cmd := exec.Command(os.Args[0], address)
	cmd.Env = append(os.Environ(), partEnv+"=child")
	return errors.Join(err, cmd.Run())
}

func write(address string) error {
	fd, err := dial(address)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte("ten bytes."))
	return errors.Join(err, unix.Close(fd))
}

// stay receives from a socket until its input ends.
func stay() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = unix.Shutdown(pair[0], unix.SHUT_RDWR)
	}()
	fmt.Println(unix.Gettid())
	_, _, err = unix.Recvfrom(pair[1], make([]byte, 1), 0)
	return err
}

// flood writes and reads many times.
func (p *played) flood() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	b := make([]byte, 1)
	for p.Calls = range 20_000 {
		if _, err := unix.Write(pair[0], b); err != nil {
			return err
		}
		if _, err := unix.Read(pair[1], b); err != nil {
			return err
		}
	}
	p.Calls++
	return nil
}

// echo sends and receives over a connection.
func echo(address string) error {
	fd, err := dial(address)
	if err != nil {
		return err
	}
	b := make([]byte, 64)
	for range 20_000 {
		if _, err := unix.Write(fd, b); err != nil {
			return err
		}
		if _, err := unix.Read(fd, b); err != nil {
			return err
		}
	}
	return unix.Close(fd)
}

// BenchmarkEcho compares a program that only sends and receives with itself: recorded, traced by
// strace, and plain. They take turns. The ratios are those of CPU time.
func BenchmarkEcho(b *testing.B) {
	recordable(b)
	address := listen(b, func(c net.Conn) { _, _ = io.Copy(c, c) })
	run := func(prepare func(*exec.Cmd), name string, args ...string) time.Duration {
		cmd := exec.Command(name, append(args, address)...)
		cmd.Env = append(os.Environ(), partEnv+"=echo")
		if prepare != nil {
			prepare(cmd)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	var plain, recorded, traced time.Duration
	var lost int64
	for b.Loop() {
		plain += run(nil, os.Args[0])
		r, err := record.Open(io.Discard, record.Options{})
		if err != nil {
			b.Fatal(err)
		}
		recorded += run(r.Prepare, os.Args[0])
		info, err := r.Stop()
		if err = errors.Join(err, r.Close()); err != nil || info.Calls+info.Lost < 40_000 {
			b.Fatal(info, err)
		}
		lost += info.Lost
		traced += run(nil, "strace", "-f", "-qq", "-e", "trace=network,read,write", "-o", os.DevNull, os.Args[0])
	}
	b.ReportMetric(float64(recorded)/float64(plain), "recorded/plain")
	b.ReportMetric(float64(traced)/float64(plain), "strace/plain")
	b.ReportMetric(float64(lost)/float64(b.N), "lost/op")
}

func TestBytesWaitUntilTheyAreRead(t *testing.T) {
	address := listen(t, func(c net.Conn) {
		if _, err := io.ReadFull(c, make([]byte, 1)); err == nil {
			_, _ = c.Write([]byte("hello"))
			_, _ = c.Read(make([]byte, 1))
		}
	})
	p, table, info := recorded(t, record.Options{}, "sleep", address)
	reads, polls := only(table, sockets.Read), only(table, sockets.Ppoll, sockets.Poll)
	if len(reads) != 1 || reads[0].Bytes() != 5 || reads[0].Offset != 5 || len(polls) != 1 || polls[0].Result != 1 {
		t.Fatalf("reads %v and polls %v, want one each of 5 bytes", reads, polls)
	}
	read, poll := reads[0], polls[0]
	if poll.End > p.AfterPoll || read.Begin < p.BeforeRead || read.End > p.AfterRead {
		t.Errorf("poll ended at %d and read was %d to %d; the program saw %+v", poll.End, read.Begin, read.End, p)
	}
	if own := p.BeforeRead - p.AfterPoll; read.Begin-poll.End < own || own < 250e6 {
		t.Errorf("%d ns from poll to read, the program slept %d ns", read.Begin-poll.End, own)
	}
	waits := table.Waits(nil, nil, func(h activity.Thread) int { return int(h.ID) })
	// The poll is the longest wait if the server answers late.
	i := slices.IndexFunc(waits, func(w result.SocketWait) bool { return w.Call == "read" })
	if i < 0 || waits[i].Bytes != 5 || waits[i].Thread != p.TID ||
		!slices.IsSortedFunc(waits, func(a, b result.SocketWait) int {
			return cmp.Compare(b.EndNS-b.BeginNS, a.EndNS-a.BeginNS)
		}) {
		t.Fatalf("waits: %+v, want that of the bytes, and the longest first", waits)
	}
	if !info.Arrivals {
		t.Skip("the kernel does not report arrivals at sockets")
	}
	// The bytes came after the program had asked, and before its poll returned.
	w, asked := waits[i], only(table, sockets.Write)[0].Begin
	if waited := w.EndNS - w.BeginNS; waited < read.Begin-poll.End || waited > p.AfterRead-asked || w.BeginNS < asked ||
		w.BeginNS > poll.End || w.LinkNS != w.BeginNS {
		t.Errorf("the bytes waited %d ns, want %d to %d: %+v", waited, read.Begin-poll.End, p.AfterRead-asked, w)
	}
	if want := "5 bytes of fd"; !strings.HasPrefix(w.Text, want) {
		t.Errorf("text %q, want %s…", w.Text, want)
	}
}

// TestCallsHaveResults covers errors, partial writes, messages, threads and children.
func TestCallsHaveResults(t *testing.T) {
	const size = 8 << 20 // more than both ends buffer
	address := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	stuck := make(chan struct{})
	full := listen(t, func(net.Conn) { <-stuck })
	defer close(stuck)
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = udp.Close() }()

	t.Run("refused", func(t *testing.T) {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		closed := l.Addr().String()
		_ = l.Close()
		_, table, _ := recorded(t, record.Options{}, "refused", closed)
		calls := only(table, sockets.Connect)
		if len(calls) != 1 || calls[0].Result != -int64(unix.ECONNREFUSED) ||
			table.Sockets[calls[0].Socket].Remote.String() != closed ||
			!strings.HasSuffix(table.Text(&calls[0]), closed+": ECONNREFUSED") {
			t.Errorf("calls %v of %v, want one to %s that is refused", calls, table.Sockets, closed)
		}
	})
	t.Run("partial", func(t *testing.T) {
		p, table, _ := recorded(t, record.Options{}, "partial", full, strconv.Itoa(size))
		var sent, failed int64
		for _, c := range only(table, sockets.Sendto) {
			sent += c.Bytes()
			if c.Result == -int64(unix.EAGAIN) {
				failed++
			}
		}
		if sent != p.Wrote || sent >= size || sent == 0 || failed != 1 {
			t.Errorf("%d bytes sent and %d calls failed, want %d and 1", sent, failed, p.Wrote)
		}
	})
	t.Run("messages", func(t *testing.T) {
		p, table, _ := recorded(t, record.Options{}, "messages", udp.LocalAddr().String())
		if c := only(table, sockets.Sendmsg); len(c) != 1 || c[0].Bytes() != p.Wrote ||
			table.Sockets[c[0].Socket].Remote.String() != udp.LocalAddr().String() ||
			table.Sockets[c[0].Socket].Type != unix.SOCK_DGRAM {
			t.Errorf("sendmsg %v of %v, want one of %d bytes", c, table.Sockets, p.Wrote)
		}
		if c := only(table, sockets.Sendmmsg); len(c) != 1 || c[0].Messages() != 3 || c[0].Bytes() != 0 {
			t.Errorf("sendmmsg %v, want one of 3 messages", c)
		}
		if c := only(table, sockets.Recvmsg); len(c) != 2 || c[0].Flags != sockets.Peek || c[1].Flags != 0 ||
			c[1].Bytes() != p.Wrote {
			t.Errorf("recvmsg %v, want a peek and one of %d bytes", c, p.Wrote)
		}
	})
	t.Run("processes", func(t *testing.T) {
		p, table, _ := recorded(t, record.Options{}, "processes", address)
		writers := map[activity.Thread]int64{}
		for _, c := range only(table, sockets.Write) {
			writers[table.Threads[c.Thread]] += c.Bytes()
		}
		own, others := 0, 0
		for h, n := range writers {
			if h.Process == int32(p.PID) {
				own++
			} else {
				others++
			}
			if n != 10 || h.Start <= 0 || h.Start > now() {
				t.Errorf("thread %+v wrote %d bytes", h, n)
			}
		}
		if own != 4 || others != 1 {
			t.Errorf("%d own threads and %d children wrote: %v", own, others, writers)
		}
	})
	t.Run("others", func(t *testing.T) {
		// This process is not selected, though it uses the same sockets.
		recordable(t)
		var file bytes.Buffer
		r, err := record.Open(&file, record.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fd, err := dial(address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = unix.Write(fd, []byte("x"))
		if err = errors.Join(err, unix.Close(fd), r.Close()); err != nil {
			t.Fatal(err)
		}
		table, err := sockets.Decode(&file)
		if err != nil || len(table.Calls) > 0 || len(table.Arrivals) > 0 {
			t.Errorf("%v; calls %v and %d arrivals, want none", err, table.Calls, len(table.Arrivals))
		}
	})
}

func TestOpenCallsAreInTheFile(t *testing.T) {
	recordable(t)
	var file bytes.Buffer
	r, err := record.Open(&file, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), partEnv+"=stay")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Prepare(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n') // it is about to receive
	if err != nil {
		t.Fatal(err)
	}
	tid := strings.TrimSpace(line)
	for entered := false; !entered; runtime.Gosched() {
		b, err := os.ReadFile(filepath.Join("/proc", tid, "syscall"))
		if err != nil {
			t.Fatal(err)
		}
		entered = strings.HasPrefix(string(b), strconv.Itoa(unix.SYS_RECVFROM)+" ")
	}
	info, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	table, err := sockets.Decode(&file)
	if err != nil {
		t.Fatal(err)
	}
	calls := only(table, sockets.Recvfrom)
	if len(calls) != 1 || calls[0].Flags != sockets.Unfinished || calls[0].End != info.End {
		t.Errorf("calls %v, want one until %d", calls, info.End)
	}
	// The cgroup is removed while its process runs.
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestLostRecordsAreCounted(t *testing.T) {
	p, table, info := recorded(t, record.Options{Ring: os.Getpagesize()}, "flood")
	calls := only(table, sockets.Write)
	if info.Lost == 0 || table.Lost() != info.Lost || len(calls) == 0 {
		t.Fatalf("%d records lost, %d in gaps, %d calls", info.Lost, table.Lost(), len(calls))
	}
	// Records of both ends of each write, its socket's arrival is not one of the internet.
	total := int64(len(only(table, sockets.Write, sockets.Read, sockets.Close))) + table.Lost()
	if total < int64(2*p.Calls) {
		t.Errorf("%d records and lost ones, of %d calls", total, 2*p.Calls)
	}
	for _, g := range table.Gaps {
		if g.End < g.Begin || g.Begin < info.Begin || g.End > info.End || g.Lost <= 0 {
			t.Errorf("gap %+v outside of %d to %d", g, info.Begin, info.End)
		}
	}
}

func TestFileHasALimit(t *testing.T) {
	_, table, info := recorded(t, record.Options{Limit: 40 << 10}, "flood")
	if !info.Full || len(table.Calls) == 0 || table.End != info.End {
		t.Errorf("info %+v with %d calls until %d", info, len(table.Calls), table.End)
	}
}

// TestFullDiskEndsTheRecording: the program goes on, and the file ends with the last whole record.
//
// Fault: The disk fills up while a profile is recorded
func TestFullDiskEndsTheRecording(t *testing.T) {
	recordable(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	r, err := record.Open(full, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), partEnv+"=flood")
	r.Prepare(cmd)
	before := now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	info, err := r.Stop()
	if !errors.Is(err, unix.ENOSPC) || info.Full || info.End < info.Begin || info.End > now() || info.Begin > before {
		t.Errorf("info %+v, error %v", info, err)
	}
	if err := r.Close(); !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
}

// TestCallsAreThoseOfStrace compares counts of calls by name with those of strace.
func TestCallsAreThoseOfStrace(t *testing.T) {
	recordable(t)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal(err)
	}
	address := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = udp.Close() }()
	network := []sockets.Name{sockets.Connect, sockets.Accept, sockets.Accept4, sockets.Sendto, sockets.Sendmsg,
		sockets.Sendmmsg, sockets.Recvfrom, sockets.Recvmsg, sockets.Recvmmsg}
	for _, part := range [][]string{{"messages", udp.LocalAddr().String()}, {"processes", address}} {
		_, table, _ := recorded(t, record.Options{}, part[0], part[1:]...)
		ours := map[string]int{}
		for _, c := range only(table, network...) {
			ours[c.Name.String()]++
		}
		log := filepath.Join(t.TempDir(), "strace")
		cmd := exec.Command(strace, append([]string{"-f", "-qq", "-e", "trace=network", "-e", "signal=none", "-o", log,
			os.Args[0]}, part[1:]...)...)
		cmd.Env = append(os.Environ(), partEnv+"="+part[0])
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("strace: %v: %s", err, out)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		theirs := map[string]int{}
		for line := range strings.Lines(string(text)) {
			_, call, _ := strings.Cut(line, " ")
			name, _, _ := strings.Cut(strings.TrimSpace(call), "(")
			if slices.ContainsFunc(network, func(n sockets.Name) bool { return n.String() == name }) {
				theirs[name]++
			}
		}
		if !maps.Equal(ours, theirs) || len(ours) == 0 {
			t.Errorf("%s: calls %v, strace has %v", part[0], ours, theirs)
		}
	}
}
