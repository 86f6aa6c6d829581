package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
)

// pipes are connections within the process, so that time can be that of the test.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, open := <-p; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil } // by the test
func (p pipes) Addr() net.Addr { return &net.IPAddr{} }

// connected returns a client of what answers at the other end; nil: nothing does.
func connected(t *testing.T, address string, rig http.HandlerFunc) *Client {
	t.Helper()
	c, err := New(address, "")
	if err != nil {
		t.Fatal(err)
	}
	listener, transport := make(pipes), c.transport()
	server := &http.Server{Handler: rig}
	if rig != nil {
		go func() { _ = server.Serve(listener) }()
	}
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		if rig != nil {
			listener <- there
		}
		return here, nil
	}
	c.http.Transport = transport
	t.Cleanup(func() {
		c.Close()
		close(listener)
		_ = server.Close()
	})
	return c
}

// within ends a test whose client waits for ever.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(stop)
	return ctx
}

func call(ctx context.Context, c *Client) error {
	return c.Call(ctx, "rig.status", api.Empty{}, nil)
}

// A rig that hangs is given up: before it answers, in the middle of an answer, and before it has
// said who it is.
//
// Fault: A rig accepts a connection and does not answer
func TestSilence(t *testing.T) {
	half := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"jsonrpc":`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	push := func(ctx context.Context, c *Client) error {
		_, _, err := c.Push(ctx, strings.NewReader("a run"))
		return err
	}
	for name, tc := range map[string]struct {
		address, want string
		rig           http.HandlerFunc
		ask           func(context.Context, *Client) error
	}{
		"no answer": {"http://rig-3", "talk to the rig at rig-3: the rig says nothing for 2m30s", nil,
			call},
		"half an answer":          {"http://rig-3", "cannot be read: the rig says nothing for 2m30s", half, call},
		"no handshake":            {"https://rig-3", "TLS handshake timeout", nil, call},
		"no handshake for a push": {"https://rig-3", "TLS handshake timeout", nil, push},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := within(t)
				if err := tc.ask(ctx, connected(t, tc.address, tc.rig)); err == nil || ctx.Err() != nil ||
					!strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, want %q", err, tc.want)
				}
			})
		})
	}
}

// A client may take long to read an answer, and the rig may take long over a pushed run.
//
// Fault: A rig accepts a connection and does not answer
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connected(t, "http://rig-3", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = io.Copy(io.Discard, r.Body)
				time.Sleep(2 * silence)
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, `{"run":"it"}`)
				return
			}
			_, _ = io.WriteString(w, "a ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(silence / 2)
			_, _ = io.WriteString(w, "file")
		})
		if id, _, err := c.Push(within(t), strings.NewReader("a run")); id != "it" || err != nil {
			t.Errorf("a run that the rig looks at for long: %q, %v", id, err)
		}
		file, err := c.File(within(t), "it", "run.json")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * silence)
		first := make([]byte, 1)
		_, err = io.ReadFull(file, first)
		time.Sleep(2 * silence)
		rest, e := io.ReadAll(file)
		if text := string(first) + string(rest); text != "a file" || errors.Join(err, e, file.Close()) != nil {
			t.Errorf("a file that is read late: %q, %v, %v", text, err, e)
		}
	})
}

// A wrong request gets an error with the right form.
func TestHints(t *testing.T) {
	rig := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(rig.Close)
	at := rig.Listener.Addr().String()
	for address, want := range map[string]string{
		"https://" + at: "by EIDETICKER_FINGERPRINT or --fingerprint",
		"http://" + at:  "its address is https://" + at,
	} {
		c, err := New(address, "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if strings.HasPrefix(address, "http:") {
			if err := c.Trust("AB"); err == nil || !strings.HasPrefix(err.Error(), "rig "+address+" has no cert") {
				t.Errorf("a fingerprint for %s: %v", address, err)
			}
		}
		none := func(api.Event) error { return nil }
		for how, err := range map[string]error{"a call": call(within(t), c),
			"events": c.Events(within(t), nil, nil, 0, nil, none)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s by %s: %v, want %q", how, address, err, want)
			}
		}
	}
}
