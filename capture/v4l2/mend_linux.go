//go:build amd64 || arm64 || riscv64 || loong64

package v4l2

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// mend prepares the next stretch after one has ended with an error: it waits for the signal or the
// device, or pauses. It returns capture.ErrFormatChanged if the next frames have another format.
// Any other error ends the run.
func (s *source) mend(ctx context.Context, why error) error {
	if f := (fatal{}); errors.As(why, &f) {
		return why
	}
	cause := causeOf(why)
	switch {
	case cause == frame.DeviceGone && !s.count.any:
		return fmt.Errorf("%w: lost before its first frame (%w)", errNoDevice, why)
	case errors.Is(why, errStalled):
		// The driver accepts every request but sends no frames, like a USB device whose input
		// sleeps. That may last.
		s.failures = 0
		s.stalls++
		s.told.quiet(why)
		s.watch(pause(s.stalls))
	case cause == frame.DriverLost, cause == frame.FormatChange:
		s.failures++
		if s.failures > maxFailures {
			return why
		}
		s.told.restarting(why)
		s.bell.sleep(pause(s.failures))
	}
	s.count.restart(cause)
	found, err := s.settle(ctx)
	if err != nil {
		return err
	}
	if !found.sameAs(s.now) {
		return capture.ErrFormatChanged
	}
	s.now = found
	return nil
}

// causeOf says why frames are missing after a stretch that has ended with an error.
func causeOf(why error) frame.Cause {
	switch {
	case errors.Is(why, unix.ENODEV):
		return frame.DeviceGone
	case errors.Is(why, errSignal), errors.Is(why, errStalled), errors.Is(why, unix.ENOLINK),
		errors.Is(why, unix.ENOLCK):
		return frame.SignalLost
	case errors.Is(why, errReset):
		return frame.FormatChange
	}
	return frame.DriverLost
}

// pause grows with the number of attempts in a row.
func pause(attempts int) time.Duration {
	const most = 16 // attempts after which it does not grow in any case
	return min(firstPause<<min(attempts-1, most), lastPause)
}

// settle waits until there is a device, a steady signal, and a format to record it in. What it
// waits for it tells once. It returns the context's error when that ends first.
func (s *source) settle(ctx context.Context) (*setup, error) {
	refusals := 0
	for {
		if s.dev == nil || s.gone() {
			if err := s.returned(ctx); err != nil {
				return nil, err
			}
		}
		err := s.steady(ctx)
		if err == nil {
			var found *setup
			if found, err = s.dev.negotiate(s.set); err == nil {
				s.told.usable(found)
				return found, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case errors.Is(err, unix.ENODEV):
			continue
		case signalFault(err) || refusal(err):
			s.unusable(err)
		default:
			// A driver that is still busy with its own end of it, perhaps.
			if refusals++; refusals > maxFailures {
				return nil, err
			}
			s.told.restarting(err)
		}
		s.watch(waitUnusable)
	}
}

// signalFault reports errors that another signal would mend.
func signalFault(err error) bool {
	for _, e := range []error{errNoCable, errNoSignal, errNoLock, errOutOfRange} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// refusal reports errors of a signal that is there, and is not recorded.
func refusal(err error) bool {
	return errors.Is(err, errProtected) || errors.Is(err, errUnsupported) || errors.As(err, new(misfit))
}

// unusable records why the signal cannot be recorded.
func (s *source) unusable(why error) {
	refused, cause := refusal(why), frame.SignalLost
	if refused {
		cause = frame.SignalRefused
	}
	if s.count.any {
		s.count.explain(cause)
	}
	if errors.As(why, new(misfit)) {
		why = fmt.Errorf("this signal does not go with these settings: %w", why)
	}
	s.told.unusable(why, refused)
}

// Times of waiting for a signal.
const (
	settleStep   = 50 * time.Millisecond // between two looks that must agree
	waitUnusable = 250 * time.Millisecond
)

// steady waits for a signal whose timings are the same at two looks. It returns one of this
// package's errors when ctx ends first, or the driver's.
func (s *source) steady(ctx context.Context) error {
	var last *Timings
	for looks := 0; ; {
		sig, t, err := s.dev.signal()
		bad := sig.Err()
		switch {
		case errors.Is(err, unix.ENODEV):
			return err
		case err != nil:
			bad = err
		case bad == nil && t == nil && last == nil && looks > 0, bad == nil && t != nil && last != nil && t.same(*last):
			return nil
		}
		last = t
		looks++
		if bad != nil {
			looks = 0
			s.unusable(bad)
		}
		switch {
		case ctx.Err() != nil && errors.Is(bad, ErrBusy):
			return fmt.Errorf("%w%s", bad, heldBy(s.dev.path))
		case ctx.Err() != nil && bad != nil:
			return bad
		case ctx.Err() != nil && looks > 1:
			return errNoLock // its timings change from one look to the next
		}
		s.watch(settleStep)
	}
}

// watch waits for an event of the device, the end of the context, or a time.
func (s *source) watch(d time.Duration) {
	if s.dev == nil {
		s.bell.sleep(d)
		return
	}
	r, err := s.dev.wait(s.bell, d, false)
	if err != nil || r.failed {
		s.bell.sleep(d) // must not spin
		return
	}
	if r.event {
		s.dev.discardEvents()
	}
}

// discardEvents takes events that only meant that it is time to look again.
func (d *device) discardEvents() {
	var ev event
	for range maxEnum {
		if d.ioctl(vidiocDQEvent, unsafe.Pointer(&ev)) != nil || ev.pending == 0 {
			return
		}
	}
}
