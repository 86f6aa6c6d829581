//go:build linux || darwin

package serve

import (
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestUrgentResponsesOvertake: before an urgent response, only data on its way may arrive. This
// also holds if a client reads slowly and a socket would take megabytes.
func TestUrgentResponsesOvertake(t *testing.T) {
	// bytes: most is what the client's own socket takes, some segments of a loopback, and few more
	const long, most = 64 << 20, 768 << 10
	x := serveIt(t, Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := []byte("urgent")
		if r.URL.Path == "/long" {
			body = make([]byte, long)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})})
	conn := x.dialTLS(t, "h2")
	if _, err := io.WriteString(conn, preface); err != nil {
		t.Fatal(err)
	}
	c := &client2{Framer: http2.NewFramer(conn, conn)}
	c.pack = hpack.NewEncoder(&c.heads)
	c.must(t, c.WriteSettings())
	c.opens(t)
	c.ask(t, 1, "GET", "/long", "u=7")
	// The server writes until it finds no room any more; were it not so far yet, less would be
	// before the other.
	for last := int64(-1); ; time.Sleep(50 * time.Millisecond) {
		cs, es := x.Witnessed()
		if len(es) == 1 && cs[0].BytesOut == last {
			break
		}
		last = cs[0].BytesOut
	}
	c.ask(t, 3, "GET", "/", "u=0")
	before := 0
	for {
		f, err := c.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := f.(*http2.DataFrame); ok {
			if d.StreamID == 3 {
				break
			}
			before += len(d.Data())
		}
	}
	t.Logf("%d KiB came before", before>>10)
	if before > most {
		t.Errorf("%d bytes came before what was urgent", before)
	}
}
