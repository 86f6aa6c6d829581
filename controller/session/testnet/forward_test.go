package testnet

import (
	"context"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
)

// hesitant is a listener whose first Accept fails.
type hesitant struct {
	net.Listener
	once sync.Once
}

func (h *hesitant) Accept() (c net.Conn, err error) {
	h.once.Do(func() { err = syscall.EMFILE })
	if err != nil {
		return nil, err
	}
	return h.Listener.Accept()
}

// TestForwardGoesOn: a listener that has no files for a moment still connects its next clients.
func TestForwardGoesOn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over, end := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		Pass(over, &hesitant{Listener: l}, func(context.Context) (net.Conn, error) {
			here, there := net.Pipe()
			go func() { _, _ = io.WriteString(there, "ok"); _ = there.Close() }()
			return here, nil
		})
	})
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text := make([]byte, 2)
	if _, err := io.ReadFull(c, text); err != nil || string(text) != "ok" {
		t.Errorf("%q %v", text, err)
	}
	end()
	serving.Wait()
}
