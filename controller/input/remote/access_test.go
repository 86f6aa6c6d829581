package remote

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

func TestToken(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		for _, token := range []wire.Token{"", "correct horse battery staplf", secret + " "} {
			if d, err := w.dial(&link{}, token); !errors.Is(err, wire.ErrToken) {
				t.Errorf("token %q: %v, %v", token, d, err)
			}
			if said := w.said(); !strings.Contains(said, "do not have the same token") {
				t.Errorf("token %q: the agent says %s", token, said)
			}
		}
		w.shut(w.mustDial(&link{}))
	})
}

// TestFalseAgent: an agent with another token is detected before it gets any data.
func TestFalseAgent(t *testing.T) {
	mine, theirs := net.Pipe()
	go func() {
		other := must(wire.Token("another").Config(subprotocol, wire.AgentSide, wire.RigSide))
		_, _, _ = wire.Accept(t.Context(), theirs, other, nil)
		theirs.Close()
	}()
	if _, err := connect(t.Context(), mine, Options{Token: secret}); !errors.Is(err, wire.ErrToken) {
		t.Errorf("%v", err)
	}
}

// TestForgedCertificates: a peer that takes any certificate and shows one of its own gets nothing.
// Neither does one that shows the other side's public key.
func TestForgedCertificates(t *testing.T) {
	for name, forge := range map[string]func(mine *tls.Config){
		"another key": func(c *tls.Config) {
			c.Certificates = must(rigConfig("guess")).Certificates
		},
		"none": func(c *tls.Config) { c.Certificates = nil },
		"the agent's": func(c *tls.Config) {
			c.Certificates = must(secret.Config(subprotocol, wire.AgentSide, wire.RigSide)).Certificates
		},
		"without a key": func(c *tls.Config) {
			c.Certificates[0].PrivateKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		},
		"an older TLS":   func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 },
		"as it is meant": func(*tls.Config) {},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 0, func(t *testing.T, w *world) {
				c := must(rigConfig(secret))
				c.VerifyConnection = nil
				forge(c)
				mine, theirs := net.Pipe()
				w.conns <- theirs
				conn, err := wire.Join(t.Context(), mine, c, subprotocol)
				var g greeting
				if err == nil {
					err = conn.Read(&g, patience)
				}
				if good := name == "as it is meant"; (err == nil) != good || g.Info.Driver != "" != good {
					t.Errorf("%v, greeted with %+v", err, g)
				}
				mine.Close()
			})
		})
	}
}

func rigConfig(token wire.Token) (*tls.Config, error) {
	return token.Config(subprotocol, wire.RigSide, wire.AgentSide)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestOtherVersions: both sides say that the other one is of another release.
func TestOtherVersions(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		mine, theirs := net.Pipe()
		w.conns <- theirs
		c := must(rigConfig(secret))
		d := websocket.Dialer{Subprotocols: []string{"eideticker-input.3"}}
		d.NetDialTLSContext = func(context.Context, string, string) (net.Conn, error) {
			return tls.Client(mine, c),
				nil
		}
		ws, _, err := d.Dial("wss://agent/", nil)
		if err != nil {
			t.Fatal(err)
		}
		var g greeting
		if err := ws.ReadJSON(&g); err != nil || g.Version != version ||
			!strings.Contains(g.Error.Text, "same release") {
			t.Errorf("a newer rig is told %+v, %v", g, err)
		}
		if said := w.said(); !strings.Contains(said, "eideticker-input.3") {
			t.Errorf("of a newer rig the agent says %s", said)
		}
		mine.Close()
	})
}

// TestOldRig: a rig of version 1 waits for the agent's first frame, and then compares protocol,
// nonce and version.
func TestOldRig(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		mine, theirs := net.Pipe()
		w.conns <- theirs
		_ = mine.SetReadDeadline(time.Now().Add(patience))
		head := make([]byte, 4)
		if _, err := io.ReadFull(mine, head); err != nil {
			t.Fatal(err)
		}
		body := make([]byte, binary.BigEndian.Uint32(head))
		var hello struct {
			Protocol string `json:"protocol"`
			Version  int    `json:"version"`
			Nonce    []byte `json:"nonce"`
		}
		if _, err := io.ReadFull(mine, body); err != nil || json.Unmarshal(body, &hello) != nil ||
			hello.Protocol != "eideticker-input" || hello.Version != version || len(hello.Nonce) != 32 {
			t.Errorf("%s, %v", body, err)
		}
		if said := w.said(); !strings.Contains(said, "a rig of an older release") {
			t.Errorf("the agent says %s", said)
		}
		mine.Close()
	})
}

func TestStrangeAgents(t *testing.T) {
	hello := `{"protocol":"eideticker-input","version":1,"nonce":"` + strings.Repeat("A", 43) + `="}`
	for _, tc := range []struct{ say, want string }{
		{"\x00\x00\x00" + string(rune(len(hello))) + hello, "version 1 of the protocol"},
		{"SSH-2.0-OpenSSH_10.0\r\n", "not an input agent"},
		{"\x16\x03\x03\x7f\xff" + strings.Repeat(" ", 1<<16), "not an input agent"},
		{"", "EOF"},
	} {
		mine, theirs := net.Pipe()
		go func() {
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			_, _ = io.WriteString(theirs, tc.say)
			theirs.Close()
		}()
		if _, err := connect(t.Context(), mine, Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.40q: %v, want %s", tc.say, err, tc.want)
		}
	}
}

// TestTooLarge: neither side reads more than a message may have. A message to the agent that does
// is not done.
func TestTooLarge(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		mine, theirs := net.Pipe()
		w.conns <- theirs
		d := websocket.Dialer{Subprotocols: []string{subprotocol}}
		d.NetDialTLSContext = func(context.Context, string, string) (net.Conn, error) {
			return tls.Client(mine, must(rigConfig(secret))), nil
		}
		ws, _, err := d.Dial("wss://agent/", nil)
		if err != nil {
			t.Fatal(err)
		}
		long := `{"id":1,"op":"do","actions":[{"do":"text","text":"a"}],"x":"` +
			strings.Repeat("x", wire.MaxBody) + `"}`
		go func() { _ = ws.WriteMessage(websocket.TextMessage, []byte(long)) }() // it may not be read to its end
		for err == nil {
			_, _, err = ws.ReadMessage()
		}
		if said := w.said(); !strings.Contains(said, "read limit exceeded") || w.hand.times() > 0 {
			t.Errorf("done %d times, the agent says %s", w.hand.times(), said)
		}
		mine.Close()
	})
}

// TestUnknownOperation: a newer rig can ask for what an agent does not have, and go on.
func TestUnknownOperation(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		d := w.mustDial(&link{})
		q, err := d.ask(w.ctx, request{Op: "profile"})
		if err != nil || !errors.Is(q.answer.Error.err(), errors.ErrUnsupported) {
			t.Errorf("%+v, %v", q, err)
		}
		w.do(d, 0, input.KeyDown{Key: "a"})
		w.shut(d)
	})
}

func TestOneControllerAtATime(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		first := w.mustDial(&link{})
		if _, err := w.dial(&link{}, secret); !errors.Is(err, errBusy) {
			t.Errorf("a second one: %v", err)
		}
		w.do(first, w.rig.Now(), input.Move{X: 1, Y: 1})
		w.shut(first)
		time.Sleep(time.Millisecond)
		w.shut(w.mustDial(&link{}))
	})
}

// TestStrangersThatStay: clients that are silent or slow are disconnected, and cannot block others
// for long.
func TestStrangersThatStay(t *testing.T) {
	for name, talk := range map[string]func(c net.Conn){
		"silent": func(net.Conn) {},
		"slow": func(c net.Conn) {
			for _, b := range []byte("\x16\x03\x01\x02\x00" + strings.Repeat("\x01", 1<<10)) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 0, func(t *testing.T, w *world) {
				var all []net.Conn
				for range wire.MaxStrangers + 3 {
					mine, theirs := net.Pipe()
					w.conns <- theirs
					all = append(all, mine)
					go talk(mine)
				}
				time.Sleep(wire.GreetWithin + patience)
				w.shut(w.mustDial(&link{}))
				for _, c := range all {
					c.Close()
				}
			})
		})
	}
}

// TestRecordsThatWereChanged: TLS detects changed, repeated, missing and inserted data.
func TestRecordsThatWereChanged(t *testing.T) {
	var before []byte
	for name, change := range map[string]func(b []byte) []byte{
		"a bit":      func(b []byte) []byte { b[len(b)-10] ^= 1; return b },
		"said twice": func(b []byte) []byte { return append(b, b...) },
		"left out":   func([]byte) []byte { return nil },
		"a length":   func(b []byte) []byte { b[3] = 0x7f; return b },
		"said again": func(b []byte) []byte { return append(b, before...) },
		"another's words": func([]byte) []byte {
			return append([]byte{23, 3, 3, 0, 35}, `{"id":9,"op":"bye"}0123456789abcdef`...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 0, func(t *testing.T, w *world) {
				var armed bool
				d := w.mustDial(&link{alter: func(b []byte) []byte {
					if armed {
						armed = false
						return change(b)
					}
					before = bytes.Clone(b)
					return b
				}})
				armed = true // the next record asks for a key
				_, err := d.Do(w.ctx, 0, input.KeyDown{Key: "a"})
				if name == "said twice" || name == "said again" { // the first of the two is as it should be
					if err == nil {
						_, err = d.Do(w.ctx, 0, input.KeyDown{Key: "b"})
					}
				} else if n := w.hand.times(); n != 0 {
					t.Errorf("done %d times", n)
				}
				if !errors.Is(err, input.ErrGone) || w.hand.times() > 1 {
					t.Errorf("%v, done %d times", err, w.hand.times())
				}
				w.shut(d)
			})
		})
	}
}

// The whole way over TCP, on real clocks.
func TestOverTCP(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := wire.Listen("127.0.0.1:0", secret)
	if err != nil {
		t.Fatal(err)
	}
	clock := timeline.Monotonic()
	h := &hand{clock: clock, rig: clock, takes: fixed(0)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, Service{Driver: h, Token: secret}) }()
	d, err := Open(t.Context(), l.Addr().String(), map[string][]string{"token": {file}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		at := clock.Now().Add(time.Duration(i%3) * time.Millisecond)
		sent, err := d.Do(t.Context(), at, input.Text{Text: strings.Repeat("<\x00日", 10_000)})
		if truth := h.last(); err != nil || truth < sent.Earliest || truth > sent.Latest || truth < at {
			t.Fatalf("sent %v, in truth %v, %v", sent, truth, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, params := range []map[string][]string{{"toke": {"x"}}, {"token": {""}}, {"token": {"a", "b"}}} {
		if _, err := Open(t.Context(), "127.0.0.1:1", params); err == nil ||
			!strings.Contains(err.Error(), "parameter") {
			t.Errorf("%v: %v", params, err)
		}
	}
}
