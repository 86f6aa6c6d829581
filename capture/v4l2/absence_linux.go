//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
)

// absence holds the reports since the device has been gone.
type absence struct {
	reason string // why it could not be opened at the last look, "" if it was not there
	since  timeline.Time
	told   []string
}

// mayPass is the time for which a reason is not reported. A new node exists before it is given to
// its group.
const mayPass = time.Second

// tellWhyAway tells why a device that is there again cannot be opened, each reason once.
func (s *source) tellWhyAway(err error) {
	a := &s.away
	if err == nil || errors.Is(err, errNoDevice) || errors.Is(err, unix.ENODEV) {
		a.reason = ""
		return
	}
	now := s.clock.Now()
	if reason := err.Error(); a.reason != reason {
		a.reason, a.since = reason, now
	}
	if now.Sub(a.since) < mayPass || slices.Contains(a.told, a.reason) {
		return
	}
	a.told = append(a.told, a.reason)
	s.told.emit("device not usable", map[string]string{"device": s.path, "reason": a.reason})
}
