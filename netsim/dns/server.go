package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Options of a server.
type Options struct {
	World   World
	Latency time.Duration // before an answer leaves, beside what the link adds
	// Asked is called for each query once it is answered, or will not be. It must not take long,
	// and may be called from several goroutines at once. May be nil.
	Asked func(Query)
}

// Query is a query and its outcome.
type Query struct {
	At       timeline.Time // it came
	Answered timeline.Time // the answer left
	Client   string        // address
	Name     string        // without the dot at its end
	Type     string        // for example A, AAAA or HTTPS
	Protocol string        // udp or tcp
	Result   Result
	Answers  int // records
}

// Result is how a query ended.
type Result string

// The results.
const (
	Answered Result = "answered" // perhaps with no record of that type
	Refused  Result = "refused"  // the name is not of the test world
	Dropped  Result = "dropped"  // more were asked at once than are answered
)

// Bounds of what clients may do.
const (
	maxAtOnce      = 512 // queries that wait for their latency
	maxTCP         = 64  // connections
	queriesPerConn = 128
	idleTCP        = 10 * time.Second
	maxLatency     = time.Minute
)

// Server answers queries.
type Server struct {
	options Options
	names   *names
	room    chan struct{}
}

// New makes a server, which does nothing until [Server.Run].
func New(o Options) (*Server, error) {
	n, err := o.World.index()
	if err != nil {
		return nil, fmt.Errorf("names of the test world: %w", err)
	}
	if o.Latency < 0 || o.Latency > maxLatency {
		return nil, fmt.Errorf("a latency of names of %v is not between 0 and %v", o.Latency, maxLatency)
	}
	return &Server{options: o, names: n, room: make(chan struct{}, maxAtOnce)}, nil
}

// Run answers on sockets, either of which may be nil, until ctx ends; it closes them.
func (s *Server) Run(ctx context.Context, packets net.PacketConn, connections net.Listener) error {
	var servers []*dns.Server
	if packets != nil {
		servers = append(servers, &dns.Server{PacketConn: packets, UDPSize: dns.DefaultMsgSize})
	}
	if connections != nil {
		servers = append(servers,
			&dns.Server{Listener: &limited{Listener: connections, room: make(chan struct{}, maxTCP)},
				MaxTCPQueries: queriesPerConn,
				IdleTimeout:   func() time.Duration { return idleTCP }})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, d := range servers {
		d.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, m *dns.Msg) { s.answer(ctx, w, m) })
		started := make(chan struct{})
		d.NotifyStartedFunc = func() { close(started) }
		failed := make(chan struct{})
		wg.Go(func() {
			defer close(failed)
			if err := d.ActivateAndServe(); err != nil {
				cancel(fmt.Errorf("answer names: %w", err))
			}
		})
		wg.Go(func() {
			select {
			case <-started:
			case <-failed:
				return
			}
			<-ctx.Done()
			_ = d.Shutdown()
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// answer is one query.
func (s *Server) answer(ctx context.Context, w dns.ResponseWriter, m *dns.Msg) {
	clock := timeline.Monotonic()
	q := m.Question[0] // the library refuses messages without exactly one
	told := Query{At: clock.Now(), Client: w.RemoteAddr().String(), Name: trimDot(q.Name),
		Type: dns.TypeToString[q.Qtype], Protocol: w.RemoteAddr().Network(), Result: Answered}
	if told.Type == "" {
		told.Type = fmt.Sprintf("TYPE%d", q.Qtype)
	}
	defer func() {
		if s.options.Asked != nil {
			s.options.Asked(told)
		}
	}()
	select {
	case s.room <- struct{}{}:
		defer func() { <-s.room }()
	default:
		told.Result = Dropped
		return
	}
	reply := new(dns.Msg)
	if name := dns.CanonicalName(q.Name); q.Qclass == dns.ClassINET && s.names.holds(name) {
		reply.SetReply(m)
		reply.Authoritative = true
		reply.Answer = s.options.World.answer(q.Name, q.Qtype)
		told.Answers = len(reply.Answer)
	} else {
		reply.SetRcode(m, dns.RcodeRefused)
		told.Result = Refused
	}
	if e := m.IsEdns0(); e != nil {
		reply.SetEdns0(dns.DefaultMsgSize, false)
		reply.Truncate(int(e.UDPSize()))
	} else if told.Protocol == "udp" {
		reply.Truncate(dns.MinMsgSize)
	}
	if timeline.SleepUntil(ctx, told.At.Add(s.options.Latency)) != nil {
		told.Result = Dropped
		return
	}
	if w.WriteMsg(reply) != nil {
		told.Result = Dropped
		return
	}
	told.Answered = clock.Now()
}

func trimDot(name string) string {
	if n := len(name); n > 1 && name[n-1] == '.' {
		return name[:n-1]
	}
	return name
}

// limited accepts so many connections at once, and closes further ones.
type limited struct {
	net.Listener
	room chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.room <- struct{}{}:
			return &counted{Conn: c, leave: sync.OnceFunc(func() { <-l.room })}, nil
		default:
			c.Close()
		}
	}
}

type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
