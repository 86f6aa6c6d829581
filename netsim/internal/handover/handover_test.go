package handover

import (
	"errors"
	"net"
	"testing"
)

// TestListener: a connection comes out as it went in, and when nobody takes any more it is closed.
func TestListener(t *testing.T) {
	l := New()
	one, other := net.Pipe()
	defer other.Close()
	go l.Give(one)
	if got, err := l.Accept(); err != nil || got != one {
		t.Errorf("%v, %v", got, err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	l.Give(one)
	if _, err := other.Read(make([]byte, 1)); err == nil {
		t.Error("a connection that nobody takes is still open")
	}
}
