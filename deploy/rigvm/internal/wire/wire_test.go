package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFramesComeBack(t *testing.T) {
	frames := []Frame{
		{0, Hello, []byte(`{"Kernel":"6.1"}`)},
		{1, Data, nil},
		{1 << 31, Stdout, bytes.Repeat([]byte{0xff}, MaxPayload)},
	}
	var b []byte
	for _, f := range frames {
		b = Append(b, f.Call, f.Kind, f.Payload)
	}
	r := NewReader(bytes.NewReader(b))
	for _, want := range frames {
		got, err := r.Read()
		if err != nil || got.Call != want.Call || got.Kind != want.Kind || !bytes.Equal(got.Payload, want.Payload) {
			t.Errorf("call %d, kind %d, %d bytes: %v", got.Call, got.Kind, len(got.Payload), err)
		}
	}
	if _, err := r.Read(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestBytesOfAFrame(t *testing.T) {
	got := Append([]byte("before"), 0x01020304, Stderr, []byte("ab"))
	if want := "before\x00\x00\x00\x02\x01\x02\x03\x04\x07ab"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBrokenFrames(t *testing.T) {
	whole := Append(nil, 1, Data, []byte("abc"))
	for n := 1; n < len(whole); n++ {
		if _, err := NewReader(bytes.NewReader(whole[:n])).Read(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if _, err := NewReader(strings.NewReader("\x00\x01\x00\x01aaaab")).Read(); err == nil ||
		!strings.Contains(err.Error(), "65537 bytes") {
		t.Errorf("too long: %v", err)
	}
	if err := (Frame{Kind: Done, Payload: []byte("{")}).Unmarshal(&Reply{}); err == nil ||
		!strings.Contains(err.Error(), "kind 8") {
		t.Errorf("no JSON: %v", err)
	}
}

// FuzzReader reads what a guest gone mad may send.
func FuzzReader(f *testing.F) {
	f.Add(Append(Append(nil, 1, Data, []byte("abc")), 2, Done, []byte("{}")))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		var back []byte
		for {
			frame, err := r.Read()
			if err != nil {
				break
			}
			back = Append(back, frame.Call, frame.Kind, frame.Payload)
		}
		if !bytes.HasPrefix(b, back) {
			t.Errorf("%q came back as %q", b, back)
		}
	})
}
