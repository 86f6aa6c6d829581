package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

// Service is what an agent serves.
type Service struct {
	Driver input.Driver   // stays its owner's, but is used by Serve alone until that returns
	Clock  timeline.Clock // the driver's; nil: the monotonic one
	Token  wire.Token
	Log    *slog.Logger // nil: nothing is said
}

// Serve lets one controller after the other use a driver, until ctx ends, and closes the listener.
func Serve(ctx context.Context, l net.Listener, s Service) error {
	if s.Clock == nil {
		s.Clock = timeline.Monotonic()
	}
	a := &agent{Service: s}
	server := wire.Server{Protocol: subprotocol, Token: s.Token, Log: s.Log, Silent: tellOldRig, Serve: a.serve}
	if err := server.Run(ctx, l); err != nil {
		return fmt.Errorf("serve input: %w", err)
	}
	return nil
}

// agent is a service that runs.
type agent struct {
	Service
	using  sync.Mutex // held by who controls
	lifted []string   // since a controller was told last; with using
}

// serve executes the requests of an authenticated controller, if it is the only one and of this
// release.
func (a *agent) serve(ctx context.Context, w *wire.Conn, rig string, log *slog.Logger) error {
	if rig != subprotocol {
		err := fmt.Errorf("the rig speaks %.40q, the agent %q: use builds of the same release", rig, subprotocol)
		return errors.Join(err, w.Write(greeting{Version: version, Error: failureOf(err)}, nil))
	}
	if !a.using.TryLock() {
		return errors.Join(errBusy, w.Write(greeting{Version: version, Error: failureOf(errBusy)}, nil))
	}
	defer a.using.Unlock()
	if err := w.Write(greeting{Version: version, Info: a.Driver.Info(), Lifted: a.lifted}, nil); err != nil {
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
