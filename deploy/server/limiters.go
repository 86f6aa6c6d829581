package server

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiters bound the requests of each address. They remember a limited number of addresses. A
// forgotten one starts with a full allowance, so the oldest is forgotten.
type limiters struct {
	limit rate.Limit
	burst int

	mu sync.Mutex
	of map[netip.Prefix]*limiter
}

type limiter struct {
	*rate.Limiter
	used time.Time
}

const maxLimiters = 4096

func newLimiters(perSecond float64, burst int) *limiters {
	return &limiters{limit: rate.Limit(perSecond), burst: burst, of: map[netip.Prefix]*limiter{}}
}

// allow takes n of what an address may have, if there is so much.
func (l *limiters) allow(from netip.Prefix, n int, now time.Time) bool {
	return l.get(from, now).AllowN(now, n)
}

func (l *limiters) get(from netip.Prefix, now time.Time) *limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.of[from]
	if one == nil {
		if len(l.of) >= maxLimiters {
			l.forget()
		}
		one = &limiter{Limiter: rate.NewLimiter(l.limit, l.burst)}
		l.of[from] = one
	}
	one.used = now
	return one
}

// forget drops the half that was used longest ago.
func (l *limiters) forget() {
	var sum int64
	for _, o := range l.of {
		sum += o.used.Unix() / int64(len(l.of))
	}
	for k, o := range l.of {
		if o.used.Unix() <= sum || len(l.of) >= maxLimiters {
			delete(l.of, k)
		}
	}
}
