package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Place says where a rig is, and by what names it may be called.
type Place struct {
	Loopback  bool     // bound to it: nobody but this machine gets here
	Encrypted bool     // connections are, by us
	Hosts     []string // names beside addresses
}

// host refuses requests for another host than this. Another name may be made to resolve to our
// address. A page of that name would then be of one origin with us. An IP address in place of a
// name cannot do that.
func (p Place) host(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.IsLoopback() || !p.Loopback
	}
	return name == "localhost" && p.Loopback || slices.Contains(p.Hosts, name)
}

// origin refuses what pages of others have browsers send. Programs send no Origin.
func (p Place) origin(r *http.Request) bool {
	if origin, there := r.Header["Origin"]; there {
		if len(origin) != 1 {
			return false
		}
		u, err := url.Parse(origin[0])
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host == r.Host && u.Path == "" &&
			u.User == nil
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	// A link from elsewhere may lead here, to be looked at; nothing of ours goes into a page of
	// others.
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}

// guarded lets requests pass that are meant for this rig and come from nobody else's page.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if s.o.Place.Encrypted {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		switch {
		case !s.o.Place.host(r.Host):
			s.refuse(w, r, http.StatusMisdirectedRequest, fmt.Sprintf(
				"%q is not a name of this rig; use its address, or add the name to access.hosts", clip(r.Host)))
		case !s.o.Place.origin(r):
			s.refuse(w, r, http.StatusForbidden, "the request comes from a page that is not the rig's own")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// refuse answers with a sentence and writes a line into the log. The lines per address and second
// are limited.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	s.note(addrPort(r.RemoteAddr), slog.LevelWarn, "request refused", "status", status, "why", why, "method", r.Method,
		"path", clip(r.URL.Path), "host", clip(r.Host))
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, why, status)
}

// note writes a line about an address into the log, of each not more than some a second.
func (s *Server) note(from netip.AddrPort, level slog.Level, what string, more ...any) {
	if s.noise.allow(network(from), 1, s.now()) {
		s.log.Log(context.Background(), level, what, append(more, "from", from.String())...)
	}
}

func clip(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
