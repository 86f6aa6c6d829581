package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// client2 is a client of HTTP/2 that sees each frame. It opens windows only on request.
type client2 struct {
	*http2.Framer
	conn  net.Conn
	leave bool // with the first end
	heads bytes.Buffer
	pack  *hpack.Encoder

	mu       sync.Mutex
	frames   []seenFrame // of streams
	settings map[http2.SettingID]uint32
}

type seenFrame struct {
	kind   http2.FrameType
	stream uint32
	bytes  int // of a body
	end    bool
}

func (f seenFrame) String() string {
	end := ""
	if f.end {
		end = " end"
	}
	return fmt.Sprintf("%v %d: %d%s", f.kind, f.stream, f.bytes, end)
}

func (c *client2) ask(t *testing.T, stream uint32, method, path, priority string) {
	t.Helper()
	c.heads.Reset()
	for _, v := range [][2]string{{":method", method}, {":scheme", "https"}, {":authority", "page.test"},
		{":path", path}, {"priority", priority}} {
		if v[1] == "" {
			continue
		}
		_ = c.pack.WriteField(hpack.HeaderField{Name: v[0], Value: v[1]})
	}
	c.must(t, c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.heads.Bytes(), EndStream: true,
		EndHeaders: true}))
}

func (c *client2) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settled lets all come, once all that was asked for in a bubble waits: of heads that the client
// has not read yet bodies would come later.
func (c *client2) settled(t *testing.T) {
	t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	c.opens(t)
}

// opens lets all come.
func (c *client2) opens(t *testing.T) {
	t.Helper()
	c.must(t, c.WriteWindowUpdate(0, 1<<30))
	c.must(t, c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30}))
}

// came returns the frames so far, once no more arrive.
func (c *client2) came() []seenFrame {
	time.Sleep(time.Minute)
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.frames)
}

func (c *client2) read() {
	for {
		time.Sleep(time.Millisecond) // the next step after a frame is known before it
		f, err := c.ReadFrame()
		if err != nil {
			return
		}
		c.mu.Lock()
		h := f.Header()
		switch f := f.(type) {
		case *http2.SettingsFrame:
			_ = f.ForeachSetting(func(s http2.Setting) error {
				c.settings[s.ID] = s.Val
				return nil
			})
		case *http2.DataFrame:
			c.frames = append(c.frames, seenFrame{h.Type, h.StreamID, len(f.Data()), f.StreamEnded()})
		case *http2.HeadersFrame:
			c.frames = append(c.frames, seenFrame{h.Type, h.StreamID, 0, f.StreamEnded()})
		case *http2.RSTStreamFrame:
			c.frames = append(c.frames, seenFrame{h.Type, h.StreamID, 0, true})
		}
		if n := len(c.frames); c.leave && n > 0 && c.frames[n-1].end {
			_ = c.conn.Close()
		}
		c.mu.Unlock()
	}
}

// inBubble runs a server and a client side by side. All possible progress has happened before the
// client continues.
func inBubble(t *testing.T, o Options, do func(*testing.T, *Server, *client2)) {
	t.Helper()
	inBubbleOver(t, func(c net.Conn) net.Conn { return c }, o, do)
}

// inBubbleOver is inBubble with a connection of the server's that is not as others.
func inBubbleOver(t *testing.T, over func(net.Conn) net.Conn, o Options, do func(*testing.T, *Server, *client2)) {
	t.Helper()
	a, err := OpenAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o.Authority = a
	synctest.Test(t, func(t *testing.T) {
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := net.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			s.secure(context.Background(), s.connected(over(ours)))
		}()
		defer func() {
			_ = theirs.Close()
			<-served
			s.handling.Wait()
			_ = s.Close()
		}()
		conn := tls.Client(theirs, &tls.Config{InsecureSkipVerify: true, /* a bubble has another time */
			ServerName: "page.test", NextProtos: []string{"h2"}})
		if err := conn.Handshake(); err != nil {
			t.Fatal(err)
		}
		c := &client2{Framer: http2.NewFramer(conn, conn), conn: theirs, settings: map[http2.SettingID]uint32{}}
		c.pack = hpack.NewEncoder(&c.heads)
		go c.read()
		_, err = io.WriteString(conn, preface)
		c.must(t, err)
		c.must(t, c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
		do(t, s, c)
	})
}
