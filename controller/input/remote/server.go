package remote

import (
	"context"
	"crypto/tls"
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
	c, err := s.Token.config(agentSide, rigSide)
	if err != nil {
		return fmt.Errorf("serve input: %w", err)
	}
	a := &agent{Service: s, config: c, strangers: make(chan struct{}, maxStrangers)}
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
			pause(ctx, keepAlive)
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
	config    *tls.Config
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
		w, rig, err := accept(ctx, conn, a.config)
		<-a.strangers
		if err != nil {
			log.Warn("controller refused", "error", err)
			return
		}
		if err := a.serve(ctx, w, rig, log); err != nil {
			log.Warn("controller lost", "error", err)
		}
	})
}

// serve executes the requests of an authenticated controller, if it is the only one and of this
// release.
func (a *agent) serve(ctx context.Context, w *wire, rig string, log *slog.Logger) error {
	if rig != subprotocol {
		err := fmt.Errorf("the rig speaks %.40q, the agent %q: use builds of the same release", rig, subprotocol)
		return errors.Join(err, w.write(greeting{Version: version, Error: failureOf(err)}, nil))
	}
	if !a.using.TryLock() {
		return errors.Join(errBusy, w.write(greeting{Version: version, Error: failureOf(errBusy)}, nil))
	}
	defer a.using.Unlock()
	if err := w.write(greeting{Version: version, Info: a.Driver.Info(), Lifted: a.lifted}, nil); err != nil {
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

// maxLifted bounds the report of lifted keys and fingers.
const maxLifted = 20
