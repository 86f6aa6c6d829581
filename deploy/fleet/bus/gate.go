package bus

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bounds of the requests of a rig. A request costs one, and one more per requestUnit bytes.
const (
	requestRate  = 50
	requestBurst = 400
	requestUnit  = 16 << 10
	maxAtOnce    = 4    // of a kind
	maxRefused   = 4000 // cost of refused requests above requestRate until the rig is disconnected
)

// gate bounds the requests of each rig.
type gate struct {
	mu   sync.Mutex
	rigs map[string]*turnstile
}

type turnstile struct {
	limit   *rate.Limiter
	running map[string]int
	refused *rate.Limiter
}

// enter admits a request or refuses it. After too many refused ones it asks for a disconnection.
func (g *gate) enter(rig, kind string, bytes int, now time.Time) (admitted, disconnect bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.rigs[rig]
	if t == nil {
		t = &turnstile{rate.NewLimiter(requestRate, requestBurst), map[string]int{}, newRefused()}
		g.rigs[rig] = t
	}
	cost := 1 + bytes/requestUnit
	if t.running[kind] < maxAtOnce && t.limit.AllowN(now, cost) {
		t.running[kind]++
		return true, false
	}
	if !t.refused.AllowN(now, cost) {
		t.refused = newRefused()
		return false, true
	}
	return false, false
}

// newRefused bounds the refused requests of a rig.
func newRefused() *rate.Limiter { return rate.NewLimiter(requestRate, maxRefused) }

func (g *gate) leave(rig, kind string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rigs[rig].running[kind]--
}
