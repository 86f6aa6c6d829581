package profile

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

// Agent records programs of its machine for rigs with the token. It serves one rig at a time. It
// runs perf only, with arguments of its own.
type Agent struct {
	Token wire.Token
	Dir   string // for records; a recording's files are below it until its rig has gone
	Log   *slog.Logger

	clock timeline.Clock                                  // of the times of sample; nil: the kernel's
	open  func(context.Context, Options) (sampler, error) // nil: perf
	using sync.Mutex
}

// sampler samples a whole machine.
type sampler interface {
	Prepare(context.Context, *exec.Cmd) error
	Content(on bool)
	Stop(context.Context) (activity.Info, error)
	script(context.Context) (text io.Reader, end func(error) error, err error)
}

func openWhole(ctx context.Context, o Options) (sampler, error) {
	p := &perf{recorder: recorder{o: o}, whole: true}
	return p, p.check(ctx)
}

// recordDir is the folder of a recording in the folder of the agent.
const recordDir = "recording"

// Serve serves rigs until ctx ends, and closes the listener.
func (a *Agent) Serve(ctx context.Context, l net.Listener) error {
	if a.open == nil {
		a.open = openWhole
	}
	if a.clock == nil {
		a.clock = kernelClock{namespaceOffset()}
	}
	if a.Log == nil {
		a.Log = slog.New(slog.DiscardHandler)
	}
	err := os.MkdirAll(a.Dir, 0o700)
	if err == nil {
		err = os.RemoveAll(filepath.Join(a.Dir, recordDir)) // of an agent that was killed
	}
	if err == nil {
		server := wire.Server{Protocol: boardProtocol, Token: a.Token, Log: a.Log, Serve: a.serve}
		err = server.Run(ctx, l)
	}
	if err != nil {
		return fmt.Errorf("serve profiles: %w", err)
	}
	return nil
}

// kernelClock is the clock of perf. A time namespace shifts that of its processes, but not perf's.
type kernelClock struct{ shift time.Duration }

func (c kernelClock) Now() timeline.Time { return timeline.Monotonic().Now().Add(-c.shift) }

// namespaceOffset returns the shift of CLOCK_MONOTONIC in the time namespace; 0: there is none.
func namespaceOffset() time.Duration {
	text, _ := os.ReadFile("/proc/self/timens_offsets") // a kernel before 5.6 has none
	for line := range strings.Lines(string(text)) {
		var seconds, ns int64
		if _, err := fmt.Sscanf(line, "monotonic %d %d", &seconds, &ns); err == nil {
			return time.Duration(seconds)*time.Second + time.Duration(ns)
		}
	}
	return 0
}

// serve serves a rig. Keys of a connection depend on the protocol, so the rig has the same.
func (a *Agent) serve(ctx context.Context, c *wire.Conn, _ string, log *slog.Logger) error {
	if !a.using.TryLock() {
		busy := errors.New("another rig uses the agent")
		return errors.Join(busy, c.Write(boardHello{Error: busy.Error()}, nil))
	}
	defer a.using.Unlock()
	var u unix.Utsname
	_ = unix.Uname(&u) // it never fails
	hello := boardHello{Engines: map[string]string{Samples: "", "sockets": "the agent cannot record them"},
		System: fmt.Sprintf("Linux %s %s, user %d", unix.ByteSliceToString(u.Release[:]),
			unix.ByteSliceToString(u.Machine[:]), os.Geteuid())}
	if _, err := a.open(ctx, Options{Native: Samples, Rate: defaultRate}); err != nil {
		hello.Engines[Samples] = boardText(err)
	}
	if err := c.Write(hello, nil); err != nil {
		return err
	}
	log.Info("rig has come")
	s := &boardSession{agent: a, conn: c, found: map[int32]string{}}
	defer s.close()
	err := s.run(ctx)
	log.Info("rig has gone")
	return err
}

// boardSession is the recording of one rig.
type boardSession struct {
	agent   *Agent
	conn    *wire.Conn
	of      string
	state   boardState
	sampler sampler
	info    boardStopped
	found   map[int32]string // processes of the program

	text io.Reader // of perf script, from the first opFetch
	end  func(error) error
	sum  hash.Hash
}

// boardState is the state of a recording.
type boardState uint8

const (
	boardIdle boardState = iota
	boardRecording
	boardComplete
	boardFetched
)

// run returns nil if the rig said goodbye.
func (s *boardSession) run(ctx context.Context) error {
	for {
		var q boardRequest
		if err := s.conn.Read(&q, requestWithin); err != nil {
			return err
		}
		r := boardReply{Received: s.agent.clock.Now()}
		var err error
		switch {
		case q.Op == opBye:
			return nil
		case q.Op == opClock:
		case q.Op == opStart && s.state == boardIdle:
			err = s.start(ctx, q)
		case q.Op == opContent && s.state == boardRecording:
			s.sampler.Content(q.On)
		case q.Op == opStop && s.state == boardRecording:
			r.Stopped = s.stop(ctx)
		case q.Op == opFetch && s.state == boardComplete:
			err = s.fetch(ctx, &r)
		default:
			err = fmt.Errorf("operation %.40q now: %w", q.Op, errors.ErrUnsupported)
		}
		if err != nil {
			r.Error = boardText(err)
		}
		if err := s.conn.Write(&r, func() { r.Sent = s.agent.clock.Now() }); err != nil {
			return err
		}
		if s.state == boardRecording {
			s.look()
		}
	}
}

// start starts a recording.
func (s *boardSession) start(ctx context.Context, q boardRequest) error {
	o := Options{Native: q.Engine, Rate: q.Rate, Limit: q.Limit, Content: q.Content,
		Dir: filepath.Join(s.agent.Dir, recordDir)}
	if q.Engine != Samples || q.Of != "" && !programName.MatchString(q.Of) || q.Limit > defaultLimit {
		return fmt.Errorf("engine %.40q, program %.40q or limit %d: %w", q.Engine, q.Of, q.Limit, errors.ErrUnsupported)
	}
	if err := o.check(); err != nil {
		return err
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(s.agent.Dir, &disk); err != nil {
		return err
	}
	free := int64(disk.Bavail) * disk.Bsize / 2
	if free < 16<<20 {
		return fmt.Errorf("the board is full: half of %s is %d bytes", s.agent.Dir, free)
	}
	if free < o.Limit {
		s.info.Warnings = append(s.info.Warnings, fmt.Sprintf("The board has %d free bytes. Half of them is the limit.",
			2*free))
		o.Limit = free
	}
	made, err := s.agent.open(ctx, o)
	if err != nil {
		return err
	}
	s.of = q.Of
	s.look()
	if err := made.Prepare(ctx, nil); err != nil {
		return errors.Join(err, os.RemoveAll(o.Dir))
	}
	s.state, s.sampler, s.info.BeginNS = boardRecording, made, int64(s.agent.clock.Now())
	return nil
}

// look finds processes of the program.
func (s *boardSession) look() {
	if s.of == "" {
		return
	}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		program, err := os.Readlink(folder + "/exe")
		if _, known := s.found[int32(pid)]; err != nil || known || !strings.HasPrefix(filepath.Base(program), s.of) {
			continue // the kernel's, ended, or another program's
		}
		names := processNames(pid)
		for child := range descendants(pid) {
			if len(s.found) < maxProcesses {
				s.found[int32(child)] = names[int32(child)]
			}
		}
	}
}

// stop ends the recording.
func (s *boardSession) stop(ctx context.Context) *boardStopped {
	s.look()
	s.state = boardComplete
	info, err := s.sampler.Stop(ctx)
	ago := timeline.Monotonic().Now().Sub(timeline.Time(info.EndNS)) // it may have ended early
	s.info.EndNS = max(int64(s.agent.clock.Now().Add(-ago)), s.info.BeginNS)
	if err != nil {
		s.info.Warnings = append(s.info.Warnings, fmt.Sprintf("perf did not end well: %v.", err))
	}
	s.info.Rate, s.info.Processes = cmp.Or(info.RateHz, defaultRate), s.found
	s.info.Warnings = append(s.info.Warnings, info.Warnings...)
	s.info.Warnings = s.info.Warnings[:min(len(s.info.Warnings), maxWarnings)]
	return &s.info
}

// fetch packs the next piece of the recording's text. Packed pieces form one file.
func (s *boardSession) fetch(ctx context.Context, r *boardReply) (err error) {
	if s.text == nil {
		s.sum = sha256.New()
		if s.text, s.end, err = s.sampler.script(ctx); err != nil {
			s.state = boardFetched
			return err
		}
	}
	var piece bytes.Buffer
	packed, _ := gzip.NewWriterLevel(&piece, gzip.BestSpeed) // it is a valid level
	_, err = io.CopyN(packed, s.text, pieceSize)
	_ = packed.Close() // a buffer takes all
	r.Data = piece.Bytes()
	_, _ = s.sum.Write(r.Data) // it never fails
	if err != nil {
		s.state = boardFetched
		if errors.Is(err, io.EOF) {
			r.SHA256, err = hex.EncodeToString(s.sum.Sum(nil)), nil
		}
		err = s.end(err)
	}
	return err
}

// close ends the recording and removes its files.
func (s *boardSession) close() {
	switch {
	case s.state == boardIdle:
		return
	case s.state == boardRecording:
		s.stop(context.Background()) // the agent may end
	case s.state == boardComplete && s.text != nil:
		_ = s.end(net.ErrClosed) // nobody reads the rest
	}
	if err := os.RemoveAll(filepath.Join(s.agent.Dir, recordDir)); err != nil {
		s.agent.Log.Warn("remove the recording", "error", err)
	}
}
