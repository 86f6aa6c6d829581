package profile

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/perfetto"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/internal/devtools"
)

const (
	pipeFlag     = "--remote-debugging-pipe"
	tracePart    = 1 << 20 // bytes of an answer
	chromiumFile = "trace.pftrace"
	// shortPatience is the longest wait for the begin of a trace that the page awaits.
	shortPatience = patience / 2
)

// chromium records Chromium's trace by a pipe to its developer tools. Pages cannot reach the pipe.
// Chromium ends with the pipe, so it stays open until then. Chromium has one pipe. If another user
// opened it, the trace takes that user's connection.
type chromium struct {
	tracer
	ctx      context.Context
	cancel   context.CancelCauseFunc
	shared   bool // the connection is another user's
	to, from *os.File
	theirs   []*os.File
	conn     *devtools.Conn // nil: the browser was not started
	joined   sync.WaitGroup
}

func newChromium(t tracer) *chromium {
	t.reader = perfetto.Read
	return &chromium{tracer: t}
}

func (c *chromium) Prepare(ctx context.Context, cmd *exec.Cmd) error {
	raw, at, err := c.prepare(cmd, "chrom")
	if err != nil {
		return err
	}
	c.ctx, c.file = ctx, filepath.Join(raw, chromiumFile)
	switch c.shared = slices.Contains(cmd.Args, pipeFlag); {
	case c.shared:
		return nil
	case len(cmd.ExtraFiles) > 0:
		return &missingError{jsDir, "files 3 and 4 of the browser are in use", ""}
	}
	in, to, err := os.Pipe()
	if err != nil {
		return err
	}
	from, out, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close(), to.Close())
	}
	c.to, c.from, c.theirs = to, from, []*os.File{in, out}
	cmd.ExtraFiles = c.theirs // files 3 and 4, as the browser expects
	cmd.Args = slices.Insert(cmd.Args, at+1, pipeFlag)
	return nil
}

// traceConfig selects the records. The browser keeps them in its memory until the end. A brief
// trace has no samples of scripts.
func (t *tracer) traceConfig() json.RawMessage {
	samples := `, "disabled-by-default-v8.cpu_profiler"`
	if t.brief {
		samples = ""
	}
	return json.RawMessage(`{"transferMode": "ReturnAsStream", "streamFormat": "proto",
	"traceConfig": {"recordMode": "recordUntilFull", "traceBufferSizeInKb": 409600, "includedCategories": [
	"devtools.timeline", "v8", "blink.user_timing", "disabled-by-default-v8.gc"` + samples + `],
	"excludedCategories": ["*"]}}`)
}

func (c *chromium) Started(pid int) {
	if c.root = pid; c.shared {
		c.failed = errors.New("the developer tools were not opened")
		return // see inspected
	}
	for _, f := range c.theirs {
		_ = f.Close() // the browser has its own
	}
	c.conn = devtools.New(struct {
		io.Reader
		io.Writer
	}{c.from, c.to}, devtools.TraceComplete)
	var ctx context.Context
	ctx, c.cancel = context.WithCancelCause(c.ctx)
	c.joined.Go(func() { c.begin(ctx) })
}

// inspected implements [inspector].
func (c *chromium) inspected(ctx context.Context, conn *devtools.Conn) {
	if c.shared && c.root != 0 {
		c.conn = conn
		ctx, cancel := context.WithTimeoutCause(ctx, shortPatience, fmt.Errorf("no answer within %v", shortPatience))
		defer cancel()
		c.begin(ctx)
	}
}

func (c *chromium) begin(ctx context.Context) {
	var ignored json.RawMessage
	c.failed = c.conn.Call(ctx, "", "Tracing.start", c.traceConfig(), &ignored)
	c.info.BeginNS = int64(timeline.Monotonic().Now())
}

func (c *chromium) Stop(ctx context.Context) (activity.Info, error) {
	if c.conn == nil {
		return c.info, nil
	}
	if !c.shared {
		late := time.AfterFunc(patience, func() { c.cancel(errSilent) })
		c.joined.Wait()
		late.Stop()
		c.cancel(nil)
	}
	c.ids = namespaces(c.root)
	if c.failed == nil {
		c.failed = c.fetch(ctx)
	}
	if !c.shared {
		c.conn.Close()
	}
	c.info.EndNS = int64(timeline.Monotonic().Now())
	return c.info, nil
}

// fetch ends the trace and reads it. An incomplete one is a warning.
func (c *chromium) fetch(ctx context.Context) (err error) {
	var ignored json.RawMessage
	if err := c.call(ctx, "Tracing.end", struct{}{}, &ignored); err != nil {
		return err
	}
	var done struct {
		Lost   bool   `json:"dataLossOccurred"`
		Stream string `json:"stream"`
	}
	timed, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	if err := c.conn.Event(timed, &done); err != nil {
		return err
	}
	c.lost = done.Lost
	f, err := os.Create(c.file)
	if err != nil {
		return err
	}
	size, err := c.copy(ctx, f, done.Stream)
	if err = errors.Join(err, f.Close()); err != nil && size > 0 {
		c.warn("The trace ends early: %v.", err)
		return nil
	}
	return err
}

// errSilent is the error of a browser that does not answer.
var errSilent = fmt.Errorf("no answer within %v", patience)

func (c *chromium) call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	return c.conn.Call(ctx, "", method, params, result)
}

// copy reads a stream of the browser and returns its size.
func (c *chromium) copy(ctx context.Context, to io.Writer, stream string) (size int64, err error) {
	for {
		var part struct {
			Data   string `json:"data"`
			Base64 bool   `json:"base64Encoded"`
			EOF    bool   `json:"eof"`
		}
		if err := c.call(ctx, "IO.read", map[string]any{"handle": stream, "size": tracePart}, &part); err != nil {
			return size, err
		}
		data := []byte(part.Data)
		if part.Base64 {
			if data, err = base64.StdEncoding.DecodeString(part.Data); err != nil {
				return size, fmt.Errorf("IO.read: %w", err)
			}
		}
		n, err := to.Write(data[:min(int64(len(data)), c.o.Limit-size)])
		size += int64(n)
		switch {
		case err != nil:
			return size, err
		case n < len(data):
			return size, fmt.Errorf("it has more than %d bytes", c.o.Limit)
		case part.EOF:
			return size, nil
		case n == 0:
			return size, errors.New("IO.read: an empty part")
		}
	}
}

func (c *chromium) Convert(ctx context.Context, recording string, spans []timeline.Interval) (activity.Info, error) {
	c.discard()
	return c.tracer.Convert(ctx, recording, spans)
}

// discard closes the pipe. The browser has ended, or it was not started.
func (c *chromium) discard() {
	for _, f := range append(c.theirs, c.to, c.from) {
		_ = f.Close() // some are closed
	}
}
