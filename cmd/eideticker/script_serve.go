package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/testnet"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/serve"
)

// scriptServing are flags of commands that serve pages outside of runs.
type scriptServing struct {
	Script policiesFlag `placeholder:"POLICIES" help:"Instrument the pages' scripts; script list names policies."`
	Output string       `short:"o" placeholder:"DIR" help:"With --script: keep the records in this new folder."`
}

// servedScripts are the scripts of served pages; nil: they are not instrumented.
type servedScripts struct {
	pages  *session.ScriptPages
	dir    string
	made   bool // the user did not ask for the folder
	ended  bool
	beside *serve.Server // nil: the collector is on the pages' own origins
	origin map[bool]string
}

// instrument makes the folder of the records. Call discard at the end.
func (f *scriptServing) instrument() (*servedScripts, error) {
	if len(f.Script) == 0 {
		if f.Output != "" {
			return nil, usagef("-o needs --script")
		}
		return nil, nil
	}
	s := &servedScripts{dir: f.Output, origin: map[bool]string{}}
	var err error
	if s.made = f.Output == ""; s.made {
		s.dir, err = os.MkdirTemp("", "eideticker-scripts-")
	} else if err = os.Mkdir(s.dir, 0o755); errors.Is(err, os.ErrExist) {
		err = fmt.Errorf("%s exists: choose another folder with -o", s.dir)
	}
	if err != nil {
		return nil, err
	}
	s.pages, err = session.OpenScriptPages(session.ScriptOptions{Policies: f.Script, Dir: s.dir,
		Collector: s.collector})
	return s, errors.Join(err)
}

// collector returns the origin of the collector for a page of a host.
func (s *servedScripts) collector(host string, secure bool) string {
	if s.beside != nil {
		return s.origin[secure]
	}
	return session.OwnOrigin(host, secure)
}

// wrap returns a handler whose responses are instrumented.
func (s *servedScripts) wrap(h http.Handler) http.Handler {
	if s == nil {
		return h
	}
	return s.pages.Wrap(h)
}

// listenBeside opens ports of the collector whose packets do not use the link of the pages. The
// network is nil behind a stream link.
func (s *servedScripts) listenBeside(n *testnet.Network, a *serve.Authority) error {
	if s == nil {
		return nil
	}
	server, err := serve.New(serve.Options{Handler: s.pages.Collector(), Authority: a, Blind: true})
	if err != nil {
		return err
	}
	for _, door := range []struct {
		secure bool
		scheme string
		port   uint16
		add    func(net.Listener)
	}{{false, "http", session.CollectorPort, server.HTTP}, {true, "https", session.CollectorPort - 1, server.HTTPS}} {
		if door.secure && a == nil {
			continue
		}
		l, host, err := net.Listener(nil), "", error(nil)
		if n == nil {
			if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
				host = l.Addr().String()
			}
		} else if l, err = n.ListenBeside(door.port); err == nil {
			host = fmt.Sprintf("%s:%d", link.ServerAddress.Addr(), door.port)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("collect the records of scripts: %w", err), server.Close())
		}
		door.add(l)
		s.origin[door.secure] = door.scheme + "://" + host
	}
	s.beside = server
	return nil
}

// running returns the servers of the collector.
func (s *servedScripts) running() []func(context.Context) error {
	if s == nil || s.beside == nil {
		return nil
	}
	return []func(context.Context) error{s.beside.Run}
}

// finish ends the records, after all servers, and returns what the scripts did.
func (s *servedScripts) finish(e *env) (*result.Script, error) {
	if s == nil {
		return nil, nil
	}
	s.ended = true
	run, err := s.pages.Close()
	if run == nil {
		return nil, err
	}
	if !s.made {
		fmt.Fprintf(e.err, "records of scripts are in %s\n", s.dir)
	}
	return run.Results(nil).Complete(), err
}

// discard ends records that finish did not end. It removes a folder that nobody asked for, or that
// has no records.
func (s *servedScripts) discard() error {
	if s == nil {
		return nil
	}
	var err error
	if !s.ended && s.pages != nil {
		_, err = s.pages.Close()
	}
	if s.made || !s.ended {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}
