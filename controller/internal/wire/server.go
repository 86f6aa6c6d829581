package wire

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Server accepts the rigs of an agent.
type Server struct {
	Protocol string
	Token    Token
	Log      *slog.Logger // nil: nothing is said
	// Silent answers a rig that sends nothing; nil: nothing does.
	Silent func(net.Conn) error
	// Serve serves a rig with the token, and its protocol. It is called at the same time for several.
	Serve func(ctx context.Context, c *Conn, rig string, log *slog.Logger) error
}

// MaxStrangers is how many connections may be there that have not proved anything.
const MaxStrangers = 8

// acceptPause is the pause after a connection that could not be accepted.
const acceptPause = 500 * time.Millisecond

// Run accepts connections until ctx ends, waits for those that are served, and closes the listener.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	log := s.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	config, err := s.Token.Config(s.Protocol, AgentSide, RigSide)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before the wait
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer l.Close()
	strangers := make(chan struct{}, MaxStrangers)
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if conn != nil {
				conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // as when there are too many files; it passes
			log.Warn("accept a controller", "error", err)
			pause(ctx, acceptPause)
			continue
		}
		select {
		case strangers <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		all.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			log := log.With("controller", conn.RemoteAddr())
			c, rig, err := Accept(ctx, conn, config, s.Silent)
			<-strangers
			if err != nil {
				log.Warn("controller refused", "error", err)
				return
			}
			if err := s.Serve(ctx, c, rig, log); err != nil {
				log.Warn("controller lost", "error", err)
			}
		})
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
