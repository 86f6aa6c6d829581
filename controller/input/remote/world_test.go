package remote

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

const secret wire.Token = "correct horse battery staple"

// rigClock is the truth: the time of the test's bubble.
type rigClock struct{ began time.Time }

func (c rigClock) Now() timeline.Time { return timeline.Time(time.Since(c.began)) + 1e12 }

// agentClock runs too fast for a time, and then too slow, by as many parts of a million; and it can
// jump.
type agentClock struct {
	rig    rigClock
	offset atomic.Int64
	ppm    int64
	turn   time.Duration // how long it runs one way
}

func (c *agentClock) Now() timeline.Time {
	t := c.rig.Now()
	phase := int64(t) % int64(2*c.turn)
	if phase > int64(c.turn) {
		phase = int64(2*c.turn) - phase
	}
	return t.Add(time.Duration(c.offset.Load() + phase*c.ppm/1_000_000))
}

// hand is a driver that takes a while, and knows when it told its device.
type hand struct {
	clock timeline.Clock
	rig   timeline.Clock
	takes func() time.Duration // before and behind the telling

	mu       sync.Mutex
	did      []timeline.Time // on the rig's clock
	actions  []input.Action
	held     input.Held
	lifted   []input.Action
	liftedAt timeline.Time
	fail     error
}

func (h *hand) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	for wait := at.Sub(h.clock.Now()); wait > 0; wait = at.Sub(h.clock.Now()) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil {
			return timeline.Interval{}, err
		}
	}
	sent := timeline.At(h.clock.Now())
	time.Sleep(h.takes())
	h.mu.Lock()
	if h.fail != nil {
		defer h.mu.Unlock()
		return timeline.Interval{}, h.fail
	}
	h.did = append(h.did, h.rig.Now())
	h.actions = append(h.actions, actions...)
	h.held.Note(actions...)
	h.mu.Unlock()
	time.Sleep(h.takes())
	sent.Latest = h.clock.Now()
	return sent, nil
}

func (h *hand) Release(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if up := h.held.Lift(); len(up) > 0 {
		h.lifted, h.liftedAt = append(h.lifted, up...), h.rig.Now()
		h.held = input.Held{}
	}
	return nil
}

func (h *hand) Info() input.Info {
	return input.Info{Driver: "fake", Device: "a hand", Realism: input.Hardware}
}

func (h *hand) Close() error { return nil }

func (h *hand) last() timeline.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.did[len(h.did)-1]
}

func (h *hand) times() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.did)
}

func (h *hand) lifts() ([]input.Action, timeline.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.lifted), h.liftedAt
}

// link is a way with delays of its own in each direction, that can be cut with or without notice.
type link struct {
	there, back func() time.Duration
	dead        atomic.Bool // swallows everything
	alter       func([]byte) []byte
	all         sync.WaitGroup
}

func (l *link) join(a, b net.Conn) {
	l.all.Go(func() { l.carry(a, b, l.there, l.alter) })
	l.all.Go(func() { l.carry(b, a, l.back, nil) })
}

func (l *link) carry(from, to net.Conn, delay func() time.Duration, alter func([]byte) []byte) {
	type parcel struct {
		due time.Time
		b   []byte
	}
	way := make(chan parcel, 4096)
	l.all.Go(func() {
		defer to.Close()
		for p := range way {
			time.Sleep(time.Until(p.due))
			if !l.dead.Load() {
				if _, err := to.Write(p.b); err != nil {
					break
				}
			}
		}
		for range way { // until the reader has noticed
		}
	})
	defer close(way)
	defer from.Close()
	for {
		b := make([]byte, 32<<10)
		n, err := from.Read(b)
		if err != nil {
			if l.dead.Load() {
				time.Sleep(time.Minute) // the other side gets no message
			}
			return
		}
		b = b[:n]
		if alter != nil {
			b = alter(b)
		}
		way <- parcel{time.Now().Add(delay()), b}
	}
}

// world is a rig, an agent and the network between them, in a bubble.
type world struct {
	t     *testing.T
	ctx   context.Context
	rig   rigClock
	clock *agentClock
	hand  *hand
	conns chan net.Conn
	token wire.Token // of the agent
	end   context.CancelFunc
	ended chan error
	links []*link
	once  sync.Once
	log   notes
}

// notes are what an agent logs.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

// said returns the agent's log since the last call, once all data on the way has arrived.
func (w *world) said() string {
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	defer w.log.text.Reset()
	return w.log.text.String()
}

func (w *world) Accept() (net.Conn, error) {
	c, ok := <-w.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (w *world) Close() error {
	w.once.Do(func() { close(w.conns) })
	return nil
}
func (w *world) Addr() net.Addr { return &net.TCPAddr{} }

// inWorld runs a test in a bubble with an agent.
func inWorld(t *testing.T, ppm int64, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		rig := rigClock{time.Now()}
		w := &world{t: t, ctx: t.Context(), rig: rig, conns: make(chan net.Conn), token: secret,
			ended: make(chan error, 1)}
		w.clock = &agentClock{rig: rig, ppm: ppm, turn: 7 * time.Second}
		w.clock.offset.Store(-987_654_321_000)
		random := rand.New(rand.NewPCG(1, 2))
		w.hand = &hand{clock: w.clock, rig: rig,
			takes: func() time.Duration { return time.Duration(random.IntN(300)) * time.Microsecond }}
		ctx, cancel := context.WithCancel(context.Background())
		w.end = cancel
		go func() {
			log := slog.New(slog.NewTextHandler(&w.log, nil))
			w.ended <- Serve(ctx, w, Service{Driver: w.hand, Clock: w.clock, Token: w.token, Log: log})
		}()
		test(t, w)
		cancel()
		if err := <-w.ended; err != nil {
			t.Errorf("agent: %v", err)
		}
		for _, l := range w.links {
			l.all.Wait()
		}
	})
}

// dial connects over a link.
func (w *world) dial(l *link, token wire.Token) (*Driver, error) {
	if l.there == nil {
		l.there, l.back = fixed(100*time.Microsecond), fixed(100*time.Microsecond)
	}
	mine, a := net.Pipe()
	b, theirs := net.Pipe()
	l.join(a, b)
	w.links = append(w.links, l)
	w.conns <- theirs
	return connect(w.ctx, mine, Options{Address: "agent:1", Token: token, Clock: w.rig})
}

func (w *world) mustDial(l *link) *Driver {
	w.t.Helper()
	d, err := w.dial(l, secret)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func fixed(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func between(seed uint64, least, most time.Duration) func() time.Duration {
	r := rand.New(rand.NewPCG(seed, 3))
	return func() time.Duration { return least + time.Duration(r.Int64N(int64(most-least))) }
}

// do does something and holds the interval against the truth.
func (w *world) do(d *Driver, at timeline.Time, actions ...input.Action) (sent timeline.Interval) {
	w.t.Helper()
	sent, err := d.Do(w.ctx, at, actions...)
	if err != nil {
		w.t.Fatal(err)
	}
	if truth := w.hand.last(); truth < sent.Earliest || truth > sent.Latest {
		w.t.Fatalf("sent in %d…%d, in truth at %d: %v before, %v behind", sent.Earliest, sent.Latest, truth,
			sent.Earliest.Sub(truth), truth.Sub(sent.Latest))
	}
	if truth := w.hand.last(); truth < at {
		w.t.Fatalf("sent %v too early", at.Sub(truth))
	}
	return sent
}

// shut closes a driver that is to close well.
func (w *world) shut(d *Driver) {
	w.t.Helper()
	if err := d.Close(); err != nil {
		w.t.Errorf("close: %v", err)
	}
	if err := d.Close(); err != nil {
		w.t.Errorf("close again: %v", err)
	}
}

var _ input.Driver = (*Driver)(nil)
