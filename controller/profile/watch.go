package profile

import (
	"context"
	"fmt"
	"time"
)

const (
	// defaultReserve remains free on the disk of the traces, which may be that of the recording.
	defaultReserve = 256 << 20 // bytes
	guardEvery     = 500 * time.Millisecond
)

// bounded is an engine that can end before the program.
type bounded interface {
	// bound ends the recording if its files reach the limit, or for a reason that is not empty.
	bound(why string)
}

// guard bounds the engines until they are stopped.
func (s *Session) guard() {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-tick.C:
			s.bound()
		}
	}
}

// bound ends engines at their limits, and before the disk is full.
func (s *Session) bound() {
	s.mu.Lock()
	defer s.mu.Unlock()
	why := ""
	if freeBytes(s.o.Dir) < s.reserve {
		why = fmt.Sprintf("the disk has less than %d MiB left", s.reserve>>20)
	}
	for _, e := range s.engines {
		if b, ok := e.(bounded); ok && !s.stopped {
			b.bound(why)
		}
	}
}

// TargetError states that a program crashed or hung while its native code was recorded.
type TargetError struct {
	Way string // of recording
	Why string // such as: the program ended
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("profile %s: %s before its content, by the profiler; use samples", e.Way, e.Why)
}

// Ended returns a [TargetError] if the program ended before its content while its calls were
// recorded.
func (s *Session) Ended() error {
	way, root := s.watched()
	if way == "" || root == 0 || !ended(root) {
		return nil
	}
	return &TargetError{way, "the program ended"}
}

// Watch returns a [TargetError] if the program makes no progress within a limit. Progress is a
// change of count, or a twentieth of the limit on a CPU. Watch returns nil when the content begins,
// or ctx ends.
func (s *Session) Watch(ctx context.Context, limit time.Duration, count func() int64) error {
	tick := time.NewTicker(limit / 20)
	defer tick.Stop()
	var p progress
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		switch way, root := s.watched(); {
		case way == "":
			return nil
		case root == 0: // it was not started
		case p.hung(time.Now(), limit, count(), cpuTime(root)):
			return &TargetError{way, fmt.Sprintf("the program made no progress for %v", limit)}
		}
	}
}

// watched returns the way of recording calls, and the program; "": its content began, or no engine
// records them. Samples do not stop a program.
func (s *Session) watched() (way string, root int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == 0 {
		return s.o.native(), 0
	}
	for _, e := range s.engines {
		if n, ok := e.(interface{ way() string }); ok && !s.began && !s.stopped &&
			(n.way() == functions || n.way() == imports) {
			return n.way(), s.root
		}
	}
	return "", 0
}

// progress is the last progress of a program.
type progress struct {
	at    time.Time
	count int64
	cpu   time.Duration
}

// hung reports whether the last progress is longer ago than a limit.
func (p *progress) hung(now time.Time, limit time.Duration, count int64, cpu time.Duration) bool {
	if p.at.IsZero() || count != p.count || cpu < p.cpu || cpu-p.cpu >= limit/20 {
		*p = progress{now, count, cpu}
	}
	return now.Sub(p.at) >= limit
}
