package serve

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2"

	"github.com/eideticker/eideticker/capture/timeline"
)

// streamField is a field that is added to each HTTP/2 request as it arrives. The library gives
// handlers neither the number of the stream nor the time of arrival. The handler's request does not
// have it.
const streamField = "eideticker-stream"

// Of RFC 9113.
const (
	preface       = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHead     = 9
	typeData      = 0
	typeHeaders   = 1
	typeReset     = 3
	typeSettings  = 4
	typeContinued = 9
	typePriority  = 0x10 // update, RFC 9218
	flagEndStream = 0x1
	flagEndHeader = 0x4
	flagPadded    = 0x8
	flagPriority  = 0x20
	flagAck       = 0x1 // of settings

	settingStreams  = 3 // open at once
	settingPriority = 9 // there are none of RFC 7540: of RFC 9218
)

// serveHTTP2 serves a connection until it ends.
func (s *Server) serveHTTP2(ctx context.Context, conn *secured) {
	conn.connection.shallow()
	f := &frames{secured: conn, in: bufio.NewReaderSize(conn.Conn, 16<<10), blind: s.options.Blind}
	conn.connection.turns = newTurns()
	h2 := *s.h2
	//lint:ignore SA1019 see New
	h2.NewWriteScheduler = func() http2.WriteScheduler { return conn.connection.turns }
	//lint:ignore SA1019 see New
	h2.ServeConn(f, &http2.ServeConnOpts{Context: withConnection(ctx, conn), BaseConfig: s.h1of2,
		Handler: http.HandlerFunc(s.serveHTTP)})
	_ = conn.Close()
}

// streamOfHTTP2 returns the number of a request's stream and the time of its head. It removes the
// field with them from the request.
func streamOfHTTP2(r *http.Request) (stream int64, at timeline.Time) {
	name := http.CanonicalHeaderKey(streamField)
	values := r.Header[name]
	delete(r.Header, name)
	if len(values) == 0 {
		return 0, 0
	}
	id, since, _ := strings.Cut(values[len(values)-1], " ") // the last is ours
	stream, _ = strconv.ParseInt(id, 36, 64)
	t, _ := strconv.ParseInt(since, 36, 64)
	return stream, timeline.Time(t)
}

// frames looks at the frames of HTTP/2 between TLS and what serves them.
type frames struct {
	*secured
	blind bool

	// Incoming data, which one goroutine reads.
	in      *bufio.Reader
	begun   bool   // the preface was there
	pending []byte // to be read before the content of in
	store   []byte // of pending
	pass    int    // bytes of a frame that are handed on as they are
	highest uint32 // stream
	fresh   bool   // the head of fields that is coming begins a stream

	out    scanner
	ends   []*exchange // whose last bytes are being written
	ending endings
}

// Read returns incoming data, with [streamField] at the end of each head.
func (f *frames) Read(p []byte) (int, error) {
	for len(f.pending) == 0 && f.pass == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	if len(f.pending) > 0 {
		n := copy(p, f.pending)
		f.pending = f.pending[n:]
		return n, nil
	}
	n, err := f.in.Read(p[:min(len(p), f.pass)])
	f.pass -= n
	return n, err
}

// next reads the head of the next frame, and all of it if it has fields.
func (f *frames) next() error {
	if !f.begun {
		f.begun, f.pass = true, len(preface)
		return nil
	}
	f.store = append(f.store[:0], make([]byte, frameHead)...)
	if n, err := io.ReadFull(f.in, f.store); err != nil {
		f.pending = f.store[:n]
		if n > 0 {
			f.pass = 1 // leads to the error
			return nil
		}
		return err
	}
	size := int(f.store[0])<<16 | int(f.store[1])<<8 | int(f.store[2])
	kind, flags, stream := f.store[3], f.store[4], binary.BigEndian.Uint32(f.store[5:])&0x7fffffff
	f.pending, f.pass = f.store, size
	switch {
	case kind == typePriority && size >= 4 && size <= 4+maxPriority:
		f.store = append(f.store, make([]byte, size)...)
		f.pass = 0
		if n, err := io.ReadFull(f.in, f.store[frameHead:]); err != nil {
			f.pending, f.pass = f.store[:frameHead+n], 1 // leads to the error
			return nil
		}
		f.pending = f.store
		if f.connection.turns != nil {
			f.connection.turns.updated(binary.BigEndian.Uint32(f.store[frameHead:])&0x7fffffff,
				string(f.store[frameHead+4:]))
		}
		return nil
	case kind == typeReset:
		f.connection.reset(int64(stream))
	case kind == typeHeaders:
		f.fresh = stream > f.highest
		f.highest = max(f.highest, stream)
	}
	if kind != typeHeaders && kind != typeContinued || flags&flagEndHeader == 0 || !f.fresh {
		return nil
	}
	f.connection.mu.Lock()
	at := f.connection.lastRead
	f.connection.mu.Unlock()
	value := strconv.AppendInt(nil, int64(stream), 36)
	value = append(value, ' ')
	value = strconv.AppendInt(value, int64(at), 36)
	field := append([]byte{0, byte(len(streamField))}, streamField...) // a literal without indexing, RFC 7541, 6.2.2
	field = append(append(field, byte(len(value))), value...)
	if size+len(field) > readFrame {
		return nil // then it is not known
	}
	f.fresh = false
	f.store = append(f.store, make([]byte, size)...)
	if n, err := io.ReadFull(f.in, f.store[frameHead:]); err != nil {
		f.pending, f.pass = f.store[:frameHead+n], 1 // leads to the error
		return nil
	}
	f.pass = 0
	padding := 0
	if kind == typeHeaders && flags&flagPadded != 0 && size > 0 {
		padding = int(f.store[frameHead])
		least := 1
		if flags&flagPriority != 0 {
			least += 5
		}
		if size-least < padding { // not as it should be, which is for others to say
			f.pending = f.store
			return nil
		}
	}
	end := len(f.store) - padding
	tail := string(f.store[end:])
	f.store = append(append(f.store[:end], field...), tail...)
	size += len(field)
	f.store[0], f.store[1], f.store[2] = byte(size>>16), byte(size>>8), byte(size)
	f.pending = f.store
	return nil
}

// reset notes that the client does not want a response any more.
func (c *connection) reset(stream int64) {
	now := c.s.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.toCome, stream) // what still comes on it, the client takes no offence at (RFC 9113, section 5.1)
	if c.s.options.Blind {
		return
	}
	if e := c.streams[stream]; e != nil {
		e.givenUp(now)
		return
	}
	// those that are not begun for so long never are, or with a context that has ended
	if c.unwanted == nil || len(c.unwanted) >= 4*maxStreams {
		c.unwanted = map[int64]struct{}{}
	}
	c.unwanted[stream] = struct{}{}
}

// givenUp notes the end of a response that the client does not want any more. The connection's lock
// is held.
func (e *exchange) givenUp(now timeline.Time) {
	e.failed("the client gave it up")
	e.seen.Ended = now
	delete(e.c.streams, e.seen.Stream)
}

// recordBytes is how much is in a full record of TLS.
const recordBytes = 16 << 10

// Write passes outgoing data on, each response ended by its last byte.
func (f *frames) Write(b []byte) (int, error) {
	c := f.connection
	c.mu.Lock()
	out := f.ending.put(b, c.toCome)
	from := c.seen.BytesOut
	c.mu.Unlock()
	if len(out) == 0 {
		return len(b), nil
	}
	write := f.witnessed
	if f.blind {
		write = func(b []byte, _ int64) (int, error) { return f.Conn.Write(b) }
	}
	if n, err := write(out, from); err != nil {
		return min(n, len(b)), err
	}
	return len(b), nil
}

// witnessed writes, and notes which bytes are of which stream; before them, so many went out on the
// connection.
func (f *frames) witnessed(b []byte, from int64) (int, error) {
	c := f.connection
	f.announce(b)
	before := c.s.clock.Now()
	n, err := f.Conn.Write(b)
	now := c.s.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer f.announced(now)
	if n == 0 {
		return n, err
	}
	// All records of one write are full but the last, and each has as much around it.
	records := int64((n + recordBytes - 1) / recordBytes)
	around := (c.seen.BytesOut - from - int64(n)) / records
	place := func(i int) (begin, end int64) {
		record := int64(i / recordBytes)
		return from + record*(recordBytes+around), from + min((record+1)*recordBytes, int64(n)) + (record+1)*around
	}
	f.out.scan(b[:n], func(begin, end int, kind, flags byte, stream uint32, whole bool) {
		e := c.streams[int64(stream)]
		if e == nil || !e.answering && kind != typeReset {
			return
		}
		switch kind {
		case typeHeaders, typeContinued, typeData, typeReset:
		default:
			return
		}
		first, _ := place(begin)
		_, last := place(end - 1)
		if e.answering {
			if e.seen.FirstByte == 0 {
				e.seen.FirstByte, e.seen.From = before, first
			}
			e.seen.To = last
		}
		if whole && (flags&flagEndStream != 0 && kind <= typeHeaders || kind == typeReset) {
			e.seen.Ended = now
			if kind == typeReset {
				e.failed("the server gave it up")
			}
			delete(c.streams, int64(stream))
		}
	})
	return n, err
}

// announce marks the exchanges whose end is in the data about to be written.
func (f *frames) announce(b []byte) {
	c := f.connection
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead := f.out
	ahead.scan(b, func(_, _ int, kind, flags byte, stream uint32, whole bool) {
		if !whole || kind > typeHeaders || flags&flagEndStream == 0 {
			return
		}
		if e := c.streams[int64(stream)]; e != nil && e.answering {
			e.ending = true
			f.ends = append(f.ends, e)
		}
	})
}

// announced removes the marks. If an end was not written after all and its connection is over, it
// is recorded here. The connection's lock is held.
func (f *frames) announced(now timeline.Time) {
	c := f.connection
	for _, e := range f.ends {
		e.ending = false
		if e.seen.Ended == 0 && c.seen.Closed != 0 {
			e.cut()
			e.seen.Ended = now
			delete(c.streams, e.seen.Stream)
		}
	}
	clear(f.ends)
	f.ends = f.ends[:0]
}

// scanner finds frames in data that is written piece by piece.
type scanner struct {
	head        [frameHead]byte
	have        int // bytes of the head
	left        int // bytes of the frame that are still to come
	kind, flags byte
	stream      uint32
}

// scan calls found for each frame of which a part is in b: where in b, and whether it ends there.
func (s *scanner) scan(b []byte, found func(begin, end int, kind, flags byte, stream uint32, whole bool)) {
	begin := 0
	for i := 0; i < len(b); {
		if s.left == 0 && s.have < frameHead {
			if s.have == 0 {
				begin = i
			}
			n := copy(s.head[s.have:], b[i:])
			s.have += n
			i += n
			if s.have < frameHead {
				return
			}
			s.left = int(s.head[0])<<16 | int(s.head[1])<<8 | int(s.head[2])
			s.kind, s.flags, s.stream = s.head[3], s.head[4], binary.BigEndian.Uint32(s.head[5:])&0x7fffffff
		}
		n := min(s.left, len(b)-i)
		s.left -= n
		i += n
		found(begin, i, s.kind, s.flags, s.stream, s.left == 0)
		if s.left == 0 {
			s.have = 0
		}
		begin = i
	}
}
