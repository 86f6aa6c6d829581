package recorder

import (
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/ringbuf"
)

// newRing makes the ring between a source and the recorder. Share is how many rings there are to be
// at once.
func newRing(info capture.Info, frameBytes int, want int64, share int) (*ringbuf.Memory, *capture.Ring, error) {
	size, err := ringSize(info, frameBytes, want, availableMemory(), share)
	if err != nil {
		return nil, nil, err
	}
	// A clocked source must not pay for page faults, neither in its first round nor later; another
	// one can wait.
	memory, err := ringbuf.Map(size, ringbuf.MapOptions{Lock: info.Clocked, Prefault: info.Clocked})
	if err != nil {
		return nil, nil, err
	}
	ring, err := ringbuf.New[frame.Meta](memory.Bytes(), frameBytes)
	if err != nil {
		return nil, nil, errors.Join(err, memory.Close())
	}
	return memory, ring, nil
}

// minSlots has room for four frames: the one being written, the newest, the recorder's current
// one, and the previous one that it compares with.
const minSlots = 4

// ringSize returns the bytes of ring memory. want, if not 0, is the user's choice. Otherwise the
// ring has room for two seconds and at least 64 frames of a clocked source. A source that waits
// gets 8 frames. More would only leave the caches. All rings together get at most a quarter of the
// available memory.
func ringSize(info capture.Info, frameBytes int, want, available int64, share int) (int, error) {
	least := ringbuf.BytesFor(minSlots, frameBytes)
	if want > 0 {
		if want < int64(least) {
			return 0, fmt.Errorf("a ring of %d bytes is too small: frames of %s need at least %d", want, info.Format,
				least)
		}
		if available > 0 && want > available {
			return 0, fmt.Errorf("a ring of %d bytes is more than the %d bytes of memory that are available", want,
				available)
		}
		return int(want), nil
	}
	size := wantedRing(info, frameBytes)
	if most := available / RingShare / int64(share); available > 0 && int64(size) > most {
		size = max(int(most), least)
	}
	return size, nil
}

// RingShare is what part of the memory that is available all rings together may take: one in this
// many.
const RingShare = 4

// WantedRing returns the bytes of ring memory for a source on a machine with enough memory.
func WantedRing(info capture.Info) int { return wantedRing(info, info.Format.Size()) }

func wantedRing(info capture.Info, frameBytes int) int {
	slots := 8
	if info.Clocked {
		slots = 64
		if p := info.Period; p.Num > 0 && p.Den > 0 {
			slots = max(slots, int(min(2*p.Den/p.Num, 1000)))
		}
	}
	return ringbuf.BytesFor(slots, frameBytes)
}
