package serve

import (
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"
)

// endings makes HTTP/2 responses end with their last bytes. The library notices a response's end
// only when its handler returns, after the last bytes were written. It then sends an empty frame,
// which waits for its turn among the other responses. On a slow link all pictures of a page would
// end together, long after they have arrived.
//
// So if a body's length is known, the frame with its last byte gets the flag. The empty frame is
// left out. That frame uses no window, so flow control is unaffected. Between the two, the client
// counts a stream as closed that the library counts as open. So clients are offered half as many
// streams as the library accepts. The next streams of a client that uses all of them are then never
// too many.
type endings struct {
	head    [frameHead]byte // of a frame, as far as it has been written
	have    int
	left    int // bytes of the frame that are still to come
	changed []byte
}

// put returns the bytes to write in place of b, a part of the library's output. It does not change
// b. The result is b, or is valid until the next call.
func (p *endings) put(b []byte, toCome map[int64]int64) []byte {
	out, from := p.changed[:0], 0 // what of b is not in out yet
	for i := 0; i < len(b); {
		if p.left > 0 {
			n := min(p.left, len(b)-i)
			p.left, i = p.left-n, i+n
			continue
		}
		begin, before := i, p.have
		n := copy(p.head[p.have:], b[i:])
		p.have, i = p.have+n, i+n
		if p.have < frameHead { // the rest comes with the next bytes: the library writes whole frames, if not at once
			out, from = append(out, b[from:begin]...), i
			break
		}
		p.have = 0
		p.left = int(p.head[0])<<16 | int(p.head[1])<<8 | int(p.head[2])
		flags := p.head[4]
		if p.head[3] == typeSettings && flags&flagAck == 0 && len(b)-i >= p.left {
			out = p.settings(append(out, b[from:begin]...), b[i:i+p.left])
			p.left, i = 0, i+p.left
			from = i
			continue
		}
		keep := p.frame(toCome)
		if before > 0 || !keep || flags != p.head[4] {
			out, from = append(out, b[from:begin]...), i
			if keep {
				out = append(out, p.head[:]...)
			}
		}
	}
	if from == 0 {
		return b
	}
	p.changed = append(out, b[from:]...)
	return p.changed
}

// frame sets the flag in the head of a frame if it is the last of a response. It reports whether to
// write the frame at all.
func (p *endings) frame(toCome map[int64]int64) (keep bool) {
	stream := int64(binary.BigEndian.Uint32(p.head[5:]) & 0x7fffffff)
	left, known := toCome[stream]
	if !known {
		return true
	}
	kind, flags := p.head[3], &p.head[4]
	switch {
	case kind == typeReset, kind == typeHeaders && *flags&flagEndStream != 0:
		delete(toCome, stream)
	case kind != typeData:
	case *flags&flagEndStream != 0:
		delete(toCome, stream)
		return left != 0 || p.left > 0 // or its end is out
	case *flags&flagPadded != 0: // which the library never does
		delete(toCome, stream)
	default:
		left -= int64(p.left)
		toCome[stream] = left
		if left == 0 {
			*flags |= flagEndStream
		}
	}
	return true
}

// settings writes those of the library, but for how many streams a client may have open at once;
// and that of priorities those of RFC 9218 are heeded.
func (p *endings) settings(out, given []byte) []byte {
	size := len(given) + 6
	p.head[0], p.head[1], p.head[2] = byte(size>>16), byte(size>>8), byte(size)
	out = append(append(out, p.head[:]...), given...)
	for s := out[len(out)-len(given):]; len(s) >= 6; s = s[6:] {
		if binary.BigEndian.Uint16(s) == settingStreams {
			binary.BigEndian.PutUint32(s[2:], maxStreams)
		}
	}
	return append(out, 0, settingPriority, 0, 0, 0, 1)
}

// expect notes how many bytes the body of a response of HTTP/2 will have.
func (c *connection) expect(stream, bytes int64) {
	if bytes <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.toCome == nil {
		c.toCome = map[int64]int64{}
	}
	if len(c.toCome) < 4*maxStreams { // those are of streams that ended otherwise
		c.toCome[stream] = bytes
	}
}

// expectNoMore forgets a response of HTTP/2 that nobody wants any more: none of it may be written
// from now on, so that nothing else would tell. One whose end is out is still to have that of the
// library left out.
func (c *connection) expectNoMore(stream int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.toCome[stream] != 0 {
		delete(c.toCome, stream)
	}
}

// bodyLength is how many bytes the body of a response will have; 0: none, or that is not known, or
// trailers follow it.
func bodyLength(method string, status int, h http.Header) int64 {
	if method == http.MethodHead || status == http.StatusNoContent || status == http.StatusNotModified ||
		len(h["Trailer"]) > 0 || len(h["Content-Length"]) != 1 {
		return 0
	}
	for name := range h {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return 0
		}
	}
	// as the library does, which takes no other for a length
	n, err := strconv.ParseUint(h["Content-Length"][0], 10, 63)
	if err != nil {
		return 0
	}
	return int64(n)
}
