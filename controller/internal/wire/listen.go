package wire

import (
	"fmt"
	"net"
)

// Listen listens at an address, "127.0.0.1:4723" or ":4723". Without a token it does so on the
// loopback interface only.
func Listen(address string, token Token) (net.Listener, error) {
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen at %.100q: %w", address, err)
	}
	if token == "" && !a.IP.IsLoopback() {
		return nil, fmt.Errorf("listen at %s: give a token in a file or $%s, or use 127.0.0.1", a, TokenVariable)
	}
	l, err := net.ListenTCP("tcp", a)
	if err != nil {
		return nil, err
	}
	return l, nil
}
