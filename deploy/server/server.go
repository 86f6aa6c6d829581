package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/store"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// CompareOptions say what of two folders counts.
type CompareOptions struct {
	// smaller differences than this part are of no interest; 0: those of the test, or of the
	// measures
	Threshold float64
	Primary   []string // values to compare by; none: the test's
	JudgeAll  bool     // values of the second family decide too
	// JudgeUnlike judges sides that were not measured alike.
	JudgeUnlike bool
	Test        *suite.Test // of the runs, as the rig has it; nil: it has none of that name
}

// Options say what a server has.
type Options struct {
	Daemon  *daemon.Daemon
	Tokens  *Tokens
	Place   Place
	Needed  bool // calls need a token
	Program string
	Log     *slog.Logger

	Connections int     // by websocket; 0: 512
	CallsPerS   float64 // 0: 50

	// Compare holds two folders of runs against each other; Sources lists what there is to record.
	// Nil: not here.
	Compare func(ctx context.Context, base, with string, o CompareOptions) (*api.Compared, error)
	Sources func() (json.RawMessage, error)
	// Trends has the series of schedules; nil: this rig has none.
	Trends *trend.DB
	// Engine confirms changes; nil: this rig has no schedules.
	Engine Engine
	// Builds returns the builds of a feed, oldest first. Nil: no feeds are configured.
	Builds func(ctx context.Context, feed string) ([]api.Build, error)
	// Fleet is the hub of a fleet; nil: this rig is not one.
	Fleet Fleet
	// FleetRig returns the state of this rig in a fleet. Nil: it is in none.
	Archive  *store.Archive // nil: none
	FleetRig func() api.FleetStatus
	// Page answers all other requests.
	Page http.Handler
	// Health is why the rig is not well, or nil. Nil: it always is.
	Health func() error

	// Now is the time; nil: the system's.
	Now func() time.Time
	// times of a websocket; zero: the usual
	times times
}

// Server is a rig on the network.
type Server struct {
	o        Options
	daemon   *daemon.Daemon
	store    *store.Store
	log      *slog.Logger
	now      func() time.Time
	gate     *gate
	calls    *limiters // of each address, by HTTP
	noise    *limiters // lines in the log about each address
	methods  map[string]handler
	handler  http.Handler
	registry *prometheus.Registry
	openrpc  []byte
	times    times
	upgrades upgrader
	each     int           // connections of one address, beside websockets
	heavy    chan struct{} // has room for who does work that takes long
	pictures *memory       // of frames
	uploads  sync.Mutex    // one is received at a time

	mu      sync.Mutex
	ended   bool
	sockets sync.WaitGroup
	stop    context.CancelFunc // of all sockets
	ctx     context.Context
	clients atomic.Int32
}

// Bounds of simultaneous work, and of the time of a call.
const (
	defaultConnections = 512
	defaultCalls       = 50
	callsAtOnce        = 200
	heavyAtOnce        = 2
	callTimeout        = 2 * time.Minute
)

// New makes a server. Its goroutines are those of the requests that it answers; Close ends the ones
// that have no end of their own.
func New(o Options) (*Server, error) {
	s := &Server{o: o, daemon: o.Daemon, store: o.Daemon.Store(), log: o.Log, now: o.Now, times: o.times,
		heavy: make(chan struct{}, heavyAtOnce), pictures: newMemory(pictureMemory, pictureWait)}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.o.Connections == 0 {
		s.o.Connections = defaultConnections
	}
	if s.o.CallsPerS == 0 {
		s.o.CallsPerS = defaultCalls
	}
	s.each = max(maxOfOne, s.o.Connections)
	if s.times == (times{}) {
		s.times = usualTimes
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.gate = &gate{tokens: o.Tokens, needed: o.Needed, secure: o.Place.Encrypted, now: s.now, log: s.log,
		wrong: newLimiters(1, 5), sessions: map[string]visit{}}
	s.calls, s.noise = newLimiters(s.o.CallsPerS, callsAtOnce), newLimiters(1, 20)
	s.methods = s.allMethods()
	s.registry = s.newRegistry()
	var err error
	if s.openrpc, err = openRPC(o.Program); err != nil {
		return nil, err
	}
	s.handler = s.guarded(s.routes())
	return s, nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends all websocket connections, and waits for them. It is idempotent.
func (s *Server) Close() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.stop()
	s.sockets.Wait()
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", s.health)
	mux.HandleFunc("GET /api/v1/login", s.whoami)
	mux.HandleFunc("POST /api/v1/login", s.login)
	mux.HandleFunc("POST /api/v1/logout", s.logout)
	mux.HandleFunc("GET /api/v1/ws", s.as(api.View, s.socket))
	mux.HandleFunc("POST /api/v1/rpc", s.as(api.View, s.post))
	mux.HandleFunc("GET /api/v1/openrpc.json", s.as(api.View, s.describe))
	mux.HandleFunc("POST /api/v1/runs", s.as(api.Run, s.push))
	mux.HandleFunc("GET /api/v1/runs/{id}/{name...}", s.as(api.View, s.file))
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusNotFound, "there is nothing here; API.md says what there is")
	})
	s.fleetRoutes(mux)
	metrics := promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{MaxRequestsInFlight: heavyAtOnce})
	mux.HandleFunc("GET /metrics",
		s.as(api.View, func(w http.ResponseWriter, r *http.Request, _ *caller) { metrics.ServeHTTP(w, r) }))
	if s.o.Place.Loopback {
		s.profiles(mux)
	}
	if s.o.Page != nil {
		mux.Handle("/", s.o.Page)
	}
	return mux
}

// profiles serves Go profiles to administrators on this machine.
func (s *Server) profiles(mux *http.ServeMux) {
	for path, h := range map[string]http.HandlerFunc{
		"/debug/pprof/": pprof.Index, "/debug/pprof/cmdline": pprof.Cmdline, "/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
	} {
		mux.HandleFunc(path, s.as(api.Admin, func(w http.ResponseWriter, r *http.Request, _ *caller) {
			if !remote(r).Addr().IsLoopback() || forwarded(r) {
				s.refuse(w, r, http.StatusForbidden, "profiles are for requests from this machine")
				return
			}
			h(w, r)
		}))
	}
}

// as restricts a handler to callers with a role.
func (s *Server) as(role api.Role, next func(http.ResponseWriter, *http.Request, *caller)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := s.gate.caller(r)
		switch {
		case err != nil:
			status := s.gate.status(err)
			if status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Bearer realm="eideticker"`)
			}
			s.refuse(w, r, status, err.Error())
		case !c.role().Allows(role):
			s.refuse(w, r, http.StatusForbidden, "this needs the role "+string(role)+", and the token has "+
				string(c.role()))
		default:
			next(w, r, c)
		}
	}
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	if s.o.Health != nil {
		if err := s.o.Health(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // the client has disconnected
}

func (s *Server) describe(w http.ResponseWriter, _ *http.Request, _ *caller) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.openrpc)
}

// loginState says whether a token is needed, and as whom a request counts.
type loginState struct {
	Needed bool     `json:"needed"`
	Role   api.Role `json:"role"`
	Owner  string   `json:"owner"`
}

func (s *Server) whoami(w http.ResponseWriter, r *http.Request) {
	state := loginState{Needed: s.gate.needsToken(r)}
	if c, err := s.gate.caller(r); err == nil {
		state.Role, state.Owner = c.role(), c.owner()
	}
	writeJSON(w, http.StatusOK, state)
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	var given struct {
		Token string `json:"token"`
	}
	if !isJSON(r) {
		s.refuse(w, r, http.StatusUnsupportedMediaType, "want application/json")
		return
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&given); err != nil {
		s.refuse(w, r, http.StatusBadRequest, `want {"token": "…"}`)
		return
	}
	c, err := s.gate.login(w, r, given.Token)
	if err != nil {
		s.refuse(w, r, s.gate.status(err), err.Error())
		return
	}
	writeJSON(w, http.StatusOK, loginState{s.gate.needsToken(r), c.role(), c.owner()})
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.gate.logout(w, r)
	w.WriteHeader(http.StatusNoContent)
}

func writeJSON(w http.ResponseWriter, status int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(content) // the client has disconnected
}
