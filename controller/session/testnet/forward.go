package testnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/eideticker/eideticker/netsim/link"
)

// Forward makes one server of this machine reachable for the device, through the link. It listens
// at the link's far end and at the device's own loopback. dial connects to the server. The
// connections end with the network.
func (n *Network) Forward(port string, dial func(context.Context) (net.Conn, error)) error {
	far, err := n.Listen(port)
	if err != nil {
		return fmt.Errorf("forward port %s: %w", port, err)
	}
	if err := n.Loopback(port); err != nil {
		return errors.Join(err, far.Close())
	}
	n.serving.Go(func() { Pass(n.over, far, dial) })
	return nil
}

// Loopback connects a port of the device's own loopback with the same port at the link's far end.
// Names such as localhost lead there. The connections end with the network.
func (n *Network) Loopback(port string) error {
	near, err := n.Link.Device.Listen("tcp", net.JoinHostPort("", port))
	if err != nil {
		return fmt.Errorf("forward port %s: %w", port, err)
	}
	through := net.JoinHostPort(link.ServerAddress.Addr().String(), port)
	n.serving.Go(func() {
		Pass(n.over, near, func(ctx context.Context) (net.Conn, error) {
			return n.Link.Device.Dial(ctx, "tcp", through)
		})
	})
	return nil
}

// acceptAgain is the time from an error of a listener to the next attempt.
const acceptAgain = 10 * time.Millisecond

// Pass connects the clients of a listener with servers until over ends, and closes the listener.
func Pass(over context.Context, l net.Listener, dial func(context.Context) (net.Conn, error)) {
	defer context.AfterFunc(over, func() { _ = l.Close() })()
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		client, err := l.Accept()
		if err != nil && over.Err() == nil && !errors.Is(err, net.ErrClosed) { // too many files, for now
			select {
			case <-time.After(acceptAgain):
			case <-over.Done():
			}
			continue
		}
		if err != nil {
			_ = l.Close()
			return
		}
		clients.Go(func() {
			defer client.Close()
			server, err := dial(over)
			if err != nil {
				return // the client sees a connection that ends
			}
			defer server.Close()
			defer context.AfterFunc(over, func() { _, _ = client.Close(), server.Close() })()
			var back sync.WaitGroup
			back.Go(func() { pass(client, server) })
			pass(server, client)
			back.Wait()
		})
	}
}

// pass copies one direction of a connection, and its end.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if c, ok := to.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}
