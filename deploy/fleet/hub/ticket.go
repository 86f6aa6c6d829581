package hub

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/deploy/store/runzip"
)

// Bounds of transfers.
const (
	ticketTime   = 10 * time.Minute
	lightsOfRig  = 4 // tickets in an answer
	lightsAtOnce = 4
	relaysAtOnce = 16
	relaysOfRig  = 4
	relayWait    = 20 * time.Second // until the rig begins
	maxRelayWait = 30 * time.Second // of a rig's request
	minSpeed     = 64 << 10         // bytes a second
	maxRelayed   = 64 << 30         // bytes
)

// previewPath has the pictures of devices. A rig sends them also while it measures.
const previewPath = "/preview/"

// ticket permits one transfer of a rig.
type ticket struct {
	wire.Ticket
	rig   string
	until time.Time
	ended *wire.Ended  // whose light folder it is
	relay *relay       // of a file
	build *pieceReader // that the rig may get
}

// relay is a client that waits for a file of a rig.
type relay struct {
	ticket wire.Ticket
	answer chan *relayed
	gone   <-chan struct{} // the client is
}

// relayed is the rig's answer, until done is closed.
type relayed struct {
	status int
	header http.Header
	bytes  int64 // -1: unknown
	body   io.Reader
	done   chan struct{}
}

// relays bounds the transfers at the same time.
type relays struct{ files, lights chan struct{} }

func (r *relays) init() {
	r.files, r.lights = make(chan struct{}, relaysAtOnce), make(chan struct{}, lightsAtOnce)
}

// enter takes a place, if there is one within the patience.
func enter(ctx context.Context, places chan struct{}, patience time.Duration) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	if patience == 0 {
		return false
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case places <- struct{}{}:
		return true
	case <-timeout.C:
	case <-ctx.Done():
	}
	return false
}

func validLight(l *wire.LightState) bool {
	return l != nil && l.Bytes > 0 && l.Bytes <= wire.MaxLight && len(l.SHA256) == 64
}

// lightTickets returns tickets for the light folders of results. A ticket that was not used is
// given again. An attempt has one: another folder replaces it.
func (h *Hub) lightTickets(rig string, ended []*wire.Ended, now time.Time) []wire.Ticket {
	var out []wire.Ticket
	for _, e := range ended[:min(len(ended), lightsOfRig)] {
		var t *ticket
		for id, have := range h.tickets {
			switch {
			case have.rig != rig || have.ended == nil || have.Attempt != e.Attempt:
			case *have.ended.Light == *e.Light && now.Before(have.until):
				t = have
			default:
				delete(h.tickets, id)
			}
		}
		if t == nil {
			t = &ticket{Ticket: wire.Ticket{ID: rand.Text(), Attempt: e.Attempt}, rig: rig, ended: brief(e),
				until: now.Add(ticketTime)}
			h.tickets[t.ID] = t
		}
		out = append(out, t.Ticket)
	}
	return out
}

// brief returns the part of a result that the hub stores. The rest of a poll may be large.
func brief(e *wire.Ended) *wire.Ended {
	light := *e.Light
	out := &wire.Ended{Attempt: e.Attempt, State: e.State, Fault: clip(e.Fault, 16),
		Reason: clip(e.Reason, maxReason), Verdict: clip(e.Verdict, 64), StartedNS: e.StartedNS, EndedNS: e.EndedNS,
		Light: &light}
	for _, text := range []*string{&out.Fault, &out.Reason, &out.Verdict} {
		*text = strings.Clone(*text) // a part keeps the whole text in memory
	}
	if e.Set != "" || len(e.Runs) > 0 {
		out.Set = e.Attempt
	}
	return out
}

// expire drops old tickets.
func (h *Hub) expire(now time.Time) {
	for id, t := range h.tickets {
		if !now.Before(t.until) {
			delete(h.tickets, id)
		}
	}
}

// post takes the content of a ticket.
func (h *Hub) post(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	t := h.tickets[r.PathValue("id")]
	if t != nil && t.build == nil && h.o.Now().Before(t.until) {
		delete(h.tickets, t.ID)
	} else {
		t = nil
	}
	h.mu.Unlock()
	switch {
	case t == nil:
		http.Error(w, "the ticket is unknown, used or too old", http.StatusNotFound)
	case t.relay != nil:
		h.deliver(w, r, t)
	default:
		h.receive(w, r, t)
	}
}

// receive takes a light folder and stores the result that it belongs to.
func (h *Hub) receive(w http.ResponseWriter, r *http.Request, t *ticket) {
	l := *t.ended.Light
	if r.ContentLength > l.Bytes {
		http.Error(w, "the folder is larger than was announced", http.StatusRequestEntityTooLarge)
		return
	}
	if !enter(r.Context(), h.relays.lights, 0) {
		h.mu.Lock()
		h.tickets[t.ID] = t // it was not used
		h.mu.Unlock()
		busy(w, "other light folders are being received")
		return
	}
	defer func() { <-h.relays.lights }()
	job, _, _ := parseAttempt(t.Attempt)
	h.mu.Lock()
	j := h.jobs[job]
	var origin json.RawMessage
	if j != nil && h.details(r.Context(), j) == nil {
		origin = j.spec.Origin
	}
	h.mu.Unlock()
	err := h.light.receive(r.Context(), t.rig, t.Attempt, l, steady(w, r, l.Bytes, nil), origin)
	if err != nil {
		h.o.Log.Warn("a light folder was not stored", "rig", t.rig, "attempt", t.Attempt, "error", err)
		if !errors.Is(err, runzip.ErrRefused) {
			http.Error(w, "the folder could not be stored", http.StatusInternalServerError)
			return
		}
		http.Error(w, clip(err.Error(), maxReason), http.StatusUnprocessableEntity)
	}
	h.do(func() {
		if j := h.jobs[job]; err != nil && j != nil {
			j.dark = "its light folder was refused" // the result counts without it
		}
		if h.ready() == nil {
			h.settle(r.Context(), t.rig, t.ended)
		}
	}, func() { _ = h.o.Bus.Wake(t.rig) }) // it polls anyway
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
}

// deliver passes a file to the client that waits for it.
func (h *Hub) deliver(w http.ResponseWriter, r *http.Request, t *ticket) {
	status, err := strconv.Atoi(r.Header.Get(wire.StatusHeader))
	if err != nil || status < 200 || status > 599 {
		status = http.StatusBadGateway
	}
	a := &relayed{status: status, header: r.Header, bytes: r.ContentLength, done: make(chan struct{}),
		body: steady(w, r, max(r.ContentLength, 0), t.relay.gone)}
	select {
	case t.relay.answer <- a:
	case <-t.relay.gone:
		http.Error(w, "nobody waits for the file any more", http.StatusGone)
		return
	}
	select {
	case <-a.done:
		w.WriteHeader(http.StatusNoContent)
	case <-t.relay.gone:
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // else the rig decides how long it takes
		<-a.done
	}
}

// relay asks a rig for a file and passes it to a client. typed sets the headers that make it safe.
func (h *Hub) relay(w http.ResponseWriter, r *http.Request, name, from string, typed func()) {
	ranged := clip(r.Header.Get("Range"), 100)
	if r.Header.Get("If-Range") != "" {
		ranged = "" // the rig may have another file
	}
	err := h.fetch(r.Context(), name, from, ranged, 0, func(a *relayed) error {
		header := w.Header()
		for _, key := range []string{"Content-Range", "ETag", "Accept-Ranges"} {
			if v := a.header.Get(key); v != "" && len(v) < 200 {
				header.Set(key, v)
			}
		}
		typed()
		if a.status >= 400 {
			header.Set("Content-Type", "text/plain; charset=utf-8")
		}
		if a.bytes >= 0 {
			header.Set("Content-Length", strconv.FormatInt(a.bytes, 10))
		}
		if r.Method == http.MethodHead {
			return nil
		}
		w.WriteHeader(a.status)
		rc := http.NewResponseController(w)
		_ = rc.SetWriteDeadline(time.Now().Add(2*time.Minute + time.Duration(max(a.bytes, 0)/minSpeed)*time.Second))
		if n, err := io.Copy(w, io.LimitReader(a.body, maxRelayed)); err != nil || a.bytes >= 0 && n != a.bytes {
			h.o.Log.Warn("a file was not relayed whole", "rig", name, "bytes", n, "error", err)
			panic(http.ErrAbortHandler) // so that the client knows too
		}
		return nil
	})
	notFetched(w, err)
}

// errSlow says that a rig has not begun its answer.
var errSlow = errors.New("has not sent the file in time; try again")

// errAway says why a rig sends no file now.
type errAway string

func (e errAway) Error() string { return string(e) }

// notFetched answers that a file cannot be fetched, if err says so.
func notFetched(w http.ResponseWriter, err error) {
	var away errAway
	switch {
	case errors.Is(err, errSlow):
		http.Error(w, err.Error(), http.StatusGatewayTimeout)
	case errors.As(err, &away):
		busy(w, string(away))
	}
}

// fetch asks a rig for a file, or a range of it, and has its answer taken. It waits for a place at
// most for the patience. The error is errSlow or errAway. Else it is that of ctx or take.
func (h *Hub) fetch(ctx context.Context, name, from, ranged string, patience time.Duration,
	take func(*relayed) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h.mu.Lock()
	r, why := h.sender(name, from)
	h.mu.Unlock()
	if why != "" {
		return errAway(why)
	}
	if !enter(ctx, r.relaying, patience) {
		return errAway("too many files are being fetched from " + name)
	}
	defer func() { <-r.relaying }()
	if !enter(ctx, h.relays.files, patience) {
		return errAway("too many files are being fetched from rigs")
	}
	defer func() { <-h.relays.files }()
	t := &ticket{Ticket: wire.Ticket{ID: rand.Text(), Path: from, Range: ranged}, rig: name}
	t.relay = &relay{ticket: t.Ticket, answer: make(chan *relayed), gone: ctx.Done()}
	if why := h.queue(t); why != "" {
		return errAway(why)
	}
	defer h.drop(t)
	timeout := time.NewTimer(relayWait)
	defer timeout.Stop()
	select {
	case a := <-t.relay.answer:
		defer close(a.done)
		return take(a)
	case <-timeout.C:
		return fmt.Errorf("%s %w", name, errSlow)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sender returns a rig, or why it sends no file now. The lock is held.
func (h *Hub) sender(name, path string) (r *rig, why string) {
	now := h.o.Now()
	r = h.rigs[name]
	switch {
	case h.ready() != nil:
		return nil, h.ready().Error()
	case r == nil || !r.known:
		return nil, "unknown rig " + name
	case !r.online(now):
		return nil, r.silence(now)
	case r.busy && !strings.HasPrefix(path, previewPath):
		return nil, r.Rig + " measures now and sends no files; try again later"
	}
	return r, ""
}

// queue has a rig told of a ticket, or returns why it cannot be.
func (h *Hub) queue(t *ticket) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, why := h.sender(t.rig, t.Path)
	if why != "" {
		return why
	}
	t.until = h.o.Now().Add(2 * relayWait)
	h.tickets[t.ID] = t
	r.waiting = append(r.waiting, t.relay)
	close(r.woken)
	r.woken = make(chan struct{})
	return ""
}

// drop forgets the ticket of a client that has its answer or is gone.
func (h *Hub) drop(t *ticket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tickets, t.ID)
}

// nextTickets answers a rig's request for tickets when there are some.
func (h *Hub) nextTickets(ctx context.Context, name string, request []byte) wire.Relayed {
	var q wire.Relay
	_ = json.Unmarshal(request, &q) // else it does not wait
	timeout := time.NewTimer(min(max(time.Duration(q.WaitNS), 0), maxRelayWait))
	defer timeout.Stop()
	for {
		h.mu.Lock()
		r := h.rigs[name]
		if r == nil || !r.known || r.Suspend != "" {
			h.mu.Unlock()
			return wire.Relayed{Tickets: []wire.Ticket{}}
		}
		out := wire.Relayed{Tickets: []wire.Ticket{}}
		for _, waits := range r.waiting {
			if h.tickets[waits.ticket.ID] != nil {
				out.Tickets = append(out.Tickets, waits.ticket)
			}
		}
		r.waiting = nil
		woken := r.woken
		h.mu.Unlock()
		if len(out.Tickets) > 0 {
			return out
		}
		select {
		case <-woken:
		case <-timeout.C:
			return out
		case <-ctx.Done():
			return out
		}
	}
}

// steady reads a request's body, which must come at a minimum rate. It ends when gone is closed, or
// a minute later.
func steady(w http.ResponseWriter, r *http.Request, bytes int64, gone <-chan struct{}) io.Reader {
	end := time.Now().Add(2*time.Minute + time.Duration(bytes/minSpeed)*time.Second)
	return readerFunc(func(b []byte) (int, error) {
		select {
		case <-gone:
			return 0, context.Canceled
		default:
		}
		next := time.Now().Add(time.Minute)
		if bytes > 0 && end.Before(next) {
			next = end
		}
		if err := http.NewResponseController(w).SetReadDeadline(next); err != nil &&
			!errors.Is(err, http.ErrNotSupported) {
			return 0, fmt.Errorf("receive: %w", err)
		}
		return r.Body.Read(b)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// busy answers that a transfer is not possible now.
func busy(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "10")
	http.Error(w, why, http.StatusServiceUnavailable)
}
