package netlab

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

// Scripts are the scripts of served pages. All methods accept nil: scripts are not instrumented.
type Scripts struct {
	pages  *session.ScriptPages
	dir    string
	made   bool // the user did not ask for the folder
	ended  bool
	beside *serve.Server // nil: the collector is on the pages' own origins
	origin map[bool]string
}

// Instrument makes the folder of the records; "": a temporary one. Call Discard at the end.
func Instrument(policies []string, dir string) (*Scripts, error) {
	s := &Scripts{dir: dir, origin: map[bool]string{}}
	var err error
	if s.made = dir == ""; s.made {
		s.dir, err = os.MkdirTemp("", "eideticker-scripts-")
	} else if err = os.Mkdir(dir, 0o755); errors.Is(err, os.ErrExist) {
		err = fmt.Errorf("%s exists: choose another folder with -o", dir)
	}
	if err != nil {
		return nil, err
	}
	s.pages, err = session.OpenScriptPages(session.ScriptOptions{Policies: policies, Dir: s.dir,
		Collector: s.collector})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// collector returns the origin of the collector for a page of a host.
func (s *Scripts) collector(host string, secure bool) string {
	if s.beside != nil {
		return s.origin[secure]
	}
	return session.OwnOrigin(host, secure)
}

// Wrap returns a handler whose responses are instrumented.
func (s *Scripts) Wrap(h http.Handler) http.Handler {
	if s == nil {
		return h
	}
	return s.pages.Wrap(h)
}

// ListenBeside opens ports of the collector whose packets do not use the link of the pages. The
// network is nil behind a stream link.
func (s *Scripts) ListenBeside(n *testnet.Network, a *serve.Authority) error {
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

// Servers returns the servers of the collector.
func (s *Scripts) Servers() []func(context.Context) error {
	if s == nil || s.beside == nil {
		return nil
	}
	return []func(context.Context) error{s.beside.Run}
}

// Finish ends the records, after all servers. It returns their results, and the folder if the user
// asked for one.
func (s *Scripts) Finish() (found *result.Script, dir string, err error) {
	if s == nil {
		return nil, "", nil
	}
	s.ended = true
	run, err := s.pages.Close()
	if run == nil {
		return nil, "", err
	}
	if !s.made {
		dir = s.dir
	}
	return run.Results(nil).Complete(), dir, err
}

// Discard ends records that Finish did not end. It removes a folder that nobody asked for, or that
// has no records.
func (s *Scripts) Discard() error {
	if s == nil {
		return nil
	}
	var err error
	if !s.ended {
		_, err = s.pages.Close()
	}
	if s.made || !s.ended {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}
