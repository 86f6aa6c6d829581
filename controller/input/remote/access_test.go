package remote

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

func TestToken(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		for _, token := range []Token{"", "correct horse battery staplf", secret + " "} {
			if d, err := w.dial(&link{}, token); !errors.Is(err, ErrToken) {
				t.Errorf("token %q: %v, %v", token, d, err)
			}
		}
		w.shut(w.mustDial(&link{}))
	})
}

// An agent that does not know the token is found out too: it cannot tag what it says.
func TestFalseAgent(t *testing.T) {
	for _, answer := range []func(w *wire) error{
		func(w *wire) error { // goes on without tags
			return errors.Join(w.write(verdict{}, nil), w.write(verdict{}, nil), w.write(greeting{Info: input.Info{Realism: input.Hardware}}, nil))
		},
		func(w *wire) error { // has another token
			if err := w.write(verdict{}, nil); err != nil {
				return err
			}
			w.secure(Token("another").derive("to agent", nil, nil), Token("another").derive("to rig", nil, nil))
			return w.write(verdict{}, nil)
		},
	} {
		mine, theirs := net.Pipe()
		go func() {
			w := newWire(theirs)
			var p proof
			_ = errors.Join(w.write(hello{protocol, version, nonce()}, nil), w.read(&p, time.Minute), answer(w))
			theirs.Close()
		}()
		if _, err := connect(t.Context(), mine, Options{Token: secret}); err == nil || errors.Is(err, ErrToken) {
			t.Errorf("%v", err)
		}
	}
}

func TestOtherVersionsAndStrangers(t *testing.T) {
	for _, tc := range []struct{ say, want string }{
		{`{"protocol":"eideticker-input","version":2,"nonce":"` + strings.Repeat("A", 43) + `="}`, "version 2"},
		{`{"protocol":"ssh"}`, "no agent for input"},
		{`[]`, "no message"},
		{strings.Repeat(" ", maxGreeting+1), "limit"},
	} {
		mine, theirs := net.Pipe()
		go func() {
			_, _ = theirs.Write(appendFrame(nil, nil, []byte(tc.say)))
		}()
		if _, err := connect(t.Context(), mine, Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.40s: %v, want %s", tc.say, err, tc.want)
		}
		theirs.Close()
	}
}

func TestOneControllerAtATime(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		first := w.mustDial(&link{})
		if _, err := w.dial(&link{}, secret); !errors.Is(err, ErrBusy) {
			t.Errorf("a second one: %v", err)
		}
		w.do(first, w.rig.Now(), input.Move{X: 1, Y: 1})
		w.shut(first)
		time.Sleep(time.Millisecond)
		w.shut(w.mustDial(&link{}))
	})
}

// Whoever says nothing is sent away, and cannot keep others out for long.
func TestSilentStrangers(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		var all []net.Conn
		for range maxStrangers + 3 {
			mine, theirs := net.Pipe()
			w.conns <- theirs
			all = append(all, mine)
		}
		time.Sleep(Patience + time.Millisecond)
		w.shut(w.mustDial(&link{}))
		for _, c := range all {
			c.Close()
		}
	})
}

func TestFramesThatWereChanged(t *testing.T) {
	for name, change := range map[string]func(b []byte) []byte{
		"a bit":      func(b []byte) []byte { b[len(b)-10] ^= 1; return b },
		"said twice": func(b []byte) []byte { return append(b, b...) },
		"left out":   func([]byte) []byte { return nil },
		"a length":   func(b []byte) []byte { b[0] = 0x7f; return b },
		"another's words": func([]byte) []byte {
			return appendFrame(nil, &seal{key: []byte("guess")}, []byte(`{"id":9,"op":"bye"}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 0, func(t *testing.T, w *world) {
				var armed bool
				d := w.mustDial(&link{alter: func(b []byte) []byte {
					if armed && strings.Contains(string(b), opDo) {
						armed = false
						return change(b)
					}
					return b
				}})
				armed = true
				_, err := d.Do(w.ctx, 0, input.KeyDown{Key: "a"})
				if name == "said twice" { // the first of the two is as it should be
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

func TestListen(t *testing.T) {
	for _, tc := range []struct {
		address string
		token   Token
		ok      bool
	}{
		{"127.0.0.1:0", "", true},
		{"[::1]:0", "", true},
		{"127.0.0.1:0", secret, true},
		{":0", "", false},
		{"0.0.0.0:0", "", false},
		{"[::]:0", "", false},
		{"192.0.2.1:0", "", false},
		{"0.0.0.0:0", secret, true},
		{"nonsense", secret, false},
	} {
		l, err := Listen(tc.address, tc.token)
		if l != nil {
			l.Close()
		}
		if tc.address == "[::1]:0" && err != nil && !strings.Contains(err.Error(), "token") {
			continue // no IPv6 here
		}
		if (err == nil) != tc.ok {
			t.Errorf("%s with token %q: %v", tc.address, tc.token, err)
		}
	}
}

func TestReadToken(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tc := range []struct {
		name, file, env string
		want            Token
		err             string
	}{
		{"file", write("good", string(secret)+"\r\n", 0o600), "x", secret, ""},
		{"group may read", write("group", string(secret), 0o640), "", secret, ""},
		{"all may read", write("open", string(secret), 0o644), "", "", "chmod"},
		{"short", write("short", "12345", 0o600), "", "", "from 16 to"},
		{"long", write("long", strings.Repeat("x", MaxToken+100), 0o600), "", "", "from 16 to"},
		{"missing", filepath.Join(dir, "no"), "", "", "no such file"},
		{"environment", "", string(secret), secret, ""},
		{"bad environment", "", "12345", "", "$" + TokenVariable},
	} {
		t.Setenv(TokenVariable, tc.env)
		got, err := ReadToken(tc.file)
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "12345") {
			t.Errorf("%s: the error tells the token", tc.name)
		}
	}
	os.Unsetenv(TokenVariable)
	if got, err := ReadToken(""); got != "" || err != nil {
		t.Errorf("nothing set: %q, %v", got, err)
	}
}

// The whole way over TCP, on real clocks.
func TestOverTCP(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Listen("127.0.0.1:0", secret)
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
		if _, err := Open(t.Context(), "127.0.0.1:1", params); err == nil || !strings.Contains(err.Error(), "parameter") {
			t.Errorf("%v: %v", params, err)
		}
	}
}
