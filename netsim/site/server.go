package site

import (
	"context"
	"fmt"
	"net"

	"github.com/eideticker/eideticker/netsim/serve"
)

// Server serves a site on one address.
type Server struct {
	*serve.Server
	site *Site
	host string // as browsers reach it
}

// Over serves by a listener that is there, which browsers reach by a host such as "page.test" or
// "192.0.2.1:8080".
func Over(s *Site, l net.Listener, host string) *Server {
	server, err := serve.New(serve.Options{Handler: s})
	if err != nil {
		panic(err) // there is a handler
	}
	server.HTTP(l)
	return &Server{server, s, host}
}

// URL returns where a browser begins to play the playlist.
func (s *Server) URL() string { return "http://" + s.host + s.site.Start() }

// Run answers requests until ctx ends, then returns nil. It may be called once. Nobody waits for
// what a browser has not finished: its page is over.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Server.Run(ctx); err != nil {
		return fmt.Errorf("serve test pages: %w", err)
	}
	return nil
}
