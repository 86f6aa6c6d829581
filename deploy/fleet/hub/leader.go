package hub

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/eideticker/eideticker/deploy/fleet/bus"
)

// Keys in the bucket of states.
const (
	epochKey  = "epoch"
	leaderKey = "leader"
)

// Times of the leader's lease.
const (
	renewEvery  = 5 * time.Second
	leaderLease = 20 * time.Second // an older lease ends the leadership
	takeAfter   = 30 * time.Second // others wait longer, by their own clocks
)

// epoch returns the hub's epoch, which is 1 in a new storage.
func epoch(ctx context.Context, b bus.Hub) (uint64, error) {
	e, err := b.Bucket(bus.State).Get(ctx, epochKey)
	if errors.Is(err, bus.ErrNotFound) {
		_, err = b.Bucket(bus.State).Put(ctx, epochKey, []byte("1"), 0)
		return 1, err
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(e.Value), 10, 64)
	if err != nil {
		err = fmt.Errorf("read the hub's epoch: %w", err)
	}
	return n, err
}

// leaderView is the lease of the leader as this hub sees it.
type leaderView struct {
	me       string
	revision uint64    // of the entry
	changed  time.Time // when this hub has seen the revision first
	renewed  time.Time // when this hub has written it; zero: it does not lead
	looked   time.Time
}

// leadership is the content of the leader's entry.
type leadership struct {
	Hub string `json:"hub"`
	N   uint64 `json:"n"`
}

// lead reports if this hub leads. Hubs of one storage write an entry in turns, so that the writes
// of two leaders cannot both succeed.
func (h *Hub) lead(ctx context.Context) bool {
	if !h.o.Shared {
		return h.leads
	}
	l, now := &h.leader, h.o.Now()
	if l.me == "" {
		l.me = rand.Text()
	}
	if !l.looked.IsZero() && now.Sub(l.looked) < renewEvery {
		return h.leads && now.Sub(l.renewed) < leaderLease
	}
	l.looked = now
	ctx, stop := context.WithTimeout(ctx, writeTime)
	defer stop()
	state := h.o.Bus.Bucket(bus.State)
	e, err := state.Get(ctx, leaderKey)
	if errors.Is(err, bus.ErrNotFound) {
		e, err = bus.Entry{}, nil
	}
	var entry leadership
	if err == nil && e.Revision != 0 {
		err = json.Unmarshal(e.Value, &entry)
	}
	if err == nil && e.Revision != l.revision {
		l.revision, l.changed = e.Revision, now
	}
	mine := err == nil && entry.Hub == l.me && h.leads
	if err == nil && (mine || e.Revision == 0 || now.Sub(l.changed) >= takeAfter) {
		raw, _ := json.Marshal(leadership{l.me, entry.N + 1}) // strings and numbers
		var revision uint64
		if revision, err = state.Put(ctx, leaderKey, raw, e.Revision); err == nil {
			l.revision, l.changed, l.renewed = revision, now, now
			if !mine {
				err = h.load(ctx)
			}
		}
	}
	if err != nil {
		h.o.Log.Warn("the leader's lease could not be read or renewed", "error", err)
	}
	if h.leads && (err == nil && entry.Hub != l.me && !l.renewed.Equal(now) || now.Sub(l.renewed) >= leaderLease) {
		h.clear()
	}
	return h.leads
}
