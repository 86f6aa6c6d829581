package remote

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// Service is what an agent serves.
type Service struct {
	Driver input.Driver   // stays its owner's, but is used by Serve alone until that returns
	Clock  timeline.Clock // the driver's; nil: the monotonic one
	Token  Token
	Log    *slog.Logger // nil: nothing is said
}

// maxStrangers is how many connections may be there that have not proved anything.
const maxStrangers = 8

// Serve lets one controller after the other use a driver, until ctx ends, and closes the listener.
func Serve(ctx context.Context, l net.Listener, s Service) error {
	if s.Clock == nil {
		s.Clock = timeline.Monotonic()
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	a := &agent{Service: s, strangers: make(chan struct{}, maxStrangers)}
	defer a.all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before the wait
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer l.Close()
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if conn != nil {
				conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("serve input: %w", err)
		case err != nil: // as when there are too many files; it passes
			a.Log.Warn("accept a controller", "error", err)
			pause(ctx, KeepAlive)
			continue
		}
		a.receive(ctx, conn)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// agent is a service that runs.
type agent struct {
	Service
	all       sync.WaitGroup
	strangers chan struct{}

	using  sync.Mutex // held by who controls
	lifted []string   // since a controller was told last; with using
}

// receive serves a connection on goroutines of its own.
func (a *agent) receive(ctx context.Context, conn net.Conn) {
	select {
	case a.strangers <- struct{}{}:
	default:
		conn.Close()
		return
	}
	a.all.Go(func() {
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		log := a.Log.With("controller", conn.RemoteAddr())
		w := newWire(conn)
		err := a.admit(w)
		<-a.strangers
		if err != nil {
			log.Warn("controller refused", "error", err)
			return
		}
		if err := a.serve(ctx, w, log); err != nil {
			log.Warn("controller lost", "error", err)
		}
	})
}

// admit has a controller prove itself.
func (a *agent) admit(w *wire) error {
	mine := nonce()
	if err := w.write(hello{protocol, version, mine}, nil); err != nil {
		return err
	}
	var p proof
	if err := w.read(&p, Patience); err != nil {
		return err
	}
	var err error
	switch {
	case p.Version != version:
		err = fmt.Errorf("the rig speaks version %d of the protocol, the agent %d: use builds of the same release", p.Version, version)
	case len(p.Nonce) != nonceSize, !hmac.Equal(p.Proof, a.Token.derive("proof", mine, p.Nonce)):
		err = ErrToken
	}
	if e := w.write(verdict{failureOf(err)}, nil); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	w.secure(a.Token.derive("to agent", mine, p.Nonce), a.Token.derive("to rig", mine, p.Nonce))
	return nil
}

func nonce() []byte {
	b := make([]byte, nonceSize)
	rand.Read(b) // never fails
	return b
}

// serve lets a controller that has proved itself do what it wants, if it is the only one.
func (a *agent) serve(ctx context.Context, w *wire, log *slog.Logger) error {
	if !a.using.TryLock() {
		return errors.Join(ErrBusy, w.write(verdict{failureOf(ErrBusy)}, nil))
	}
	defer a.using.Unlock()
	if err := w.write(verdict{}, nil); err != nil {
		return err
	}
	if err := w.write(greeting{a.Driver.Info(), a.lifted}, nil); err != nil {
		return err
	}
	a.lifted = nil
	log.Info("controller has come")
	s := &session{agent: a, wire: w}
	err := s.run(ctx)
	if held := s.lift(); err != nil && len(held) > 0 {
		a.lifted = append(a.lifted, held...)
		log.Warn("lifted", "what", strings.Join(held, ", "))
	}
	if len(a.lifted) > maxLifted {
		a.lifted = a.lifted[len(a.lifted)-maxLifted:]
	}
	log.Info("controller has gone")
	return err
}

// maxLifted bounds what is told of what was lifted.
const maxLifted = 20
