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

// HTTP returns what answers requests with a server, within the bounds of API.md.
//
// What comes on a connection and is no request, or does not end, package http answers and closes by
// itself, and tells nobody: so connections are watched, for a line in the log.
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
						"what came is no request, or did not come whole")
				}
			}
		},
	}
}

// visitor is who has opened a connection.
type visitor struct{ unclear atomic.Bool } // something came on it, and so far no request

type visitorKey struct{}

// asked takes down that what came on a connection was a request.
//
// Note: the server's time for reading is for a request with its body, and package http itself lifts
// it when that is whole, so answering may take as long as it takes. There is no time for writing:
// each answer that is large has its own, see patient.
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
