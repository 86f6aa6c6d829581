// Package devtools calls Chrome's developer tools by a pipe. Messages are JSON and end with a zero
// byte. See https://chromedevtools.github.io/devtools-protocol/.
package devtools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Conn is a connection to a browser. It belongs to one goroutine.
type Conn struct {
	pipe  io.ReadWriter
	next  int
	came  json.RawMessage // the event's parameters; nil: it did not come
	heard chan message
	lost  error // after heard
	stop  context.CancelFunc
}

// message is the answer to a command, or an event. Events have no ID.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// TraceComplete is the event at the end of a trace.
const TraceComplete = "Tracing.tracingComplete"

// maxMessage limits a message of the browser.
const maxMessage = 4 << 20

// New reads from the pipe until that ends or Close is called. It drops all events but those of one
// method.
func New(pipe io.ReadWriter, event string) *Conn {
	ctx, stop := context.WithCancel(context.Background())
	c := &Conn{pipe: pipe, heard: make(chan message), lost: io.ErrClosedPipe, stop: stop}
	go func() {
		defer close(c.heard)
		messages := bufio.NewScanner(pipe)
		messages.Buffer(nil, maxMessage)
		messages.Split(byZero)
		for messages.Scan() {
			var m message
			if json.Unmarshal(messages.Bytes(), &m) != nil || m.ID == 0 && (m.Method != event || event == "") {
				continue
			}
			select {
			case c.heard <- m:
			case <-ctx.Done():
				return
			}
		}
		c.lost = errors.Join(errors.New("the browser closed its developer tools"), messages.Err())
	}()
	return c
}

// byZero splits messages that end with a zero byte.
func byZero(data []byte, _ bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}

// Call calls a method of a session; "": of the browser.
func (c *Conn) Call(ctx context.Context, session, method string, params, result any) error {
	c.next++
	raw, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{c.next, session, method, params})
	if err == nil {
		_, err = c.pipe.Write(append(raw, 0))
	}
	for err == nil {
		var m message
		switch m, err = c.hear(ctx); {
		case err != nil || m.ID != c.next: // of a command whose answer was not awaited
		case m.Error != nil:
			return fmt.Errorf("%s: %.300s", method, m.Error.Message)
		default:
			return json.Unmarshal(m.Result, result)
		}
	}
	return err
}

// Event waits for the event, and takes its parameters.
func (c *Conn) Event(ctx context.Context, params any) error {
	for c.came == nil {
		if _, err := c.hear(ctx); err != nil {
			return err
		}
	}
	return json.Unmarshal(c.came, params)
}

// hear returns the next message.
func (c *Conn) hear(ctx context.Context) (message, error) {
	select {
	case <-ctx.Done():
		return message{}, context.Cause(ctx)
	case m, ok := <-c.heard:
		if !ok {
			return m, c.lost
		}
		if m.ID == 0 {
			c.came = append(json.RawMessage{}, m.Params...)
		}
		return m, nil
	}
}

// Close ends the reading with the next message. The pipe stays open.
func (c *Conn) Close() { c.stop() }
