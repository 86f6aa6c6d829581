package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

const protocol = "eideticker-test.1"

func config(t *testing.T, mine, theirs string) *tls.Config {
	t.Helper()
	c, err := secret.Config(protocol, mine, theirs)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// passed is a connection whose first deadlines are over when they are set, as after a stall of the
// machine.
type passed struct {
	net.Conn
	first int
}

func (p *passed) SetReadDeadline(at time.Time) error {
	if p.first--; p.first >= 0 {
		at = time.Now().Add(-time.Second)
	}
	return p.Conn.SetReadDeadline(at)
}

// TestMachineStoodStill: data that arrived during a stall is read. Missing data is waited for at
// most the patience.
func TestMachineStoodStill(t *testing.T) {
	agentTLS, rigTLS := config(t, AgentSide, RigSide), config(t, RigSide, AgentSide)
	for first, want := range map[int]error{0: nil, 1: nil, parts - 1: nil, parts: os.ErrDeadlineExceeded} {
		mine, theirs := pipe(t, agentTLS, rigTLS)
		sent := make(chan error, 1)
		go func() { sent <- mine.Write(7, nil) }()
		var got int
		theirs.conn.Conn = &passed{theirs.conn.Conn, first}
		if err := theirs.Read(&got, time.Minute); !errors.Is(err, want) || err == nil && got != 7 {
			t.Errorf("%d deadlines have passed: %d, %v", first, got, err)
		}
		_ = theirs.conn.Close()
		<-sent
		_ = mine.conn.Close()
	}
}

// pipe returns the two ends of a wire, the rig's first.
func pipe(t *testing.T, agentTLS, rigTLS *tls.Config) (mine, theirs *Conn) {
	t.Helper()
	a, b := net.Pipe()
	accepted := make(chan error, 1)
	go func() {
		var err error
		theirs, _, err = Accept(t.Context(), b, agentTLS, nil)
		accepted <- err
	}()
	mine, err := Join(t.Context(), a, rigTLS, protocol)
	if err := errors.Join(err, <-accepted); err != nil {
		t.Fatal(err)
	}
	return mine, theirs
}
