package instrument

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"strings"

	"github.com/eideticker/eideticker/netsim/internal/body"
)

// stream rewrites a document while its parts arrive.
type stream struct {
	c        *capture
	e        *pageEditor
	to       *body.Writer
	packed   *pipe // to the decoder
	text     *pipe // from the decoder to the rewriter
	received int   // bytes of the body
	sent     bool  // the client has a part of the body
	failed   error // of the client
	err      error // the rest passes as it is
}

// pipe calls a reader in turns with a writer. Each Write returns when the reader needs more.
type pipe struct {
	part  []byte // written, and not read
	ended bool   // nothing more is written
	done  bool   // the reader has returned
	next  func() (struct{}, bool)
	stop  func()
	wait  func(struct{}) bool
}

func newPipe(read func(io.Reader)) *pipe {
	p := &pipe{}
	p.next, p.stop = iter.Pull(func(wait func(struct{}) bool) {
		p.wait = wait
		read(p)
	})
	return p
}

func (p *pipe) Write(b []byte) (int, error) {
	if p.part = b; !p.done {
		_, more := p.next()
		p.done = !more
	}
	return len(b), nil
}

// Close lets the reader read to its end.
func (p *pipe) Close() {
	p.ended = true
	_, _ = p.Write(nil)
}

func (p *pipe) Read(b []byte) (int, error) {
	for len(p.part) == 0 && !p.ended {
		if !p.wait(struct{}{}) {
			return 0, errWhole // the pipe was stopped
		}
	}
	if len(p.part) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.part)
	p.part = p.part[n:]
	return n, nil
}

// errWhole ends a rewriter whose document is kept whole, as in other charsets than UTF-8.
var errWhole = errors.New("the document must be complete")

// begin sends a document in parts from now on, if its header allows it.
func (c *capture) begin() {
	h := c.Header()
	e, err := c.editor()
	policies := c.policies + strings.Join(h["Content-Security-Policy-Report-Only"], ",")
	to, packs := body.NewWriter(c.w, body.Codings(h.Values("Content-Encoding")))
	if err != nil || packs != nil || c.reason != "" || c.in.needsAll(policies) {
		c.whole = true
		return
	}
	c.stream = &stream{c: c, e: e, to: to}
	e.to = c.stream
	c.stream.text, c.stream.packed = newPipe(c.stream.rewrite), newPipe(c.stream.unpack)
	if c.length < 0 {
		c.head()
	}
	_ = c.stream.take(c.kept) // the caller sees an error of the client
}

// head sends the header of a document that is sent in parts.
func (c *capture) head() {
	if c.headed {
		return
	}
	c.headed = true
	c.changed(c.stream.e.allow)
	c.w.WriteHeader(c.status)
}

// take rewrites the next part. If that fails before the client has one, the document is kept whole.
func (s *stream) take(part []byte) error {
	s.received += len(part)
	_, _ = s.packed.Write(part)
	if s.err != nil && !s.sent {
		s.leave()
	}
	return s.failed
}

// leave ends the rewriter of which the client has nothing. The document is kept whole.
func (s *stream) leave() {
	s.packed.stop()
	s.text.stop()
	s.c.stream, s.c.whole = nil, true
}

// Write gives the client text, behind the header. The handler gets an error of the client.
func (s *stream) Write(text []byte) (int, error) {
	if !s.sent {
		s.c.head()
		s.sent, s.c.kept = true, nil
	}
	s.c.in.remember(s.e.url.String(), s.e.out.String(), s.e.spans, false) // for errors before its end
	if s.failed == nil {
		_, s.failed = s.to.Write(text)
	}
	return len(text), nil
}

// unpack decodes the body.
func (s *stream) unpack(packed io.Reader) {
	err := guarded(func() error {
		from, err := body.NewReader(packed, body.Codings(s.c.Header().Values("Content-Encoding")), math.MaxInt64)
		if err != nil {
			return err
		}
		defer from.Close()
		_, err = from.WriteTo(s.text)
		return err
	})
	s.fail(err)
}

// fail notes the first failure. A document is counted if the client has a part of it.
func (s *stream) fail(err error) {
	if err == nil || s.err != nil {
		return
	}
	if s.err = err; s.sent {
		s.c.in.servesPlain(s.e.url.String(), "document", hashOf(s.e.src), len(s.e.src), err.Error())
	}
}

// rewrite rewrites the text. Behind a failure it passes as it is.
func (s *stream) rewrite(text io.Reader) {
	s.fail(guarded(func() error {
		s.e.from = text
		charset, err := pageCharset(s.e, s.c.Header().Get("Content-Type"))
		switch {
		case s.e.err != nil:
			return s.e.err
		case err != nil:
			return err
		case charset != "":
			return errWhole
		}
		return s.e.document()
	}))
	if !s.sent {
		return
	}
	if s.err != nil {
		_, _ = io.WriteString(s, s.e.src[s.e.done:])
		_, _ = io.Copy(s, text)
	}
}

// guarded returns the panic of a step as an error.
func guarded(do func() error) (err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("the rewriter failed: %.200v", failed)
		}
	}()
	return do()
}

// flush passes on all text that was sent.
func (s *stream) flush() error {
	if s.failed == nil {
		s.failed = s.to.Flush()
	}
	return s.failed
}

// finish sends the rest, and reports whether the document was sent in parts. A document that is
// shorter than it was to be ends the connection, as it does without this handler.
func (s *stream) finish() bool {
	short := s.received < s.c.length
	if s.sent || !short {
		s.end()
	}
	if !s.sent {
		s.leave()
		return false
	}
	if s.c.keeps = false; short {
		_ = s.flush()
		panic(http.ErrAbortHandler)
	}
	_ = s.to.Close() // a client that is gone needs nothing
	return true
}

// abort ends the response of a handler that failed.
func (c *capture) abort() {
	if c.stream == nil || !c.stream.sent {
		_ = c.release("")
	} else if c.keeps {
		c.keeps = false
		c.stream.end()
		_ = c.stream.flush()
	}
}

// end rewrites the rest of the document.
func (s *stream) end() {
	s.packed.Close()
	s.text.Close()
}
