package recorder

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/eideticker/eideticker/capture/timeline"
)

// spareProcs is the number of threads that may run Go code beyond the program's processors while a
// clocked source records. Compression keeps every processor busy for milliseconds at a time. With a
// spare thread, the kernel finds the source a processor at its tick, since it favours threads that
// sleep. Otherwise Go's scheduler does it when another goroutine yields.
const spareProcs = 4

// Host is what the program asks of the system while it records, whatever number of sources.
type Host struct {
	share   int // recordings among which the ring memory is shared
	lockErr error
	restore []func()
}

// NewHost prepares the program for so many recordings at once, which may begin and end at any time.
// Each gets the host in its [Options]. Their rings share the memory that one would take at most. A
// request that the system refuses does not fail. Call Close after the last recording.
func NewHost(recordings int) *Host { return newHost(max(recordings, 1), max(recordings, 1)) }

// prepare gets the program ready for real time, if any source needs that.
func prepare(inputs []Input) *Host {
	clocked := 0
	for _, in := range inputs {
		if h := in.Options.Host; h != nil {
			return &Host{share: h.share, lockErr: h.lockErr} // that is closed by whoever made it
		}
		if in.Source.Info().Clocked {
			clocked++
		}
	}
	return newHost(max(len(inputs), 1), clocked)
}

// newHost makes room for threads of sources on the clock, if there are any.
func newHost(share, clocked int) *Host {
	h := &Host{share: share}
	if clocked == 0 {
		return h
	}
	more := spareProcs + clocked - 1
	timeline.AddProcs(more)
	h.restore = append(h.restore, func() { timeline.AddProcs(-more) })
	var unlock func()
	if unlock, h.lockErr = lockProgram(); h.lockErr == nil {
		h.restore = append(h.restore, unlock)
	}
	return h
}

// Close undoes the requests to the system. It is idempotent.
func (h *Host) Close() {
	for _, f := range slices.Backward(h.restore) {
		f()
	}
	h.restore = nil
}

// onThread runs the source. One on the clock gets a thread of its own, ahead of all others where
// that is permitted.
func (s *stage) onThread(run func() error) error {
	if !s.info.Clocked {
		return run()
	}
	runtime.LockOSThread()
	// The thread is not unlocked: it ends with this goroutine and takes its priority and its
	// processors along.
	if len(s.options.CPUs) > 0 { // first: a thread with a deadline could not be kept on some
		s.notes.add("processor", pinThread(s.options.CPUs))
	}
	s.notes.add("priority", timeline.FavourThread())
	return run()
}

// CheckCPUs reports why a thread cannot be kept to those processors.
func CheckCPUs(cpus []int) error {
	allowed, err := allowedCPUs()
	if err != nil {
		return err
	}
	for _, c := range cpus {
		if !slices.Contains(allowed, c) {
			return fmt.Errorf("processor %d is not available to this program: %v", c, allowed)
		}
	}
	return nil
}
