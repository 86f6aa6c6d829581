package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Server serves a site on one address.
type Server struct {
	site     *Site
	listener net.Listener
}

// Listen opens a TCP address ("127.0.0.1:0" for any free port of this machine). Requests are
// answered once Run is called.
func Listen(s *Site, address string) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve test pages: %w", err)
	}
	return &Server{s, l}, nil
}

// URL returns where a browser begins to play the playlist.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + s.site.Start() }

// Addr returns the address that is listened on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening without Run having been called; after Run it does nothing.
func (s *Server) Close() error {
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Run answers requests until ctx ends, then returns nil. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:           s.site,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		// What a browser sends wrong is told to the browser.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(s.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve test pages: %w", err)
	case <-ctx.Done():
	}
	// Nobody waits for what a browser has not finished: its page is over.
	err := server.Close()
	<-served
	return err
}
