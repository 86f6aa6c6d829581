package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

const (
	// maxExchanges is how many exchanges, and connections, a server notes; of more only their
	// number.
	maxExchanges = 100_000

	// of all exchanges together, and of long URLs; of more, headers are not kept, and of URLs the
	// beginning
	maxHeaderBytes = 256 << 20
	longURL        = 256
)

// exchange is a request and its response, while they are noted. Its connection's lock guards it.
type exchange struct {
	seen      Exchange
	c         *connection
	answering bool // the head of the response is being sent
	ending    bool // its last bytes are being written: the client may have them, and be gone, before that is noted
	handled   bool // the handler has returned and its last byte was accepted
	taken     bool // the connection is the handler's own, as for a websocket
}

// failed notes why a response is not whole, if nothing did before.
func (e *exchange) failed(reason string) {
	if e.seen.Error == "" {
		e.seen.Error = reason
	}
}

// cut notes that a response is not whole because its connection has ended.
func (e *exchange) cut() {
	if e.c.seen.Error != "" {
		e.failed(e.c.seen.Error)
	} else {
		e.failed("the connection ended before the response did")
	}
}

// serveHTTP is the handler of all protocols: it notes the exchange, and refuses names that are not
// served.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.handling.Add(1)
	s.mu.Unlock()
	defer s.handling.Done()
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	rw := &response{ResponseWriter: w, control: http.NewResponseController(w), request: r, s: s, c: c,
		began: time.Now()}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &body{ReadCloser: r.Body, response: rw}
		// also for a body that nobody reads, the rest of which is taken in at the end
		_ = rw.control.SetReadDeadline(rw.began.Add(s.options.Patience))
	}
	if c != nil {
		var head timeline.Time
		if r.ProtoMajor == 2 {
			if rw.stream, head = streamOfHTTP2(r); rw.stream != 0 {
				c.turns.asked(rw.stream, r.Header)
			}
		}
		rw.e = s.begin(c, r, rw.stream, head)
	}
	if s.altSvc != "" && r.TLS != nil && r.ProtoMajor < 3 {
		w.Header().Set("Alt-Svc", s.altSvc)
	}
	defer rw.over()
	if s.options.Hosts != nil && !s.options.Hosts(hostName(r.Host)) {
		refuse(rw, http.StatusMisdirectedRequest, fmt.Errorf("%q is not a name that this server has", hostName(r.Host)))
	} else {
		s.options.Handler.ServeHTTP(rw, r)
	}
	rw.whole = true
}

// refuse answers with a sentence.
func refuse(w http.ResponseWriter, status int, err error) {
	text := err.Error() + "\n"
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// hostName is a host without its port, in lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// begin notes a request, of HTTP/2 with its stream and when its head was there; nil: nothing is
// noted.
func (s *Server) begin(c *connection, r *http.Request, stream int64, head timeline.Time) *exchange {
	if s.options.Blind {
		return nil
	}
	e := &exchange{c: c}
	x := &e.seen
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	x.Method, x.URL, x.Urgency, x.Incremental = r.Method, requestURL(scheme, r), 3, false
	x.Urgency, x.Incremental = priority(r.Header)
	now := s.clock.Now()
	c.mu.Lock()
	c.requests++
	x.Connection, x.Stream = c.seen.ID, c.requests
	x.Began = c.lastRead
	switch r.ProtoMajor {
	case 2:
		x.Stream, x.Began = stream, head
		if _, is := c.unwanted[x.Stream]; is {
			delete(c.unwanted, x.Stream)
			e.givenUp(now)
		} else {
			c.streams[x.Stream] = e
		}
	case 3:
		x.Stream, x.Began = streamOfHTTP3(r), now
		c.streams[x.Stream] = e
	default:
		if c.current != nil { // has ended, but for the word of net/http
			c.ended(c.current, now)
		}
		c.current = e
	}
	if x.Began == 0 {
		x.Began = now
	}
	x.Began = max(x.Began, c.seen.Secured) // the end of TLS and a request may come in one packet
	if r.Body == nil || r.Body == http.NoBody {
		x.Received = x.Began
	}
	c.mu.Unlock()
	s.keep(e, r.Header)
	return e
}

// keep adds an exchange to the server's list, as far as there is room.
func (s *Server) keep(e *exchange, h http.Header) {
	size := headerSize(h) + len(e.seen.URL)
	s.mu.Lock()
	kept := len(s.exchanges) < maxExchanges
	id := len(s.exchanges) + 1
	if kept {
		s.exchanges = append(s.exchanges, e)
	} else {
		s.lost++
	}
	headers := kept && s.headerBytes+size <= maxHeaderBytes
	if headers {
		s.headerBytes += size
	}
	s.mu.Unlock()
	if !kept {
		return
	}
	var copied http.Header
	if headers {
		copied = h.Clone()
	}
	e.c.mu.Lock()
	e.seen.ID, e.seen.Header = id, copied
	if !headers {
		e.seen.URL = strings.Clone(e.seen.URL[:min(len(e.seen.URL), longURL)])
	}
	e.c.mu.Unlock()
}

func headerSize(h http.Header) (n int) {
	for key, values := range h {
		n += len(key) + 64
		for _, v := range values {
			n += len(v) + 16
		}
	}
	return n
}

const maxURL = 8 << 10

func requestURL(scheme string, r *http.Request) string {
	u := r.RequestURI
	if !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") { // a proxy's has all of it
		u = scheme + "://" + r.Host + u
	}
	return u[:min(len(u), maxURL)]
}

const maxPriority = 256 // bytes of a field

// priority reads the field Priority (RFC 9218, section 5): u=0 to u=7, and i. What cannot be read
// is as if it were not there.
func priority(h http.Header) (urgency int, incremental bool) {
	urgency = 3
	for _, field := range h["Priority"] {
		for part := range strings.SplitSeq(field[:min(len(field), maxPriority)], ",") {
			part, _, _ = strings.Cut(strings.TrimSpace(part), ";")
			switch key, value, is := strings.Cut(part, "="); {
			case key == "u" && len(value) == 1 && value[0] >= '0' && value[0] <= '7':
				urgency = int(value[0] - '0')
			case key == "i":
				incremental = !is || value == "?1"
			}
		}
	}
	return urgency, incremental
}

// response is what a handler writes to. It notes the head, and sees to it that a client which takes
// nothing is given up.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	request *http.Request
	s       *Server
	c       *connection
	e       *exchange // nil: nothing is noted
	began   time.Time
	status  int
	sent    int64 // bytes of the body
	decoded int64 // what the handler says they are
	known   bool  // decoded
	whole   bool  // the handler came to its end
	taken   bool  // the connection is the handler's own
	stream  int64 // of HTTP/2; 0: it is not known
	length  int64 // of the body of a response of HTTP/2, with which it ends; 0: it ends by itself
	err     error
}

// Unwrap is for [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Guarded marks a response that is given up if its client takes nothing. Handlers need no
// deadlines.
func (w *response) Guarded() {}

// setDecoded says how many bytes the body of a response is, unpacked. Without it, it is as many as
// are sent.
func setDecoded(w http.ResponseWriter, bytes int64) {
	for {
		switch v := w.(type) {
		case *response:
			v.decoded, v.known = bytes, true
			return
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return
		}
	}
}

func (w *response) WriteHeader(status int) {
	final := status >= 200 || status == http.StatusSwitchingProtocols
	if final && w.status == 0 {
		w.head(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// head notes the head of the response, which comes now.
func (w *response) head(status int) {
	w.status = status
	h := w.Header()
	if w.stream != 0 {
		w.length = bodyLength(w.request.Method, status, h)
		w.c.expect(w.stream, w.length)
	}
	e := w.e
	if e == nil {
		return
	}
	size := headerSize(h)
	w.s.mu.Lock()
	keep := w.s.headerBytes+size <= maxHeaderBytes
	if keep {
		w.s.headerBytes += size
	}
	w.s.mu.Unlock()
	e.c.mu.Lock()
	defer e.c.mu.Unlock()
	e.answering = true
	e.seen.Status = status
	if keep && e.seen.ID != 0 {
		e.seen.ResponseHeader = h.Clone()
	}
	if e.c.Conn == nil { // QUIC, whose packets are not seen
		e.seen.FirstByte = w.s.clock.Now()
	}
}

func (w *response) Write(b []byte) (written int, err error) {
	if w.status == 0 {
		if w.Header().Get("Content-Type") == "" { // as net/http would, but for the note of it
			w.Header().Set("Content-Type", http.DetectContentType(b))
		}
		w.WriteHeader(http.StatusOK)
	}
	err = w.guarded(func() (err error) {
		// the library lets more through until the head is out, which would come after the end
		if w.length > 0 && int64(len(b)) > w.length-w.sent {
			return http.ErrContentLength
		}
		if w.request.ProtoMajor < 2 {
			written, err = w.ResponseWriter.Write(b)
			return err
		}
		// of a part that fails it is not known how much went out
		for first := true; err == nil && (len(b) > 0 || first); first = false {
			var n int
			n, err = w.ResponseWriter.Write(b[:min(len(b), writeAtOnce)])
			written, b = written+n, b[n:]
		}
		return err
	})
	w.sent += int64(written)
	if err != nil && w.err == nil {
		w.err = err
	}
	return written, err
}

// guarded runs a step that may wait for a client. TCP connections have a deadline for each write. A
// stream whose window the client keeps shut does not get that far, and is given up here. A stream
// that waits for its turn is kept as long as the connection moves.
func (w *response) guarded(do func() error) error {
	if w.request.ProtoMajor < 2 || w.c == nil {
		return do()
	}
	var mu sync.Mutex
	over, out := false, w.c.out()
	var stall *time.Timer
	mu.Lock()
	stall = time.AfterFunc(w.s.options.Stall, func() {
		mu.Lock()
		defer mu.Unlock()
		now := w.c.out()
		switch {
		case over: // and what it would be done to may be another's
			return
		case now-out >= slowest:
			out = now
			stall.Reset(w.s.options.Stall)
			return
		}
		if e := w.e; e != nil {
			e.c.mu.Lock()
			e.failed(tookNothing)
			e.c.mu.Unlock()
		}
		_ = w.control.SetWriteDeadline(time.Unix(1, 0))
	})
	mu.Unlock()
	defer func() {
		stall.Stop()
		mu.Lock()
		over = true
		mu.Unlock()
	}()
	return do()
}

// Flush is [http.Flusher].
func (w *response) Flush() { _ = w.FlushError() }

// FlushError sends the written data.
func (w *response) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	err := w.guarded(w.control.Flush)
	if err != nil && w.err == nil {
		w.err = err
	}
	return err
}

// Hijack gives the handler the connection of HTTP/1.1, for websockets. All that goes out over it is
// the response, from its head on.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := w.control.Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.taken = true
	if w.status == 0 {
		w.head(http.StatusSwitchingProtocols)
	}
	if e := w.e; e != nil {
		e.c.mu.Lock()
		e.taken = true
		e.c.mu.Unlock()
	}
	return c, rw, nil
}

// over notes that the handler has returned, or has panicked.
func (w *response) over() {
	if w.whole && !w.taken && w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.request.ProtoMajor == 3 && w.whole {
		_ = w.FlushError() // only after this it is known when the last byte went
	}
	if w.request.ProtoMajor == 2 && w.whole && w.sent > 0 && w.request.Method != http.MethodHead {
		// the rest of a body must wait for a window too, and after this it cannot be given up
		_ = w.FlushError()
	}
	// trailers that nobody announced come too late: the last byte is the end, out or not
	if w.length > 0 && w.sent >= w.length {
		maps.DeleteFunc(w.Header(),
			func(name string, _ []string) bool { return strings.HasPrefix(name, http.TrailerPrefix) })
	}
	if w.length > 0 && w.request.Context().Err() != nil {
		w.c.expectNoMore(w.stream)
	}
	e := w.e
	if e == nil {
		return
	}
	now := w.s.clock.Now()
	c := e.c
	c.mu.Lock()
	defer c.mu.Unlock()
	e.handled = w.whole
	out := w.request.ProtoMajor == 2 && (e.ending || e.seen.Ended != 0 && e.seen.Error == "")
	// the client had the end, and was gone before the handler was
	left := out && w.err != nil && !errors.Is(w.err, http.ErrContentLength)
	if left && w.length > 0 {
		w.sent = w.length
	}
	if !w.taken {
		e.seen.ResponseBytes, e.seen.DecodedBytes = w.sent, w.sent
	}
	if w.known {
		e.seen.DecodedBytes = w.decoded
	}
	// so that nothing of it will be sent, not even its end
	gone := w.request.ProtoMajor == 2 && e.seen.Ended == 0 && !e.ending && w.request.Context().Err() != nil
	if gone {
		if c.seen.Closed != 0 || w.s.until != nil && w.s.until.Err() != nil {
			e.cut()
		}
		e.givenUp(now)
	}
	switch {
	case left:
	case w.err != nil && !errors.Is(w.err, http.ErrBodyNotAllowed):
		e.failed(sentence(w.err))
	case !w.whole:
		e.failed("the handler gave up")
	}
	if w.request.ProtoMajor == 3 {
		e.seen.Ended = now
		delete(c.streams, e.seen.Stream)
	}
}

const tookNothing = "the client took nothing for too long"

func sentence(err error) string {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return tookNothing
	}
	return err.Error()
}

// body notes the body of a request, and gives up one that comes too slowly.
type body struct {
	io.ReadCloser
	response *response
	read     int64
}

func (b *body) Read(p []byte) (int, error) {
	r := b.response
	_ = r.control.SetReadDeadline(r.began.Add(r.s.options.Patience + time.Duration(b.read/slowestBody)*time.Second))
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err == io.EOF { // the next request has a deadline of its own
		_ = r.control.SetReadDeadline(time.Time{})
	}
	if e := r.e; e != nil {
		now := r.s.clock.Now()
		e.c.mu.Lock()
		e.seen.RequestBytes = b.read
		if err == io.EOF && e.seen.Received == 0 {
			e.seen.Received = now
		}
		e.c.mu.Unlock()
	}
	return n, err
}

// Witnessed returns the records so far, in the order in which they began.
func (s *Server) Witnessed() ([]Connection, []Exchange) {
	s.mu.Lock()
	connections, exchanges := s.connections[:len(s.connections):len(s.connections)],
		s.exchanges[:len(s.exchanges):len(s.exchanges)]
	s.mu.Unlock()
	cs, es := make([]Connection, len(connections)), make([]Exchange, len(exchanges))
	for i, c := range connections {
		c.mu.Lock()
		if c.count != nil {
			c.seen.BytesIn, c.seen.BytesOut = c.count()
		}
		cs[i] = c.seen
		c.mu.Unlock()
	}
	for i, e := range exchanges {
		e.c.mu.Lock()
		es[i] = e.seen
		es[i].ID = i + 1
		e.c.mu.Unlock()
	}
	return cs, es
}

// Unnoted returns how many connections were refused because too many were open. lost counts
// connections and exchanges that were not recorded because there were too many.
func (s *Server) Unnoted() (refused, lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused, s.lost
}
