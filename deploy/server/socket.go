package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
)

// times are those of a websocket.
type times struct {
	write time.Duration // for a message to be taken
	ping  time.Duration // between two
	quiet time.Duration // without a sign of life
}

var usualTimes = times{write: 20 * time.Second, ping: 30 * time.Second, quiet: 75 * time.Second}

// upgrader has the buffers of all websockets, which they need while they write.
type upgrader struct{ pool sync.Pool }

// socket is a client by websocket. One goroutine reads and carries out calls in the order in which
// they come, another one writes: answers first, then events, then pictures. Nothing is queued for a
// client but its answers: events it reads at its own place among those that are kept, of pictures
// there is the latest.
type socket struct {
	server *Server
	conn   *websocket.Conn
	call   call                   // of the reader
	who    atomic.Pointer[caller] // as it was with the latest call; for the writer
	limit  *rate.Limiter
	ctx    context.Context
	stop   context.CancelFunc

	answers chan answer
	// of the reader: what the call at hand has subscribed to; noEvents: it has ended that; nil:
	// neither
	begin *subscription
	wake  chan struct{} // has room for one: the queue has changed

	mu     sync.Mutex
	events *subscription   // nil: none
	shown  *daemon.Preview // nil: none
	leave  func()
	pushed *daemon.Picture // of them the one that was sent last; nil: none was
}

// noEvents stands for the end of a subscription.
var noEvents = &subscription{}

// answer goes to the client. A subscription may begin or end after it: its events do not come
// before the answer.
type answer struct {
	content []byte // nil: nobody wants to know
	begin   *subscription
}

// subscription is a client's place among the events.
type subscription struct {
	after uint64
	kinds []string // empty: all
}

// socket answers a request for a websocket, and serves it to its end.
func (s *Server) socket(w http.ResponseWriter, r *http.Request, c *caller) {
	if !s.enter() {
		w.Header().Set("Retry-After", "10")
		s.refuse(w, r, http.StatusServiceUnavailable, "there are as many clients as this rig takes, or it is ending")
		return
	}
	defer s.exit()
	u := websocket.Upgrader{HandshakeTimeout: 10 * time.Second, ReadBufferSize: 4096, WriteBufferSize: 16 << 10,
		WriteBufferPool: &s.upgrades.pool, CheckOrigin: s.o.Place.origin}
	conn, err := u.Upgrade(w, r, nil)
	if err != nil {
		s.log.Warn("no websocket came of a request", "from", r.RemoteAddr, "error", err) // the client has been told
		return
	}
	k := &socket{server: s, conn: conn, limit: rate.NewLimiter(rate.Limit(s.o.CallsPerS), callsAtOnce),
		answers: make(chan answer, 4), wake: make(chan struct{}, 1)}
	k.call = call{c, k, addrPort(r.RemoteAddr)}
	k.who.Store(c)
	k.ctx, k.stop = context.WithCancel(s.ctx)
	why := k.serve()
	if cutOff(why) {
		s.note(k.call.from, slog.LevelWarn, "client cut off", "owner", c.owner(), "why", why)
	} else {
		s.log.Debug("a client has gone", "from", r.RemoteAddr, "owner", c.owner(), "why", why)
	}
}

// enter counts a client, if there may be one more.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || int(s.clients.Load()) >= s.o.Connections {
		return false
	}
	s.clients.Add(1)
	s.sockets.Add(1)
	return true
}

func (s *Server) exit() {
	s.clients.Add(-1)
	s.sockets.Done()
}

// errEnding is why connections end with the rig.
var errEnding = errors.New("the rig is ending")

// cutOff reports whether a connection has ended by our doing: the client did what it may not, or
// did nothing for too long.
func cutOff(why error) bool {
	var left *websocket.CloseError
	return !errors.As(why, &left) && !errors.Is(why, errEnding) && !errors.Is(why, syscall.ECONNRESET) &&
		!errors.Is(why, syscall.EPIPE)
}

// serve returns why the connection is over, and nothing of it goes on.
func (k *socket) serve() error {
	written := make(chan error, 1)
	go func() {
		err := k.write()
		k.stop()
		_ = k.conn.Close() // so that reading ends too
		written <- err
	}()
	why := k.read()
	k.stop()
	// it was the writer that ended it
	if err := <-written; errors.Is(why, net.ErrClosed) || errors.Is(why, context.Canceled) {
		why = err
	}
	k.show(nil, nil)
	return why
}

// read executes calls until the connection ends.
func (k *socket) read() error {
	k.conn.SetReadLimit(api.MaxMessage)
	alive := func() error { return k.conn.SetReadDeadline(time.Now().Add(k.server.times.quiet)) }
	k.conn.SetPongHandler(func(string) error { return alive() })
	for {
		if err := alive(); err != nil {
			return err
		}
		kind, message, err := k.conn.ReadMessage()
		if errors.Is(err, websocket.ErrReadLimit) {
			k.drain()
		}
		if err != nil {
			return err
		}
		var out []byte
		if kind == websocket.TextMessage {
			if c := k.server.gate.still(k.call.caller); c != nil {
				k.call.caller = c
				k.who.Store(c)
			} else {
				return k.close(websocket.ClosePolicyViolation, "the token is not valid any more")
			}
			out, _ = k.server.answer(k.ctx, &k.call, message,
				func(n int) bool { return k.limit.AllowN(k.server.now(), n) })
		} else {
			out = encode(k.server.wrong(&k.call, nil,
				api.Errorf(api.InvalidRequest, "calls are text, not binary messages")))
		}
		if out == nil && k.begin == nil {
			continue
		}
		select {
		case k.answers <- answer{out, k.begin}:
			k.begin = nil
		case <-k.ctx.Done():
			return k.ctx.Err()
		}
	}
}

// drain takes some more of a message that is too large: a connection that is closed with something
// unread is reset, and the client would not see why.
func (k *socket) drain() {
	if k.conn.SetReadDeadline(time.Now().Add(drainTime)) == nil {
		_, _ = io.CopyN(io.Discard, k.conn.NetConn(), drained) // it ends in any case
	}
}

// The bytes read of a message that is too large.
const (
	drained   = 16 * api.MaxMessage
	drainTime = 10 * time.Second // of a slow link or a busy machine
)

// close tells the client why the connection ends.
func (k *socket) close(code int, why string) error {
	// it ends in any case
	_ = k.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why),
		time.Now().Add(time.Second))
	return errors.New(why)
}

// write sends what there is until the connection is over.
func (k *socket) write() error {
	ping := time.NewTicker(k.server.times.ping)
	defer ping.Stop()
	batch := make([]daemon.Message, 64)
	for {
		// Answers come before the events that follow them, and those of before a subscription are
		// not sent at all: so this order.
		select {
		case out := <-k.answers:
			if err := k.reply(out); err != nil {
				return err
			}
			continue
		default:
		}
		more, happened, err := k.sendEvents(batch)
		if err != nil {
			return err
		}
		newer, err := k.sendPicture()
		if err != nil {
			return err
		}
		if more {
			continue
		}
		select {
		case out := <-k.answers:
			if err := k.reply(out); err != nil {
				return err
			}
		case <-happened:
		case <-newer:
		case <-k.wake:
		case <-ping.C:
			if err := k.conn.WriteControl(websocket.PingMessage, nil,
				time.Now().Add(k.server.times.write)); err != nil {
				return err
			}
			if k.server.gate.still(k.who.Load()) == nil {
				return k.close(websocket.ClosePolicyViolation, "the token is not valid any more")
			}
		case <-k.ctx.Done():
			_ = k.close(websocket.CloseGoingAway, errEnding.Error())
			return errEnding
		}
	}
}

// reply sends an answer, and begins what follows it.
func (k *socket) reply(a answer) error {
	if a.content != nil {
		if err := k.send(websocket.TextMessage, a.content); err != nil {
			return err
		}
	}
	if a.begin != nil {
		k.mu.Lock()
		if k.events = a.begin; a.begin == noEvents {
			k.events = nil
		}
		k.mu.Unlock()
	}
	return nil
}

func (k *socket) send(kind int, content []byte) error {
	if err := k.conn.SetWriteDeadline(time.Now().Add(k.server.times.write)); err != nil {
		return err
	}
	return k.conn.WriteMessage(kind, content)
}

// sendEvents sends the next events, if there are any. more says that there may be more at once;
// else happened is closed when there are.
func (k *socket) sendEvents(batch []daemon.Message) (more bool, happened <-chan struct{}, err error) {
	k.mu.Lock()
	sub := k.events
	k.mu.Unlock()
	if sub == nil {
		return false, nil, nil
	}
	n, missed, changed := k.server.daemon.Events().After(sub.after, batch)
	if missed {
		return false, nil, k.close(websocket.CloseTryAgainLater,
			"events that were not taken in time are gone: connect again")
	}
	for _, m := range batch[:n] {
		if len(sub.kinds) == 0 || slices.Contains(sub.kinds, m.Kind) {
			if err := k.send(websocket.TextMessage, m.Text); err != nil {
				return false, nil, err
			}
		}
		sub.after = m.Seq
	}
	return n == len(batch), changed, nil
}

// sendPicture sends the latest picture, if there is one that was not sent. newer is closed when
// there is.
func (k *socket) sendPicture() (newer <-chan struct{}, err error) {
	k.mu.Lock()
	p, pushed := k.shown, k.pushed
	k.mu.Unlock()
	if p == nil {
		return nil, nil
	}
	latest, newer := p.Latest()
	if latest == nil || latest == pushed {
		return newer, nil
	}
	k.mu.Lock()
	if k.shown == p { // else none of the other device's was sent yet
		k.pushed = latest
	}
	k.mu.Unlock()
	return newer, k.send(websocket.BinaryMessage, latest.JPEG)
}

// subscribe has events be sent, once it is answered.
func (k *socket) subscribe(p api.SubscribeParams) (api.Subscribed, error) {
	for _, kind := range p.Kinds {
		if !slices.Contains(api.Kinds(), kind) {
			return api.Subscribed{}, api.Errorf(api.InvalidParams, "unknown kind of event %.80q; known are %v", kind,
				api.Kinds())
		}
	}
	all := k.server.daemon.Events()
	out := api.Subscribed{Seq: all.Latest()}
	sub := &subscription{after: out.Seq, kinds: p.Kinds}
	if p.FromSeq != nil {
		k.resume(&out, sub, *p.FromSeq)
	}
	k.begin = sub
	return out, nil
}

// resume begins after an event that the client has. A number that was not given yet is of another
// rig, or of this one before its folder was lost. Its client then misses all events until now.
func (k *socket) resume(out *api.Subscribed, sub *subscription, from uint64) {
	if from > out.Seq {
		out.Missed = true
		return
	}
	sub.after = from
	var first [1]daemon.Message
	n, missed, _ := k.server.daemon.Events().After(from, first[:])
	out.Missed = missed
	if missed && n > 0 {
		sub.after = first[0].Seq - 1
	}
}

func (k *socket) unsubscribe() { k.begin = noEvents }

// show begins to send the pictures of a preview, in place of those that were sent; nil is none.
func (k *socket) show(p *daemon.Preview, leave func()) {
	k.mu.Lock()
	before := k.leave
	k.shown, k.leave, k.pushed = p, leave, nil
	k.mu.Unlock()
	if before != nil {
		before()
	}
	k.rouse()
}

// rouse has the writer look anew what it is to send.
func (k *socket) rouse() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}
