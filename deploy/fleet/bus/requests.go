package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/eideticker/eideticker/deploy/api/fingerprint"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// refusedHeader is in answers to requests above a rig's bounds.
const refusedHeader = "Eideticker-Refused"

// inbox returns the prefix of the subjects of the hub's answers to a rig.
func inbox(rig string) string { return "hub." + rig + ".inbox" }

// group runs functions until it is closed.
type group struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// begin runs a function, unless the group is closed.
func (g *group) begin(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.running.Go(f)
	}
}

// close waits for the functions that run. Later ones do not begin.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}

// Serve implements [Hub]. The server checks that a rig publishes below its own name. The answer's
// subject is checked here, since the hub may publish everywhere.
func (s *Server) Serve(ctx context.Context, handler Handler) error {
	g := gate{rigs: map[string]*turnstile{}}
	var answers group // a message may come while the subscription ends
	defer answers.close()
	sub, err := s.rigs.Subscribe(wire.RigSubject("*", "*"), func(m *nats.Msg) {
		tokens := strings.Split(m.Subject, ".")
		rig, kind := tokens[1], tokens[2]
		if !rigForm.MatchString(rig) || checkRequest(kind, m.Data) != nil ||
			!strings.HasPrefix(m.Reply, inbox(rig)+".") {
			return
		}
		admitted, disconnect := g.enter(rig, kind, len(m.Data), time.Now())
		switch {
		case disconnect:
			s.log.line(slog.LevelWarn, "%s sends too many requests", []any{rig})
			answers.begin(func() { _ = s.Disconnect(rig) }) // the next refused request tries again
		case !admitted:
			_ = m.RespondMsg(&nats.Msg{Header: nats.Header{refusedHeader: {"1"}}}) // the rig's timeout remains
		default:
			answers.begin(func() {
				defer g.leave(rig, kind)
				if err := m.Respond(handler(ctx, rig, kind, m.Data)); err != nil {
					s.log.line(slog.LevelWarn, "answer %s: %v", []any{rig, err})
				}
			})
		}
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return sub.Unsubscribe()
}

// RigOptions configures [Dial].
type RigOptions struct {
	URL         string // of the hub, https://HUB:PORT
	Path        string // of its websocket
	Fingerprint string // SHA-256 of the hub's certificate
	Rig         string
	JWT         func() (string, error) // the rig's rights; asked for at each connection
	Seed        []byte                 // of the rig's nkey
	Log         *slog.Logger

	plain bool // without TLS, for tests
}

// rigLink is a rig's connection.
type rigLink struct {
	options RigOptions
	conn    *nats.Conn
	woken   chan struct{}

	mu   sync.Mutex
	lost chan struct{} // closed when the present connection is lost; nil without one
	why  error
}

// Dial returns a rig's connection to its hub. It connects for ever, also after the hub was away.
func Dial(o RigOptions) (Rig, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || !rigForm.MatchString(o.Rig) {
		return nil, fmt.Errorf("connect to hub %.200q: not an address of a hub", o.URL)
	}
	keys, err := nkeys.FromSeed(o.Seed)
	if err != nil {
		return nil, fmt.Errorf("connect to hub %s: the rig's key: %w", u.Host, err)
	}
	r := &rigLink{options: o, woken: make(chan struct{}, 1), why: ErrAway}
	options := []nats.Option{
		nats.Name(o.Rig), nats.ProxyPath(o.Path), nats.CustomInboxPrefix(inbox(o.Rig)), nats.UserJWT(o.JWT, keys.Sign),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.CustomReconnectDelay(r.delay),
		nats.ReconnectBufSize(-1), nats.IgnoreAuthErrorAbort(), nats.Timeout(20 * time.Second),
		nats.PingInterval(20 * time.Second), nats.MaxPingsOutstanding(2), nats.IgnoreDiscoveredServers(),
		nats.ConnectHandler(r.connected), nats.ReconnectHandler(r.connected),
		nats.DisconnectErrHandler(r.disconnected), nats.ReconnectErrHandler(r.disconnected),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { r.note(err) }),
	}
	u.Scheme = "ws"
	if !o.plain {
		u.Scheme = "wss"
		options = append(options, nats.Secure(Pinned(o.Fingerprint)))
	}
	if r.conn, err = nats.Connect(u.Scheme+"://"+u.Host, options...); err != nil {
		return nil, fmt.Errorf("connect to hub %s: %w", u.Host, err)
	}
	_, err = r.conn.Subscribe(wire.WakeSubject(o.Rig), func(*nats.Msg) { wake(r.woken) })
	if err != nil {
		r.conn.Close()
		return nil, fmt.Errorf("connect to hub %s: %w", u.Host, err)
	}
	return r, nil
}

// Pinned trusts the certificate with a fingerprint, and no other.
func Pinned(print string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, //nolint:gosec // see below
		VerifyConnection: func(c tls.ConnectionState) error {
			if len(c.PeerCertificates) == 0 || !fingerprint.Equal(print, fingerprint.Of(c.PeerCertificates[0].Raw)) {
				return errors.New("the hub has another certificate than the invitation; join again")
			}
			return nil
		}}
}

// removedDelay is the mean time between the tries of a rig whose key the hub refuses.
const removedDelay = 10 * time.Minute

// delay spreads the rigs of a hub that starts again.
func (r *rigLink) delay(attempts int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if attempts > 3 && errors.Is(r.why, ErrRemoved) {
		return removedDelay/2 + time.Duration(rand.Int64N(int64(removedDelay)))
	}
	longest := min(time.Second<<min(attempts, 5), 20*time.Second)
	return time.Duration(rand.Int64N(int64(longest))) + 100*time.Millisecond
}

func (r *rigLink) connected(*nats.Conn) {
	r.mu.Lock()
	r.lost, r.why = make(chan struct{}), nil
	r.mu.Unlock()
	wake(r.woken)
}

func (r *rigLink) disconnected(_ *nats.Conn, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost != nil {
		close(r.lost)
		r.lost = nil
	}
	r.why = ErrAway
	if err != nil {
		r.why = away(err)
	}
}

// away returns the reason of a lost connection for the owner of the rig.
func away(err error) error {
	if strings.Contains(strings.ToLower(err.Error()), "authorization violation") { // of the client, or as sent
		return fmt.Errorf("%w; invite it again, or run eideticker fleet leave (%w)", ErrRemoved, err)
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}

func (r *rigLink) note(err error) {
	r.mu.Lock()
	if r.lost == nil {
		r.why = away(err)
	}
	r.mu.Unlock()
	if r.options.Log != nil {
		r.options.Log.Debug("fleet: connection to the hub", "error", err)
	}
}

func (r *rigLink) Woken() <-chan struct{} { return r.woken }

func (r *rigLink) Connected() (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost != nil, r.why
}

func (r *rigLink) Close() error {
	r.conn.Close()
	r.disconnected(nil, nil)
	return nil
}

func (r *rigLink) Request(ctx context.Context, kind string, request []byte) ([]byte, error) {
	if err := checkRequest(kind, request); err != nil {
		return nil, err
	}
	r.mu.Lock()
	lost, why := r.lost, r.why
	r.mu.Unlock()
	if lost == nil {
		return nil, fmt.Errorf("ask the hub for %s: %w", kind, why)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-lost:
			cancel(ErrAway)
		case <-ctx.Done():
		}
	}()
	answer, err := r.conn.RequestWithContext(ctx, wire.RigSubject(r.options.Rig, kind), request)
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrConnectionClosed),
		errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(context.Cause(ctx), ErrAway):
		err = ErrAway
	case err == nil && answer.Header.Get(refusedHeader) != "":
		err = errBusy
	}
	if err != nil {
		return nil, fmt.Errorf("ask the hub for %s: %w", kind, err)
	}
	return answer.Data, nil
}
