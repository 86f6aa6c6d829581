package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/deploy/api"
)

// ErrMissed says that events are gone that were not taken in time: the state of things is to be
// asked for anew.
var ErrMissed = errors.New("the rig does not have all events any more")

const (
	firstPause = 200 * time.Millisecond // before a connection is tried again; twice as long each time
	longPause  = 10 * time.Second
	quiet      = 75 * time.Second // a rig pings more often
)

// Events calls tell for each event after number from; nil means from now on. It ends when tell
// returns an error, ctx ends, or the rig refuses. A broken connection is made again within
// patience, and continues where it stopped. With kinds, only those events are reported. missed is
// called if events are gone. If it is nil, Events then ends with ErrMissed.
func (c *Client) Events(ctx context.Context, from *uint64, kinds []string, patience time.Duration, missed func() error,
	tell func(api.Event) error) error {
	s := &stream{client: c, from: from, kinds: kinds, missed: missed, tell: tell}
	pause, since := firstPause, time.Now()
	for {
		heard, err := s.connect(ctx)
		var told *toldError
		var status *StatusError
		var refused *api.Error
		switch {
		case errors.As(err, &told):
			return told.error
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &refused), errors.As(err, &status) && status.Status < 500 &&
			status.Status != http.StatusTooManyRequests:
			return err
		}
		if heard {
			pause, since = firstPause, time.Now()
		}
		if time.Since(since) > patience {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause = min(2*pause, longPause)
	}
}

// toldError is an error that tell returned.
type toldError struct{ error }

// stream is events over one connection after the other.
type stream struct {
	client *Client
	from   *uint64
	kinds  []string
	missed func() error
	tell   func(api.Event) error
}

// connect hears events until the connection breaks. heard says that it was there.
func (s *stream) connect(ctx context.Context) (heard bool, err error) {
	conn, err := s.client.dial(ctx)
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		stop()
		_ = conn.Close() // no further events are wanted
	}()
	if err := s.subscribe(conn); err != nil {
		return false, err
	}
	alive := func() error { return conn.SetReadDeadline(time.Now().Add(quiet)) }
	conn.SetPingHandler(func(data string) error {
		if err := alive(); err != nil {
			return err
		}
		return conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(10*time.Second))
	})
	for {
		if err := alive(); err != nil {
			return true, err
		}
		_, text, err := conn.ReadMessage()
		if err != nil {
			return true, fmt.Errorf("hear from %s: %w", s.client.base.Host, err)
		}
		if err := s.hear(text); err != nil {
			return true, err
		}
	}
}

// hear takes a message: the answer to the subscription, or an event.
func (s *stream) hear(text []byte) error {
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result *api.Subscribed
		Error  *api.Error
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("hear from %s: %w", s.client.base.Host, err)
	}
	switch {
	case m.Error != nil:
		return m.Error
	case m.Result != nil:
		return s.subscribed(m.Result)
	case m.Method != api.EventMethod:
		return nil
	}
	var e api.Event
	if err := json.Unmarshal(m.Params, &e); err != nil {
		return fmt.Errorf("hear from %s: %w", s.client.base.Host, err)
	}
	s.from = &e.Seq
	if err := s.tell(e); err != nil {
		return &toldError{err}
	}
	return nil
}

func (s *stream) subscribed(r *api.Subscribed) error {
	if s.from == nil || *s.from > r.Seq { // of what another rig has told there is nothing to wait for here
		s.from = &r.Seq
	}
	if !r.Missed {
		return nil
	}
	if s.missed == nil {
		return &toldError{ErrMissed}
	}
	if err := s.missed(); err != nil {
		return &toldError{err}
	}
	return nil
}

func (s *stream) subscribe(conn *websocket.Conn) error {
	params, err := json.Marshal(api.SubscribeParams{FromSeq: s.from, Kinds: s.kinds})
	if err != nil {
		return err
	}
	return conn.WriteJSON(api.Request{Version: api.JSONRPC, ID: []byte("1"), Method: "subscribe", Params: params})
}

// dial opens a websocket.
func (c *Client) dial(ctx context.Context) (*websocket.Conn, error) {
	u := *c.base
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	u.Path += "/api/v1/ws"
	header := http.Header{}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: 15 * time.Second,
		TLSClientConfig: c.tls.Clone()}
	conn, resp, err := d.DialContext(ctx, u.String(), header)
	if err == nil {
		conn.SetReadLimit(maxAnswer)
		return conn, nil
	}
	if errors.Is(err, websocket.ErrBadHandshake) && resp != nil {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // the dialer has kept what there was
		return nil, c.status(resp, text)
	}
	return nil, c.unreached(err)
}
