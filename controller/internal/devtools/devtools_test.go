package devtools

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// said is a browser that says a text and takes everything.
type said struct{ io.Reader }

func (said) Write(b []byte) (int, error) { return len(b), nil }

// TestReplies: an answer belongs to its command. Damaged messages, and events of other methods, are
// dropped.
func TestReplies(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"answer":     {`{"method":"other"}` + "\x00" + `{"id":9}` + "\x00" + `{"id":1,"result":"yes"}` + "\x00", ""},
		"damaged":    {"{]\x00\x00\xff\x00" + `{"id":1,"result":"yes"}` + "\x00", ""},
		"refused":    {`{"id":1,"error":{"message":"no"}}` + "\x00", "a: no"},
		"no text":    {`{"id":1,"result":7}` + "\x00", "json: cannot unmarshal number into Go value of type string"},
		"no result":  {`{"id":1}` + "\x00", "unexpected end of JSON input"},
		"incomplete": {`{"id":1,"result":"yes"}`, "the browser closed its developer tools"},
		"endless":    {strings.Repeat("x", maxMessage+1), "bufio.Scanner: token too long"},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			c := New(said{strings.NewReader(tc.text)}, "")
			defer c.Close()
			err := c.Call(t.Context(), "", "a", struct{}{}, &got)
			if tc.want == "" && (err != nil || got != "yes") ||
				tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%q, %v", got, err)
			}
			if tc.want != "" && c.Call(t.Context(), "", "a", struct{}{}, &got) == nil {
				t.Error("a call after the end succeeds")
			}
		})
	}
}

// TestEvent: an event may come before the answer, and is kept.
func TestEvent(t *testing.T) {
	c := New(said{strings.NewReader(`{"method":"b","params":2}` + "\x00" + `{"method":"a","params":1}` + "\x00" +
		`{"id":1,"result":{}}` + "\x00")}, "a")
	defer c.Close()
	var n int
	err := errors.Join(c.Call(t.Context(), "", "x", nil, &struct{}{}), c.Event(t.Context(), &n))
	if err != nil || n != 1 {
		t.Error(n, err)
	}
}

// TestSilence: the context ends the wait for a browser that does not answer.
func TestSilence(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	late := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	c := New(ours, "a")
	if err := c.Call(ctx, "", "x", nil, &struct{}{}); !errors.Is(err, late) {
		t.Error(err)
	}
	if err := c.Event(ctx, nil); !errors.Is(err, late) {
		t.Error(err)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"id":1,"result":{"data":"x","eof":true}}` + "\x00"))
	f.Add([]byte(`{"method":"a","params":{}}` + "\x00{\x00" + `{"id":-1,"error":{}}` + "\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := New(said{bytes.NewReader(text)}, "a")
		defer c.Close()
		var got any
		for range 3 {
			_ = c.Call(t.Context(), "", "x", nil, &got)
		}
		_ = c.Event(t.Context(), &got)
	})
}
