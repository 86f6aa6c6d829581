package serve

//lint:file-ignore SA1019 schedulers of the library: see New

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/net/http2"
)

// turns selects the response of an HTTP/2 connection that sends next, by RFC 9218:
//
//   - The most urgent response goes first.
//   - Responses of equal urgency go one after the other, in the order of their requests.
//     Incremental ones go a frame each in turn.
//   - If there are both kinds, every other frame is of an incremental one.
//   - For clients that never sent a priority, as old ones do, all are incremental.
//   - Frames that are not part of a body go first. They are small: response heads, ends, upload
//     windows and resets. They help the client whatever else it waits for.
//
// A response without waiting data is skipped. A handler has no waiting data between two parts of a
// body (see writeAtOnce). Another response may then send a frame, so the link is never idle.
//
// Note: the library has a similar scheduler. But before Go 1.27 it always uses its other one, which
// sends to all in turn. It does not export the priorities it receives.
type turns struct {
	mu      sync.Mutex
	control []http2.FrameWriteRequest
	streams map[uint32]*turn
	waiting []*turn // have something to send
	tick    uint64  // of frames
	aware   bool    // the client tells priorities
	highest uint32  // stream that has begun
	early   map[uint32]precedence
}

// turn is a stream.
type turn struct {
	id     uint32
	frames []http2.FrameWriteRequest
	precedence
	told  bool   // its precedence
	fixed bool   // by a later word than its request's
	last  uint64 // tick at which it had its turn
}

// precedence is what a client says of a response.
type precedence struct {
	urgency     int
	incremental bool
}

const usual = 3 // urgency

// maxEarly is of how many streams that have not begun priorities are kept.
const maxEarly = maxStreams

func newTurns() *turns { return &turns{streams: map[uint32]*turn{}, early: map[uint32]precedence{}} }

// asked notes what a request says of its priority.
func (t *turns) asked(stream int64, h http.Header) {
	said := len(h["Priority"]) > 0
	u, i := priority(h)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.aware = t.aware || said
	if s := t.streams[uint32(stream)]; s != nil && !s.fixed {
		s.precedence, s.told = precedence{u, i}, t.aware
	}
}

// updated notes what a client says of a priority later, or before it asks.
func (t *turns) updated(stream uint32, field string) {
	u, i := priority(http.Header{"Priority": {field}})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.aware = true
	p := precedence{u, i}
	switch s := t.streams[stream]; {
	case s != nil:
		s.precedence, s.told, s.fixed = p, true, true
	case stream > t.highest && len(t.early) < maxEarly:
		t.early[stream] = p
	}
}

// OpenStream is of [http2.WriteScheduler].
func (t *turns) OpenStream(id uint32, _ http2.OpenStreamOptions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &turn{id: id, precedence: precedence{urgency: usual}}
	if p, is := t.early[id]; is {
		s.precedence, s.told, s.fixed = p, true, true
	}
	t.highest = max(t.highest, id)
	for stream := range t.early {
		if stream <= t.highest {
			delete(t.early, stream)
		}
	}
	t.streams[id] = s
}

// CloseStream is of [http2.WriteScheduler].
func (t *turns) CloseStream(id uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.streams[id]; s != nil {
		delete(t.streams, id)
		t.idle(s)
	}
}

// AdjustStream is of [http2.WriteScheduler]: of the priorities of RFC 7540, which nobody heeds any
// more.
func (t *turns) AdjustStream(uint32, http2.PriorityParam) {}

// Push is of [http2.WriteScheduler].
func (t *turns) Push(r http2.FrameWriteRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.streams[r.StreamID()]
	if s == nil { // of the connection, or that a stream is over
		t.control = append(t.control, r)
		return
	}
	if len(s.frames) == 0 {
		t.waiting = append(t.waiting, s)
	}
	if n := len(s.frames); n > 0 && r.DataSize() == 0 && s.frames[n-1].DataSize() > 0 {
		// that a stream is given up, or that more of a request may come: nothing of the response
		// comes while some of its body waits
		s.frames = slices.Insert(s.frames, 0, r)
		return
	}
	s.frames = append(s.frames, r)
}

// Pop is of [http2.WriteScheduler].
func (t *turns) Pop() (http2.FrameWriteRequest, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.control) > 0 {
		r := t.control[0]
		t.control = slices.Delete(t.control, 0, 1)
		return r, true
	}
	t.tick++
	slices.SortFunc(t.waiting, t.order)
	for _, s := range t.waiting {
		r, rest, n := s.frames[0].Consume(math.MaxInt32)
		switch n {
		case 0: // its window is shut
			continue
		case 1:
			s.frames = slices.Delete(s.frames, 0, 1)
			if len(s.frames) == 0 {
				t.idle(s)
			}
		default:
			s.frames[0] = rest
		}
		s.last = t.tick
		return r, true
	}
	return http2.FrameWriteRequest{}, false
}

// order is that in which streams may send.
func (t *turns) order(a, b *turn) int {
	// Frames that are not part of a body do not wait.
	if as, bs := a.small(), b.small(); as != bs {
		if as {
			return -1
		}
		return 1
	}
	if a.urgency != b.urgency {
		return cmp.Compare(a.urgency, b.urgency)
	}
	if ai, bi := t.shares(a), t.shares(b); ai != bi {
		if ai == (t.tick%2 == 0) {
			return -1
		}
		return 1
	} else if ai && a.last != b.last {
		return cmp.Compare(a.last, b.last)
	}
	return cmp.Compare(a.id, b.id)
}

// small reports whether the next frame of a waiting stream is not part of a body.
func (s *turn) small() bool { return s.frames[0].DataSize() == 0 }

// shares says that a stream lets others have turns between its own.
func (t *turns) shares(s *turn) bool { return s.incremental || !s.told && !t.aware }

// idle notes that a stream has nothing to send.
func (t *turns) idle(s *turn) {
	if i := slices.Index(t.waiting, s); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
}
