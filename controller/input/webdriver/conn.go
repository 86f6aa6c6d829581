package webdriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/controller/input"
)

// maxMessage bounds what a browser says at once: the tree of its pages is the largest.
const maxMessage = 4 << 20

// conn sends commands and waits for their answers, one at a time. Events are read and thrown away.
type conn struct {
	ws      *websocket.Conn
	next    int
	wanted  atomic.Int64  // id of the command that is being waited for
	answers chan answer   // to it; has room for one
	ended   chan struct{} // closed when nothing more is read
	why     error         // read after ended
	once    sync.Once
}

type command struct {
	ID     int    `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

type answer struct {
	Type    string          `json:"type"` // "success", "error", "event"
	ID      *int            `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   string          `json:"error"`
	Message string          `json:"message"`
}

// commandError is the error of a browser that rejects a command.
type commandError struct{ Method, Code, Message string }

func (e *commandError) Error() string {
	return fmt.Sprintf("the browser refuses %s: %s: %.300s", e.Method, e.Code, e.Message)
}

func dial(ctx context.Context, url string) (*conn, error) {
	d := websocket.Dialer{HandshakeTimeout: 10 * time.Second}
	ws, response, err := d.DialContext(ctx, url, nil)
	if err != nil {
		if response != nil {
			err = fmt.Errorf("%w (%s)", err, response.Status)
		}
		return nil, fmt.Errorf("reach the browser at %s: %w", url, err)
	}
	ws.SetReadLimit(maxMessage)
	c := &conn{ws: ws, answers: make(chan answer, 1), ended: make(chan struct{})}
	go c.listen()
	return c, nil
}

func (c *conn) listen() {
	defer close(c.ended)
	for {
		var a answer
		if err := c.ws.ReadJSON(&a); err != nil {
			c.why = fmt.Errorf("%w: the browser's connection: %w", input.ErrGone, err)
			return
		}
		if a.ID == nil || int64(*a.ID) != c.wanted.Load() {
			continue // an event, an error that belongs to nothing, or what nobody waits for any more
		}
		select {
		case c.answers <- a:
		default: // it was answered already
		}
	}
}

// call has the browser do a command.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	c.next++
	id := c.next
	c.wanted.Store(int64(id))
	select {
	case <-c.ended:
		return c.why
	case <-c.answers: // a second answer to the command before
	default:
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.ws.SetWriteDeadline(deadline) // of a connection that is open: cannot fail
	}
	if err := c.ws.WriteJSON(command{id, method, params}); err != nil {
		return fmt.Errorf("%w: %s: %w", input.ErrGone, method, err)
	}
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", method, context.Cause(ctx))
		case <-c.ended:
			return c.why
		case a := <-c.answers:
			if *a.ID != id {
				continue // of a command that was not waited for to its end
			}
			if a.Type != "success" {
				return &commandError{method, a.Error, a.Message}
			}
			if result == nil {
				return nil
			}
			if err := json.Unmarshal(a.Result, result); err != nil {
				return fmt.Errorf("the browser's answer to %s: %w", method, err)
			}
			return nil
		}
	}
}

func (c *conn) close() error {
	var err error
	c.once.Do(func() {
		err = c.ws.Close()
		<-c.ended
	})
	if errors.Is(err, websocket.ErrCloseSent) {
		err = nil
	}
	return err
}
