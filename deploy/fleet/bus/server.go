package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

const (
	defaultQuota = 2 << 30
	startTime    = time.Minute      // until the storage is read
	answerTime   = 3 * time.Second  // until a request is repeated that may be
	storeTime    = 30 * time.Second // of one change; a slow disk takes seconds
	maxRigs      = 4096             // connections
)

// Keys are those of a hub's authority, see package enroll.
type Keys struct {
	Operator string // public key
	Account  string // public key
	// AccountJWT returns the account with its revocations.
	AccountJWT func() (string, error)
	// System returns the key and the rights of an account for the server itself.
	System func() (account, jwt string, err error)
	// User returns rights and seed of the hub's own connection.
	User func() (jwt, seed string, err error)
}

// ServerOptions configures [Serve].
type ServerOptions struct {
	Dir   string // of JetStream
	Quota int64  // bytes that it may use (default: 2 GiB)
	Keys  Keys
	Log   *slog.Logger
	// Cluster is the URL of a NATS cluster that stores the data instead, with JetStream and
	// sync_always. Credentials is the path of a file for it. Rigs still connect to the hub.
	Cluster, Credentials string

	unsynced bool                            // for measurements
	requests int64                           // of the storage that may wait (default: 10,000)
	free     func(dir string) (int64, error) // free bytes on the disk; nil: asks the system
}

// Server is a hub's bus. Its NATS server listens on a websocket of the loopback only.
type Server struct {
	options ServerOptions
	log     *eventLog
	server  *server.Server
	rigs    *nats.Conn // requests; a flood there does not delay the storage
	store   *nats.Conn
	js      jetstream.JetStream
	streams map[string]jetstream.Stream
	blobs   jetstream.ObjectStore
	room    *room // nil: a cluster has its own
	close   sync.Once

	superseded chan superseded
	dropping   sync.WaitGroup     // dropAll
	stop       context.CancelFunc // ends it

	mu   sync.Mutex
	used map[string]usage // by bucket
}

// Serve starts a hub's bus. It reads the stored data first.
func Serve(ctx context.Context, o ServerOptions) (*Server, error) {
	if o.Quota == 0 {
		o.Quota = defaultQuota
	}
	s := &Server{options: o, log: &eventLog{log: o.Log, fatal: make(chan string, 1)},
		streams: map[string]jetstream.Stream{}, used: map[string]usage{},
		superseded: make(chan superseded, maxSuperseded)}
	var drops context.Context
	drops, s.stop = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for _, step := range []func(context.Context) error{s.startServer, s.connect, s.openStreams, s.moveJobs,
		s.keepRoom} {
		if err := step(ctx); err != nil {
			_ = s.Close() // the first error is the cause
			return nil, fmt.Errorf("start the fleet's bus: %w", err)
		}
	}
	s.dropping.Go(func() { s.dropAll(drops) })
	return s, nil
}

func (s *Server) startServer(ctx context.Context) error {
	o := &server.Options{
		ServerName: "eideticker", DontListen: true, NoSigs: true, TrustedKeys: []string{s.options.Keys.Operator},
		AccountResolver: &server.MemAccResolver{}, AuthTimeout: 20, MaxPayload: maxBlob + wire.MaxMessage,
		MaxConn: maxRigs, MaxPingsOut: 2, PingInterval: 20 * time.Second, DisableJetStreamBanner: true,
		Websocket: server.WebsocketOpts{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoTLS: true, AuthTimeout: 20,
			HandshakeTimeout: 20 * time.Second},
	}
	if s.options.Cluster == "" {
		if err := os.MkdirAll(s.options.Dir, 0o700); err != nil {
			return err
		}
		o.JetStream, o.StoreDir, o.SyncAlways = true, s.options.Dir, !s.options.unsynced
		o.JetStreamRequestQueueLimit = s.options.requests
		o.JetStreamMaxStore, o.JetStreamMaxMemory = s.options.Quota, 64<<20
	}
	account, err := s.options.Keys.AccountJWT()
	if err != nil {
		return err
	}
	system, systemJWT, err := s.options.Keys.System()
	if err != nil {
		return err
	}
	o.SystemAccount = system
	if err := errors.Join(o.AccountResolver.Store(s.options.Keys.Account, account),
		o.AccountResolver.Store(system, systemJWT)); err != nil {
		return err
	}
	srv, err := server.NewServer(o)
	if err != nil {
		return err
	}
	srv.SetLoggerV2(s.log, false, false, false)
	s.server = srv
	go srv.Start()
	for !srv.ReadyForConnections(100 * time.Millisecond) {
		select {
		case reason := <-s.log.fatal:
			return errors.New(reason)
		case <-ctx.Done():
			return fmt.Errorf("read %s: %w", s.options.Dir, ctx.Err())
		default:
		}
	}
	return nil
}

// WebsocketAddress is the loopback address to which the hub relays its rigs' connections.
func (s *Server) WebsocketAddress() string {
	return strings.TrimPrefix(s.server.WebsocketURL(), "ws://")
}

func (s *Server) connect(context.Context) error {
	jwt, seed, err := s.options.Keys.User()
	if err != nil {
		return err
	}
	own := []nats.Option{nats.InProcessServer(s.server), nats.UserJWTAndSeed(jwt, seed), nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Second), nats.Timeout(20 * time.Second), nats.IgnoreAuthErrorAbort(),
		nats.ErrorHandler(s.log.async)}
	if s.rigs, err = nats.Connect("", own...); err != nil {
		return err
	}
	if s.options.Cluster == "" {
		s.store, err = nats.Connect("", own...)
	} else {
		s.store, err = nats.Connect(s.options.Cluster, nats.UserCredentials(s.options.Credentials),
			nats.MaxReconnects(-1), nats.Timeout(20*time.Second), nats.IgnoreAuthErrorAbort(),
			nats.ErrorHandler(s.log.async))
	}
	if err == nil {
		s.js, err = jetstream.New(s.store, jetstream.WithDefaultTimeout(storeTime),
			jetstream.WithPublishAsyncTimeout(4*storeTime)) // of writes that nobody waits for
	}
	return err
}

func (s *Server) openStreams(ctx context.Context) error {
	replicas := 1
	if s.store.ConnectedClusterName() != "" && s.options.Cluster != "" {
		replicas = 3
	}
	const day = 24 * time.Hour
	q := s.options.Quota
	all := []jetstream.StreamConfig{{Name: Rigs, MaxBytes: q / 32}, {Name: State, MaxBytes: q / 32},
		{Name: Log, MaxBytes: q / 4, MaxAge: 90 * day}}
	for i := range uint32(jobShards) {
		all = append(all, jetstream.StreamConfig{Name: jobShard(i), MaxBytes: q / 4 / jobShards})
	}
	for _, c := range all {
		c.Subjects, c.Replicas, c.MaxMsgSize = []string{"store." + c.Name + ".*"}, replicas, maxValue+4096
		if c.MaxAge == 0 {
			c.Discard = jetstream.DiscardNew
		} else {
			c.Duplicates = 2 * time.Minute
		}
		if err := repeat(ctx, func(ctx context.Context) (err error) {
			s.streams[c.Name], err = s.js.CreateOrUpdateStream(ctx, c)
			return err
		}); err != nil {
			return fmt.Errorf("open %s: %w", c.Name, s.fail(err))
		}
	}
	err := repeat(ctx, func(ctx context.Context) (err error) {
		s.blobs, err = s.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "blobs", MaxBytes: q / 8,
			Replicas: replicas})
		return err
	})
	if err == nil && s.options.Cluster != "" {
		err = s.askLeader(ctx)
	}
	if err != nil {
		return fmt.Errorf("open blobs: %w", s.fail(err))
	}
	return nil
}

// askLeader has a cluster answer for blobs by its leader only. Others may not have the last change.
func (s *Server) askLeader(ctx context.Context) error {
	stream, err := s.js.Stream(ctx, "OBJ_blobs")
	if err != nil {
		return err
	}
	c := stream.CachedInfo().Config
	c.AllowDirect = false
	if _, err = s.js.UpdateStream(ctx, c); err == nil {
		s.blobs, err = s.js.ObjectStore(ctx, "blobs")
	}
	return err
}

// moveJobs moves the jobs of a storage with one stream for them, which the first version had. After
// a kill it begins again: jobs that were moved stay as they are.
func (s *Server) moveJobs(ctx context.Context) error {
	old, err := s.js.Stream(ctx, Jobs)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", Jobs, s.fail(err))
	}
	s.streams[Jobs] = old
	entries, _, err := bucket{s, Jobs}.all(ctx)
	delete(s.streams, Jobs)
	if err != nil {
		return err
	}
	for i := range entries {
		entries[i].Revision = 0
	}
	for _, stored := range (bucket{s, Jobs}).PutAll(ctx, entries) {
		if stored.Err != nil && !errors.Is(stored.Err, ErrConflict) {
			return stored.Err
		}
	}
	return s.fail(s.js.DeleteStream(ctx, Jobs))
}

// repeat repeats a request that changes nothing twice while it has no answer: a cluster does not
// answer before it has a leader. A new leader does not know the other servers yet.
func repeat(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	for {
		try, stop := context.WithTimeout(ctx, answerTime)
		err := request(try)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) && !isUnready(err) || ctx.Err() != nil {
			return err
		}
		if isUnready(err) {
			select {
			case <-time.After(placeTime):
			case <-ctx.Done():
			}
		}
	}
}

// placeTime is the time between two requests to a cluster that is not ready.
const placeTime = 100 * time.Millisecond

// isUnready reports whether a cluster has no leader, or its leader found no servers:
// JSClusterNotAvailErr and JSClusterNoPeersErrF of NATS.
func isUnready(err error) bool {
	const noPeers, notAvailable = 10005, 10008
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == noPeers || api.ErrorCode == notAvailable)
}

func (s *Server) keepRoom(ctx context.Context) error {
	if s.options.Cluster != "" {
		return nil
	}
	left := s.options.Quota
	for stream := range s.js.ListStreams(ctx).Info() {
		left -= int64(stream.State.Bytes)
	}
	s.room = &room{dir: s.options.Dir, path: filepath.Join(s.options.Dir, "reserve"), free: s.options.free}
	return s.room.keep(max(left, 0), s.options.Log)
}

// Wake implements [Hub].
func (s *Server) Wake(rig string) error {
	if !rigForm.MatchString(rig) {
		return fmt.Errorf("wake %.40q: not a rig's name", rig)
	}
	return s.rigs.Publish(wire.WakeSubject(rig), nil)
}

// Disconnect implements [Hub]. It reads revocations first.
func (s *Server) Disconnect(rig string) error {
	text, err := s.options.Keys.AccountJWT()
	if err != nil {
		return err
	}
	claims, err := jwt.DecodeAccountClaims(text)
	if err != nil {
		return err
	}
	if err := s.server.AccountResolver().Store(s.options.Keys.Account, text); err != nil {
		return err
	}
	account, err := s.server.LookupAccount(s.options.Keys.Account)
	if err != nil {
		return err
	}
	s.server.UpdateAccountClaims(account, claims)
	connections, err := s.server.Connz(&server.ConnzOptions{Username: true, Limit: maxRigs})
	if err != nil {
		return err
	}
	for _, c := range connections.Conns {
		if user, e := jwt.DecodeUserClaims(c.JWT); e == nil && user.Name == rig {
			err = errors.Join(err, s.server.DisconnectClientByID(c.Cid))
		}
	}
	return err
}

// Close implements [Hub].
func (s *Server) Close() error {
	s.close.Do(func() {
		s.stop()
		s.dropping.Wait()
		for _, c := range []*nats.Conn{s.rigs, s.store} {
			if c != nil {
				c.Close()
			}
		}
		if s.server != nil {
			s.server.Shutdown()
			s.server.WaitForShutdown()
		}
	})
	return nil
}

// eventLog passes the server's lines on. It keeps the last error as the reason of a stop.
type eventLog struct {
	log   *slog.Logger
	fatal chan string
	mu    sync.Mutex
	last  string
	shown map[string]time.Time // errors, without their connections
}

// errorsEvery is the time between equal errors in the log: a removed rig may try for ever.
const errorsEvery = time.Hour

// peer is the connection at the beginning of a line, which differs at each try.
var peer = regexp.MustCompile(`^\S+ - [a-z]+:[0-9]+`)

// repeated reports if an error was shown a short time ago.
func (l *eventLog) repeated(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(l.shown, func(_ string, at time.Time) bool { return now.Sub(at) >= errorsEvery })
	key := peer.ReplaceAllString(text, "")
	if _, is := l.shown[key]; is || len(l.shown) > maxRigs {
		return true
	}
	if l.shown == nil {
		l.shown = map[string]time.Time{}
	}
	l.shown[key] = now
	return false
}

func (l *eventLog) line(level slog.Level, format string, v []any) string {
	text := fmt.Sprintf(format, v...)
	if l.log != nil && (level < slog.LevelError || !l.repeated(text)) {
		l.log.Log(context.Background(), level, "fleet: "+text)
	}
	if level >= slog.LevelError {
		l.mu.Lock()
		l.last = text
		l.mu.Unlock()
	}
	return text
}

func (l *eventLog) reason() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *eventLog) async(_ *nats.Conn, _ *nats.Subscription, err error) {
	l.line(slog.LevelWarn, "%v", []any{err})
}

func (l *eventLog) Noticef(format string, v ...any) { l.line(slog.LevelDebug, format, v) }
func (l *eventLog) Warnf(format string, v ...any)   { l.line(slog.LevelDebug, format, v) }
func (l *eventLog) Errorf(format string, v ...any)  { l.line(slog.LevelError, format, v) }
func (l *eventLog) Debugf(string, ...any)           {}
func (l *eventLog) Tracef(string, ...any)           {}
func (l *eventLog) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- l.line(slog.LevelError, format, v):
	default:
	}
}
