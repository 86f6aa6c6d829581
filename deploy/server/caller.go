package server

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
)

// localOwner is who asks without a token.
const localOwner = "local"

// caller is who asks.
type caller struct {
	token *Token // nil: none is needed
}

func (c *caller) owner() string {
	if c.token == nil {
		return localOwner
	}
	return c.token.Name
}

func (c *caller) role() api.Role {
	if c.token == nil {
		return api.Admin
	}
	return c.token.Role
}

// may reports whether the caller may end a job or recording of owner.
func (c *caller) may(owner string) bool { return c.role() == api.Admin || c.owner() == owner }

// errors of who asks.
var (
	errNoToken = errors.New("a token is needed: Authorization: Bearer TOKEN")
	errGuesses = errors.New("too many wrong tokens came from this address: wait some seconds")
	// errUnreadable is the caller's error; the log has the reason.
	errUnreadable = errors.New("the rig cannot read its tokens; its log says why")
)

const (
	cookieName  = "eideticker"
	sessionTime = 12 * time.Hour
	maxSessions = 1000
)

// gate knows who asks.
type gate struct {
	tokens *Tokens
	needed bool // calls need a token
	secure bool // connections are encrypted: so is the cookie's way
	now    func() time.Time
	wrong  *limiters
	log    *slog.Logger

	mu       sync.Mutex
	sessions map[string]visit // by the hash of the cookie
}

// visit is that of a browser.
type visit struct {
	token Token
	until time.Time
}

// caller finds out who sends a request.
func (g *gate) caller(r *http.Request) (*caller, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, secret, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return nil, errNoToken
		}
		return g.check(r, strings.TrimSpace(secret))
	}
	if cookie, err := r.Cookie(cookieName); err == nil {
		if c := g.session(cookie.Value); c != nil {
			return c, nil
		}
	}
	if g.needsToken(r) {
		return nil, errNoToken
	}
	return &caller{}, nil
}

// needsToken reports whether a request needs a token. A forwarded request always does.
func (g *gate) needsToken(r *http.Request) bool { return g.needed || forwarded(r) }

// forwarded reports whether a proxy has passed a request on. The peer's address is then the
// proxy's.
func forwarded(r *http.Request) bool {
	for name := range r.Header {
		switch {
		case name == "Forwarded", name == "Via", name == "X-Real-Ip", strings.HasPrefix(name, "X-Forwarded-"):
			return true
		}
	}
	return false
}

// check looks a token up. An address that sends wrong ones gets that answer once a second. A right
// one is always accepted, since others may share the address.
func (g *gate) check(r *http.Request, secret string) (*caller, error) {
	token, err := g.tokens.check(secret, g.now())
	switch {
	case err == nil:
		return &caller{&token}, nil
	case errors.Is(err, errUnreadable):
		g.log.Error("tokens cannot be read", "error", err)
		return nil, errUnreadable
	case !g.wrong.allow(remote(r), 1, g.now()):
		return nil, errGuesses
	}
	return nil, err
}

// status is the one of an answer to who did not come in.
func (g *gate) status(why error) int {
	switch {
	case errors.Is(why, errGuesses):
		return http.StatusTooManyRequests
	case errors.Is(why, errUnreadable):
		return http.StatusInternalServerError
	}
	return http.StatusUnauthorized
}

// session returns the caller whose cookie it is, or nil.
func (g *gate) session(cookie string) *caller {
	g.mu.Lock()
	s, there := g.sessions[hashed(cookie)]
	g.mu.Unlock()
	if !there || g.now().After(s.until) {
		return nil
	}
	return g.still(&caller{&s.token})
}

// still returns the caller as it is now, nil if its token is not valid any more.
func (g *gate) still(c *caller) *caller {
	if c.token == nil {
		return c
	}
	token, valid := g.tokens.valid(*c.token, g.now())
	if !valid {
		return nil
	}
	return &caller{&token}
}

// login begins a session.
func (g *gate) login(w http.ResponseWriter, r *http.Request, secret string) (*caller, error) {
	c, err := g.check(r, secret)
	if err != nil {
		return nil, err
	}
	value := rand.Text() + rand.Text()
	now := g.now()
	g.mu.Lock()
	for key, s := range g.sessions {
		if now.After(s.until) || len(g.sessions) >= maxSessions {
			delete(g.sessions, key) // any one, where there are so many
		}
	}
	g.sessions[hashed(value)] = visit{*c.token, now.Add(sessionTime)}
	g.mu.Unlock()
	http.SetCookie(w, g.cookie(value, int(sessionTime/time.Second)))
	return c, nil
}

// logout ends a session.
func (g *gate) logout(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		g.mu.Lock()
		delete(g.sessions, hashed(cookie.Value))
		g.mu.Unlock()
	}
	http.SetCookie(w, g.cookie("", -1))
}

func (g *gate) cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: cookieName, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: g.secure}
}

// remote is the network that a request comes from.
func remote(r *http.Request) netip.Prefix { return network(addrPort(r.RemoteAddr)) }

// addrPort is an address as package http writes it; zero if it is another.
func addrPort(text string) netip.AddrPort {
	at, _ := netip.ParseAddrPort(text) // all that cannot be read are one
	return at
}

// network is the unit of limits: an IPv4 address, or the network of an IPv6 address, whose owner
// has all its addresses.
func network(at netip.AddrPort) netip.Prefix {
	addr := at.Addr().Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	p, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
