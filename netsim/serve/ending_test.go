package serve

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestEndsOfHTTP2: each kind of response ends once, and where it is to.
func TestEndsOfHTTP2(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Length", "5")
		switch r.URL.Path {
		case "/none":
			h.Set("Content-Length", "0")
			return
		case "/unknown":
			h.Del("Content-Length")
		case "/announced":
			h.Set("Trailer", "Sum")
			defer h.Set("Sum", "1")
		case "/prefixed":
			h.Set(http.TrailerPrefix+"Sum", "1")
		case "/late":
			defer h.Set(http.TrailerPrefix+"Sum", "1")
		case "/short":
			_, _ = io.WriteString(w, "12")
			return
		case "/flushed":
			_, _ = io.WriteString(w, "12")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, "345")
			_ = http.NewResponseController(w).Flush()
			return
		case "/signed":
			h.Set("Content-Length", "+5") // is none
		case "/long":
			_, _ = io.WriteString(w, "1234567890")
			return
		case "/a frame and more":
			h.Set("Content-Length", "16384")
			_, _ = w.Write(make([]byte, 20000))
			return
		case "/long in pieces":
			_, _ = io.WriteString(w, "12345")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Second) // until the end is out
			_, _ = io.WriteString(w, "67890")
			return
		case "/given up":
			_, _ = io.WriteString(w, "12")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/unchanged":
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, "12345")
	})
	for path, want := range map[string]string{
		"/":          "HEADERS 1: 0, DATA 1: 5 end",
		"/HEAD":      "HEADERS 1: 0 end",
		"/none":      "HEADERS 1: 0 end",
		"/unknown":   "HEADERS 1: 0, DATA 1: 5, DATA 1: 0 end", // at once, see turns
		"/announced": "HEADERS 1: 0, DATA 1: 5, HEADERS 1: 0 end",
		"/prefixed":  "HEADERS 1: 0, DATA 1: 5, HEADERS 1: 0 end",
		"/late":      "HEADERS 1: 0, DATA 1: 5 end",
		"/short":     "HEADERS 1: 0, DATA 1: 2, DATA 1: 0 end",
		"/flushed":   "HEADERS 1: 0, DATA 1: 2, DATA 1: 3 end",
		"/signed":    "HEADERS 1: 0, DATA 1: 5, DATA 1: 0 end",
		// as over HTTP/1.1 and 3, which reject excess data
		"/long":                   "HEADERS 1: 0 end",
		"/a%20frame%20and%20more": "HEADERS 1: 0 end",
		"/long%20in%20pieces":     "HEADERS 1: 0, DATA 1: 5 end",
		"/given%20up":             "HEADERS 1: 0, DATA 1: 2, RST_STREAM 1: 0 end",
		"/unchanged":              "HEADERS 1: 0 end",
	} {
		inBubble(t, Options{Handler: handler}, func(t *testing.T, s *Server, c *client2) {
			c.opens(t)
			method := "GET"
			if path == "/HEAD" {
				method = path[1:]
			}
			c.ask(t, 1, method, path, "")
			var got []string
			for _, f := range c.came() {
				got = append(got, f.String())
			}
			if text := strings.Join(got, ", "); text != want {
				t.Errorf("%s: %s, want %s", path, text, want)
			}
			_, es := s.Witnessed()
			if e := es[0]; (e.Error == http.ErrContentLength.Error()) != (strings.Contains(path, "long") ||
				strings.Contains(path, "more")) {
				t.Errorf("%s: the witness says %q", path, e.Error)
			}
			one := s.connections[0]
			one.mu.Lock()
			defer one.mu.Unlock()
			if len(one.toCome) > 0 {
				t.Errorf("%s: of streams %v the end is still to come", path, one.toCome)
			}
		})
	}
}

// TestAsManyStreamsAsTheClientIsTold can be open, also while handlers of responses that have ended
// are not done.
func TestAsManyStreamsAsTheClientIsTold(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		_, _ = io.WriteString(w, "12345")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	inBubble(t, Options{Handler: handler}, func(t *testing.T, s *Server, c *client2) {
		c.opens(t)
		_ = c.came()
		most := c.settings[http2.SettingMaxConcurrentStreams]
		if most != maxStreams || c.settings[http2.SettingNoRFC7540Priorities] != 1 {
			t.Fatalf("the client is told of %v", c.settings)
		}
		for i := range 2 * most {
			c.ask(t, 2*i+1, "GET", "/", "")
			if i%most == most-1 {
				ends := 0
				for _, f := range c.came() {
					if f.end {
						ends++
					}
					if f.kind == http2.FrameRSTStream {
						t.Fatal(f)
					}
				}
				if ends != int(i+1) {
					t.Fatalf("of %d streams %d have ended", i+1, ends)
				}
			}
		}
		// One that is given up after its end leaves nothing.
		c.must(t, c.WriteRSTStream(1, http2.ErrCodeCancel))
		synctest.Wait()
		one := s.connections[0]
		one.mu.Lock()
		defer one.mu.Unlock()
		if _, is := one.toCome[1]; is || len(one.toCome) != int(2*most-1) {
			t.Errorf("the ends of %d are kept", len(one.toCome))
		}
	})
}

// TestEndingsOfPieces: however writes cut the frames, the output is the same and the input is
// unchanged.
func TestEndingsOfPieces(t *testing.T) {
	var in, want bytes.Buffer
	a, b := http2.NewFramer(&in, nil), http2.NewFramer(&want, nil)
	both := func(do func(*http2.Framer) error) {
		for _, f := range []*http2.Framer{a, b} {
			if err := do(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	data := func(f *http2.Framer, stream uint32, end bool, n int) {
		if err := f.WriteData(stream, end, bytes.Repeat([]byte{byte(stream)}, n)); err != nil {
			t.Fatal(err)
		}
	}
	frameSize := http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 15}
	if err := a.WriteSettings(frameSize, http2.Setting{ID: http2.SettingMaxConcurrentStreams,
		Val: 2 * maxStreams}); err != nil {
		t.Fatal(err)
	}
	if err := b.WriteSettings(frameSize, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: maxStreams},
		http2.Setting{ID: http2.SettingNoRFC7540Priorities, Val: 1}); err != nil {
		t.Fatal(err)
	}
	both(func(f *http2.Framer) error { return f.WriteSettingsAck() })
	for stream := uint32(1); stream <= 11; stream += 2 {
		both(func(f *http2.Framer) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte("fields"),
				EndHeaders: true})
		})
	}
	for _, f := range []*http2.Framer{a, b} {
		data(f, 1, false, 100)
		data(f, 3, false, 300)  // as long as it is to be
		data(f, 5, f == b, 500) // the last of a known length
		data(f, 7, false, 100)
	}
	data(a, 5, true, 0) // is left out
	both(func(f *http2.Framer) error { return f.WriteRSTStream(7, http2.ErrCodeInternal) })
	for _, f := range []*http2.Framer{a, b} {
		data(f, 1, f == b, 150)
		data(f, 3, true, 0)
		data(f, 9, false, 1) // too short
		data(f, 9, true, 0)
		data(f, 11, false, 300) // too long
		data(f, 11, true, 0)
	}
	data(a, 1, true, 0)
	both(func(f *http2.Framer) error { return f.WritePing(true, [8]byte{1}) })
	given := bytes.Clone(in.Bytes())
	for size := 1; size <= in.Len(); size++ {
		toCome := map[int64]int64{1: 250, 5: 500, 7: 200, 9: 200, 11: 200}
		var p endings
		var got bytes.Buffer
		got.Write(p.put(in.Bytes()[:frameHead+12], toCome)) // settings come whole
		for piece := range slices.Chunk(in.Bytes()[frameHead+12:], size) {
			got.Write(p.put(piece, toCome))
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) || len(toCome) > 0 {
			t.Fatalf("in pieces of %d: %d bytes, want %d; of %v the end is to come", size, got.Len(), want.Len(),
				toCome)
		}
	}
	if !bytes.Equal(in.Bytes(), given) {
		t.Error("what was written has been changed")
	}
}

// TestNothingComesAfterAnEnd: of many responses at once, each of which wants to say more after its
// last byte, none does.
func TestNothingComesAfterAnEnd(t *testing.T) {
	const streams, rounds = 50, 40
	x := serveIt(t, Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		defer w.Header().Set(http.TrailerPrefix+"Sum", "1")
		_, _ = io.WriteString(w, "12345")
	})})
	conn, err := tls.Dial("tcp", x.https, &tls.Config{RootCAs: x.roots, ServerName: "page.test",
		NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
	c := &client2{Framer: http2.NewFramer(conn, conn)}
	c.pack = hpack.NewEncoder(&c.heads)
	_, err = io.WriteString(conn, preface)
	c.must(t, err)
	c.must(t, c.WriteSettings())
	ended := map[uint32]bool{}
	after := 0
	next := func() http2.Frame {
		f, err := c.ReadFrame()
		c.must(t, err)
		h := f.Header()
		if ended[h.StreamID] {
			after++
		}
		if (h.Type == http2.FrameHeaders || h.Type == http2.FrameData) && h.Flags.Has(http2.FlagDataEndStream) {
			ended[h.StreamID] = true
		}
		return f
	}
	for round := range rounds {
		for i := range streams {
			c.ask(t, uint32(2*(round*streams+i)+1), "GET", "/", "")
		}
		for len(ended) < (round+1)*streams {
			next()
		}
	}
	x.settled(t, rounds*streams)
	c.must(t, c.WritePing(false, [8]byte{1}))
	for {
		if f := next(); f.Header().Type == http2.FramePing {
			break
		}
	}
	if after > 0 {
		t.Errorf("after the ends of %d responses %d frames came", len(ended), after)
	}
}

// slowToReturn is a connection whose writes return some time after the other side has the data.
type slowToReturn struct{ net.Conn }

func (c slowToReturn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	time.Sleep(time.Second)
	return n, err
}

// TestClientsThatLeaveWithTheEnd have had a whole response, even if the server sees the disconnect
// first.
func TestClientsThatLeaveWithTheEnd(t *testing.T) {
	usual := func(c net.Conn) net.Conn { return c }
	slow := func(c net.Conn) net.Conn { return slowToReturn{c} }
	// the library may keep the last frame until no more is to be written
	const short, long = 20000, 30000
	write := func(w http.ResponseWriter, _ *http.Request, size int) { _, _ = w.Write(make([]byte, size)) }
	for name, tc := range map[string]struct {
		over    func(net.Conn) net.Conn
		size    int
		handler func(http.ResponseWriter, *http.Request, int)
	}{
		"before the handler returns": {usual, short, func(w http.ResponseWriter, r *http.Request, size int) {
			write(w, r, size)
			<-r.Context().Done()
		}},
		"and the handler gives up": {usual, short, func(w http.ResponseWriter, r *http.Request, size int) {
			write(w, r, size)
			<-r.Context().Done()
			if http.NewResponseController(w).Flush() != nil {
				panic(http.ErrAbortHandler)
			}
		}},
		"before it is noted":                 {slow, short, write},
		"before the handler's write returns": {slow, long, write},
		"before it is noted, of an unknown length": {slow, short,
			func(w http.ResponseWriter, r *http.Request, size int) {
				w.Header().Del("Content-Length")
				write(w, r, size)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", strconv.Itoa(tc.size))
				tc.handler(w, r, tc.size)
			})
			inBubbleOver(t, tc.over, Options{Handler: handler}, func(t *testing.T, s *Server, c *client2) {
				c.mu.Lock()
				c.leave = true
				c.mu.Unlock()
				c.opens(t)
				c.ask(t, 1, "GET", "/", "")
				_ = c.came()
				_, es := s.Witnessed()
				if len(es) != 1 || es[0].Error != "" || es[0].Ended == 0 || es[0].ResponseBytes != int64(tc.size) {
					t.Errorf("%+v", es)
				}
				one := s.connections[0]
				one.mu.Lock()
				defer one.mu.Unlock()
				if one.seen.Closed == 0 || len(one.streams) > 0 {
					t.Errorf("closed at %d, and %d streams are open", one.seen.Closed, len(one.streams))
				}
			})
		})
	}
}

// brokenOnce is a connection that ends in the midst of a write, of which that one hears late.
type brokenOnce struct {
	net.Conn
	out *int // bytes
}

func (c brokenOnce) Write(b []byte) (int, error) {
	if *c.out += len(b); *c.out < 10000 {
		return c.Conn.Write(b)
	}
	_ = c.Conn.Close()
	time.Sleep(time.Second)
	return 0, net.ErrClosed
}

// TestEndsThatAreNotWritten: a response whose end was on its way when its connection broke is not
// whole.
func TestEndsThatAreNotWritten(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "16000")
		_, _ = w.Write(make([]byte, 16000))
	})
	inBubbleOver(t, func(c net.Conn) net.Conn { return brokenOnce{c, new(int)} }, Options{Handler: handler},
		func(t *testing.T, s *Server, c *client2) {
			c.opens(t)
			c.ask(t, 1, "GET", "/", "")
			_ = c.came()
			_, es := s.Witnessed()
			if len(es) != 1 || es[0].Error == "" || es[0].Ended == 0 {
				t.Errorf("%+v", es)
			}
		})
}

// TestResetsLeaveNothing: aborted responses that never began are not expected to end, so others
// have room.
func TestResetsLeaveNothing(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		w.Header().Set("Content-Length", "5")
		_, _ = io.WriteString(w, "12345")
	})
	for _, blind := range []bool{false, true} {
		inBubble(t, Options{Handler: handler, Blind: blind}, func(t *testing.T, s *Server, c *client2) {
			c.opens(t)
			for i := range uint32(10) {
				c.ask(t, 2*i+1, "GET", "/", "")
				synctest.Wait()
				c.must(t, c.WriteRSTStream(2*i+1, http2.ErrCodeCancel))
			}
			_ = c.came()
			s.mu.Lock()
			defer s.mu.Unlock()
			for open := range s.open {
				one := open.(*connection)
				one.mu.Lock()
				defer one.mu.Unlock()
				if len(one.toCome) > 0 {
					t.Errorf("blind=%v: of %d streams the end is still to come", blind, len(one.toCome))
				}
			}
		})
	}
}

// TestEndsThatAreOutAreRemembered also if nobody wants their responses any more: those that the
// library sends are still to come.
func TestEndsThatAreOutAreRemembered(t *testing.T) {
	c := &connection{toCome: map[int64]int64{1: 0, 3: 5}}
	for _, stream := range []int64{1, 3, 5} {
		c.expectNoMore(stream)
	}
	if _, is := c.toCome[1]; !is || len(c.toCome) != 1 {
		t.Errorf("%v", c.toCome)
	}
}
