package replay

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/eideticker/eideticker/netsim/serve"
)

// TestUrgentResponsesAreNotShared: a more urgent response comes before one that was requested
// first. The parts in which both were recorded have no effect.
func TestUrgentResponsesAreNotShared(t *testing.T) {
	const size, frame = 256 << 10, 16 << 10
	for name, part := range map[string]int64{"at once": 0, "in parts": 4 << 10} {
		t.Run(name, func(t *testing.T) {
			var all []*Exchange
			for _, path := range []string{"deferred", "blocking"} {
				e := one("GET", "https://a.test/"+path, 200, strings.Repeat("x", size))
				for at := int64(0); part > 0 && at < size; at += part {
					e.Chunks = append(e.Chunks, Chunk{part, time.Duration(at / part)})
				}
				all = append(all, e)
			}
			r, err := NewReplayer(archiveOf(all...), ReplayerOptions{Recorded: true})
			if err != nil {
				t.Fatal(err)
			}
			c := client2(t, r)
			head := func(stream uint32, path, priority string) {
				t.Helper()
				var b bytes.Buffer
				pack := hpack.NewEncoder(&b)
				for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "a.test"},
					{":path", path}, {"priority", priority}} {
					if err := pack.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: b.Bytes(),
					EndStream: true, EndHeaders: true}); err != nil {
					t.Fatal(err)
				}
			}
			head(1, "/deferred", "u=5")
			head(3, "/blocking", "u=1")
			heads, others, urgent := 0, 0, 0
			for urgent < size {
				f, err := c.ReadFrame()
				if err != nil {
					t.Fatal(err)
				}
				switch f := f.(type) {
				case *http2.HeadersFrame:
					if heads++; heads < 2 {
						break
					}
					if err := c.WriteWindowUpdate(3, 1); err != nil {
						t.Fatal(err)
					}
				case *http2.DataFrame:
					if f.StreamID == 3 && urgent == 0 { // one byte: the rest waits for a window, like the other body
						err := errors.Join(c.WriteWindowUpdate(0, 1<<30),
							c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30}))
						if err != nil {
							t.Fatal(err)
						}
					}
					if f.StreamID == 3 {
						urgent += len(f.Data())
					} else {
						others += len(f.Data())
					}
				}
			}
			if others > size/4 {
				t.Errorf("%d frames of the deferred response came before the end of the urgent one, of %d",
					others/frame,
					size/frame)
			}
		})
	}
}

// client2 is a client of HTTP/2 that opens no window, connected to a server that replays.
func client2(t *testing.T, r *Replayer) *http2.Framer {
	t.Helper()
	authority, err := serve.OpenAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Handler: r, Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.HTTPS(l)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "a.test",
		NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	c := http2.NewFramer(conn, conn)
	if err := c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		t.Fatal(err)
	}
	return c
}
