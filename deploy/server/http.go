package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what package http does by itself.
const (
	headerTime  = 10 * time.Second
	headerBytes = 16 << 10         // it takes up to 4 KiB more
	bodyTime    = 20 * time.Second // for a request with its body, where nobody gives it more
	idleTime    = time.Minute
	// maxOfOne is how many connections one address has at once, beside websockets: half of those
	// that serve takes, so that others still get in.
	maxOfOne = 512
)

// HTTP returns an HTTP server for the rig, within the bounds of API.md.
//
// Package http itself answers and closes connections with invalid or incomplete requests, without a
// report. So connections are watched, for a line in the log.
func (s *Server) HTTP() *http.Server {
	var open sync.Map // from net.Conn to *visitor
	doors := &doors{most: s.each, of: map[netip.Prefix]int{}}
	return &http.Server{
		Handler: asked(s), ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			v := &visitor{}
			open.Store(c, v)
			return context.WithValue(ctx, visitorKey{}, v)
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			from := addrPort(c.RemoteAddr().String())
			switch state {
			case http.StateNew:
				if !doors.enter(network(from)) {
					s.note(from, slog.LevelWarn, "connection closed", "why", "its address has too many already")
					_ = c.Close() // it is counted until the server finds it closed
				}
			case http.StateActive: // something came
				if v, there := open.Load(c); there {
					v.(*visitor).unclear.Store(true)
				}
			case http.StateHijacked:
				doors.leave(network(from))
				open.Delete(c)
			case http.StateClosed:
				doors.leave(network(from))
				if v, there := open.LoadAndDelete(c); there && v.(*visitor).unclear.Load() {
					s.note(from, slog.LevelWarn, "connection closed", "why",
						"invalid or incomplete request")
				}
			}
		},
	}
}

// visitor is the client of a connection.
type visitor struct{ unclear atomic.Bool } // something came on it, and so far no request

type visitorKey struct{}

// asked records that a connection had a valid request.
//
// Note: the server's read timeout is for a request with its body. Package http itself ends it after
// that, so answers may take any time. A write timeout is not set: each large answer has its own,
// see patient.
func asked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v, is := r.Context().Value(visitorKey{}).(*visitor); is {
			v.unclear.Store(false)
		}
		next.ServeHTTP(w, r)
	})
}

// doors counts the connections of each address.
type doors struct {
	most int

	mu sync.Mutex
	of map[netip.Prefix]int
}

// enter counts one more, and reports whether that is not too many.
func (c *doors) enter(from netip.Prefix) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[from]++
	return c.of[from] <= c.most
}

func (c *doors) leave(from netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[from]--; c.of[from] <= 0 {
		delete(c.of, from)
	}
}
