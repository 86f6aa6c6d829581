package profile

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/clock"
	"github.com/eideticker/eideticker/analyze/activity/perfscript"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

// Board is another machine, whose programs an agent records.
type Board struct {
	Address   string // host:port
	TokenFile string
	Of        string // begin of the name of the program; "": all programs
}

// OpenBoard is [Open] for programs of a board. [Session.Attach] starts it.
func OpenBoard(ctx context.Context, o Options, b Board) (*Session, error) {
	s, err := openAll(ctx, o, []opener{b.open})
	if o.Sockets || o.JS == jsTrace {
		err = errors.Join(err, &missingError{"sockets and js: trace", "agents of boards cannot record them", ""})
	}
	return s, err
}

// Ask connects to the agent of a board and returns its system. The error states why it cannot
// record.
func (b Board) Ask(ctx context.Context) (system string, err error) {
	conn, system, err := b.dial(ctx)
	if conn != nil {
		_ = conn.Close()
	}
	if err != nil {
		err = fmt.Errorf("agent at %s: %w", b.Address, err)
	}
	return system, err
}

// dial connects to the agent and reads its hello. The system is also known on some errors.
func (b Board) dial(ctx context.Context) (conn *wire.Conn, system string, err error) {
	token, err := wire.ReadToken(b.TokenFile)
	if err != nil {
		return nil, "", err
	}
	config, err := token.Config(boardProtocol, wire.RigSide, wire.AgentSide)
	if err != nil {
		return nil, "", err
	}
	plain, err := (&net.Dialer{Timeout: replyWithin}).DialContext(ctx, "tcp", b.Address)
	if err != nil {
		return nil, "", err
	}
	defer context.AfterFunc(ctx, func() { _ = plain.Close() })()
	var hello boardHello
	if conn, err = wire.Join(ctx, plain, config, boardProtocol); err == nil {
		err = conn.Read(&hello, workWithin)
	}
	why, known := hello.Engines[Samples]
	switch {
	case err != nil:
	case hello.Error+why != "":
		err = errors.New(activity.Clean(hello.Error + why))
	case !known:
		err = errors.New("it has no engine for samples")
	default:
		return conn, activity.Clean(hello.System), nil
	}
	_ = plain.Close()
	return nil, activity.Clean(hello.System), err
}

// board is the engine for samples of a board. It exchanges clock readings with the agent until the
// trace is fetched.
type board struct {
	Board
	o       Options
	info    activity.Info
	clock   timeline.Clock
	begun   bool
	stopped *boardStopped
	failed  error // of Stop
	quit    chan struct{}
	joined  sync.WaitGroup
	once    sync.Once

	mu        sync.Mutex // held for a request with its replies
	conn      *wire.Conn
	lost      error // the connection has ended
	exchanges []clock.Evidence
}

// boardFile is the raw file of a board's samples: the text of perf script.
const boardFile = "perf.txt.gz"

func (b Board) open(ctx context.Context, o Options) (engine, error) {
	why := ""
	switch way := o.native(); way {
	case none:
		return nil, nil
	case functions, imports:
		return nil, &missingError{way, "the agent of a board records programs that run already", "use samples"}
	case auto:
		why = "; other ways must start the program"
	}
	conn, system, err := b.dial(ctx)
	if err != nil {
		return nil, &missingError{Samples, fmt.Sprintf("agent at %s: %v", b.Address, err), "run eideticker doctor"}
	}
	e := &board{Board: b, o: o, clock: timeline.Monotonic(), quit: make(chan struct{}), conn: conn}
	target := b.Of
	if target == "" {
		target = "all programs"
	}
	e.info = activity.Info{Name: nativeDir, Engine: "perf", Way: Samples, Target: target,
		Why: fmt.Sprintf("the agent at %s, %s%s", b.Address, system, why)}
	if err = e.exchange(measurements); err != nil {
		e.close()
		return nil, &missingError{Samples, err.Error(), ""}
	}
	e.joined.Go(e.beat)
	return e, nil
}

const (
	measurements = 16     // exchanges in a row, before and after a recording
	maxExchanges = 10_000 // that are evidence
)

func (b *board) exchange(times int) (err error) {
	for i := 0; i < times && err == nil; i++ {
		_, err = b.ask(boardRequest{Op: opClock}, replyWithin)
	}
	return err
}

// beat exchanges readings of the clocks, so that their drift is known.
func (b *board) beat() {
	t := time.NewTicker(exchangeEvery)
	defer t.Stop()
	for {
		select {
		case <-b.quit:
			return
		case <-t.C:
			if b.exchange(1) != nil {
				return
			}
		}
	}
}

// ask sends a request and returns its reply. An error of the agent keeps the connection.
func (b *board) ask(q boardRequest, within time.Duration) (r boardReply, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost != nil {
		return r, b.lost
	}
	var asked timeline.Time
	if err = b.conn.Write(q, func() { asked = b.clock.Now() }); err == nil {
		err = b.conn.Read(&r, within)
	}
	heard := b.clock.Now()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("it did not answer within %v", within)
	}
	if err == nil {
		err = r.check()
	}
	switch {
	case err != nil:
		b.lost = fmt.Errorf("agent at %s: the connection ended: %w", b.Address, err)
		_ = b.conn.Close()
		return boardReply{}, b.lost
	case r.Error != "":
		err = fmt.Errorf("agent at %s: %s", b.Address, activity.Clean(r.Error))
	case q.Op == opClock && len(b.exchanges) < maxExchanges:
		b.exchanges = append(b.exchanges, clock.Evidence{Kind: "exchange", Witness: fmt.Sprint(len(b.exchanges)),
			Limits: []clock.Limit{{At: int64(r.Received), Time: int64(asked)},
				{At: int64(r.Sent), Time: int64(heard), Latest: true}}})
	}
	return r, err
}

// close ends the connection. The agent then removes its files.
func (b *board) close() {
	b.once.Do(func() {
		close(b.quit)
		b.joined.Wait()
		_ = b.conn.Write(boardRequest{Op: opBye}, nil) // the end of the connection says the same
		_ = b.conn.Close()
	})
}

func (b *board) Prepare(context.Context, *exec.Cmd) error {
	_, err := b.ask(boardRequest{Op: opStart, Engine: Samples, Rate: b.o.Rate, Limit: b.o.Limit, Of: b.Of,
		Content: b.o.Content}, workWithin)
	if err != nil {
		b.close()
		return &missingError{Samples, err.Error(), ""}
	}
	b.begun = true
	return nil
}

func (b *board) Started(int) {}

func (b *board) Content(on bool) {
	if _, err := b.ask(boardRequest{Op: opContent, On: on}, replyWithin); err != nil && b.failed == nil {
		b.failed = err
	}
}

// Stop ends the recording. Convert returns its error.
func (b *board) Stop(context.Context) (activity.Info, error) {
	if !b.begun {
		b.close()
		return b.info, nil
	}
	r, err := b.ask(boardRequest{Op: opStop}, workWithin)
	if b.stopped = r.Stopped; err == nil && b.stopped == nil {
		err = fmt.Errorf("agent at %s: it does not describe the recording", b.Address)
	}
	if err != nil {
		b.failed = err
	}
	return b.info, nil
}

func (b *board) discard() { b.close() }

// Convert fetches the text, and relates the clocks.
func (b *board) Convert(ctx context.Context, recording string, spans []timeline.Interval) (activity.Info, error) {
	info, err := b.convert(ctx, recording, spans)
	b.close()
	if err != nil {
		_ = os.RemoveAll(filepath.Join(b.o.Dir, nativeDir)) // it has no trace
		return info, fmt.Errorf("samples are lost: %w", err)
	}
	return info, nil
}

func (b *board) convert(ctx context.Context, recording string, spans []timeline.Interval) (activity.Info, error) {
	if b.failed != nil {
		return b.info, b.failed
	}
	raw, err := b.o.rawDir(nativeDir)
	if err != nil {
		return b.info, err
	}
	path := filepath.Join(raw, boardFile)
	if err := b.fetch(ctx, path); err != nil {
		return b.info, err
	}
	if err := b.exchange(measurements); err != nil {
		return b.info, err
	}
	s := b.stopped
	if b.Of != "" && len(s.Processes) == 0 {
		return b.info, fmt.Errorf("agent at %s: no process of %s ran; processes begin with that name", b.Address, b.Of)
	}
	relation, err := b.relate(ctx)
	if err != nil {
		return b.info, err
	}
	i := &b.info
	i.Recording, i.Raw, i.Clock, i.Command, i.RateHz = recording, []string{boardFile}, relation, []string{}, s.Rate
	i.BeginNS, i.EndNS, i.Warnings = s.BeginNS, s.EndNS, s.Warnings
	for k, span := range spans { // wider by the bounds of the clock
		begin, _ := relation.Inverse(int64(span.Earliest))
		_, end := relation.Inverse(int64(span.Latest))
		spans[k] = timeline.Interval{Earliest: timeline.Time(begin), Latest: timeline.Time(end)}
	}
	var counts perfscript.Counts
	info, err := convert(filepath.Join(b.o.Dir, nativeDir), b.info, spans,
		func(to activity.Sink) (_ map[string]int64, err error) {
			counts, err = readText(path, perfscript.Options{Names: s.Processes, Named: b.Of != "",
				Period: 1_000_000_000 / int64(s.Rate)}, b.o.originals(to))
			return counts.Skipped, err
		})
	if err == nil && counts.Lost > info.Lost {
		info.Lost = counts.Lost
		info.Warnings = append(info.Warnings, fmt.Sprintf("%d records are lost.", counts.Lost))
		err = info.Write(filepath.Join(b.o.Dir, nativeDir))
	}
	return info, err
}

// relate returns the relation of the clocks. Exchanges have no errors, so a contradiction is a
// clock that stood still or jumped.
func (b *board) relate(ctx context.Context) (activity.Clock, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, err := clock.Solve(ctx, b.exchanges, b.stopped.BeginNS, b.stopped.BeginNS, b.stopped.EndNS)
	if err == nil && len(r.Discarded) > 0 {
		err = fmt.Errorf("%d of %d exchanges contradict", len(r.Discarded), len(b.exchanges))
	}
	if err != nil {
		return activity.Clock{}, fmt.Errorf("clock of the board: %w; it may have slept", err)
	}
	return r.Clock, nil
}

// fetch writes the packed text to a file.
func (b *board) fetch(ctx context.Context, path string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	sum := sha256.New()
	for left := b.o.Limit; ; {
		r, err := b.ask(boardRequest{Op: opFetch}, pieceWithin)
		left -= int64(len(r.Data))
		if err == nil {
			_, err = io.MultiWriter(sum, out).Write(r.Data)
		}
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case left < 0:
			return fmt.Errorf("agent at %s: it sends more than %d bytes", b.Address, b.o.Limit)
		case r.SHA256 == "":
		case r.SHA256 != hex.EncodeToString(sum.Sum(nil)):
			return fmt.Errorf("agent at %s: the trace was damaged on its way", b.Address)
		default:
			return nil
		}
	}
}

// Limits of an unpacked text.
const (
	maxText  = 8 << 30
	maxRatio = 200
)

// readText reads a packed text of perf script.
func readText(path string, o perfscript.Options, to activity.Sink) (counts perfscript.Counts, err error) {
	f, err := os.Open(path)
	if err != nil {
		return counts, err
	}
	defer f.Close() // only read
	st, err := f.Stat()
	if err != nil {
		return counts, err
	}
	text, err := gzip.NewReader(f)
	if err != nil {
		return counts, err
	}
	limited := &io.LimitedReader{R: text, N: min(maxText, maxRatio*(st.Size()+4096))}
	counts, err = perfscript.Read(limited, o, to)
	if err == nil && limited.N == 0 {
		err = errors.New("the text is too long")
	}
	return counts, err
}
