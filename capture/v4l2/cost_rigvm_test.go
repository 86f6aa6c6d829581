//go:build linux && rigvm

package v4l2

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// What the capture thread costs a frame is measured as processor time, user and system, and held against the same of other
// programs on the same device, and against one plain copy of the frame. Each is measured once a round, so that what
// else the machine does falls on all of them.
//
// Here it is a test of the measurement, with few frames. `make bench-rig` measures, see TestBenchRig.

// costPlan says how much is measured, and what stands beside it.
type costPlan struct {
	frames int    // of each, each round
	rounds int    // the quickest and the middle one are shown
	peers  string // folder with other programs; "" for none
}

// Environment by which TestBenchRig tells its plan.
const (
	costFrames = "EIDETICKER_COST_FRAMES"
	costRounds = "EIDETICKER_COST_ROUNDS"
	costPeers  = "EIDETICKER_COST_PEERS"
)

func costPlanned(t *testing.T) costPlan {
	t.Helper()
	plan := costPlan{frames: 20, rounds: 1, peers: os.Getenv(costPeers)}
	for _, v := range []struct {
		name string
		to   *int
	}{{costFrames, &plan.frames}, {costRounds, &plan.rounds}} {
		text, ok := os.LookupEnv(v.name)
		if !ok {
			continue
		}
		if err := parseCount(text, 1, 100_000, v.to); err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
	}
	return plan
}

// way is one way of getting frames, and what it costs.
type way struct {
	name    string
	does    string // what is done with a frame
	measure func(frames int) (perFrame time.Duration, err error)
	rounds  []time.Duration // processor time per frame
	ours    bool
	allocs  uint64 // of ours: most in a round
}

func TestCost(t *testing.T) {
	plan := costPlanned(t)
	choose(t, hdmi, "1920x1080p60")
	t.Cleanup(func() { set(t, hdmi, signalMode, modeCurrent) })
	for _, fourcc := range []string{"BGR4", "YUYV"} {
		t.Run(fourcc, func(t *testing.T) {
			size := costSize(t, fourcc)
			ways := []*way{{name: "one plain copy", does: "copied", measure: func(n int) (time.Duration, error) { return plainCopies(size, n) }}}
			ways = append(ways,
				ours(t, fourcc, "mmap", "copied into the ring"),
				ours(t, fourcc, "dmabuf", "copied into the ring"),
				ours(t, fourcc, "userptr", "written into the ring by the driver"),
				oursSmall(t, fourcc, "userptr", "written into the ring by the driver"))
			ways = append(ways, peers(plan.peers, fourcc)...)
			for range plan.rounds {
				for _, w := range ways {
					cost, err := w.measure(plan.frames)
					if err != nil {
						t.Fatalf("%s: %v", w.name, err)
					}
					if cost <= 0 {
						t.Errorf("%s: %v for a frame", w.name, cost)
					}
					w.rounds = append(w.rounds, cost)
				}
			}
			err := writeCosts(t.Output(), fmt.Sprintf("%s 1920x1080, %.1f MB a frame; rounds of %d frames: %d",
				fourcc, float64(size)/1e6, plan.frames, plan.rounds), ways)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// costSize opens the device, which also sets it to the signal for the programs beside, and returns the bytes of a frame.
func costSize(t *testing.T, fourcc string) int {
	t.Helper()
	s, err := Open(hdmi, url.Values{"format": {fourcc}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := s.Info().Format
	if f.Width != 1920 || f.Height != 1080 {
		t.Fatalf("the signal is %v", f)
	}
	return f.Size()
}

// costSlots are the ring's; costWarmUp lets each slot be used once before anything counts.
const (
	costSlots  = 16
	costWarmUp = costSlots + 4
)

// costPatience is far more than so many frames take on a machine that does other things.
func costPatience(frames int) time.Duration { return patience + time.Duration(frames)*time.Second/2 }

// ours is this package with a kind of memory. What it costs is the time of the thread that runs the source.
func ours(t *testing.T, fourcc, memory, does string) *way {
	w := &way{name: "eideticker " + memory, does: does, ours: true}
	w.measure = func(frames int) (time.Duration, error) {
		c, err := capturing(fourcc, memory, frames)
		w.note(t, c, frames)
		return c.perFrame, err
	}
	return w
}

// oursSmall is ours with a ring that has no huge pages: then a driver that writes into it has more to pin.
func oursSmall(t *testing.T, fourcc, memory, does string) *way {
	w := &way{name: "eideticker " + memory + ", small pages", does: does, ours: true}
	w.measure = func(frames int) (perFrame time.Duration, err error) {
		restore, err := withoutHugePages()
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, restore()) }()
		c, err := capturing(fourcc, memory, frames)
		w.note(t, c, frames)
		if c.huge != 0 {
			t.Errorf("%s: %d bytes of the ring are in huge pages", w.name, c.huge)
		}
		return c.perFrame, err
	}
	return w
}

// note looks at what a round has shown beside its time.
func (w *way) note(t *testing.T, c captured, frames int) {
	t.Helper()
	if c.lost > 0 {
		t.Logf("%s: the ring had no slot for %d frames, whose cost is in that of the others", w.name, c.lost)
	}
	// The runtime has a few of its own, now and then.
	if w.allocs = max(w.allocs, c.allocs); c.allocs >= uint64(frames) {
		t.Errorf("%s: %d allocations for %d frames", w.name, c.allocs, frames)
	}
}

// withoutHugePages switches the guest's huge pages off. The function returned switches them back.
func withoutHugePages() (restore func() error, err error) {
	const file = "/sys/kernel/mm/transparent_hugepage/enabled"
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(text), "[") // "always [madvise] never"
	was, _, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, fmt.Errorf("%s says %q", file, text)
	}
	return func() error { return os.WriteFile(file, []byte(was), 0o644) }, os.WriteFile(file, []byte("never"), 0o644)
}

// captured is what capturing some frames took.
type captured struct {
	perFrame time.Duration
	allocs   uint64 // of the whole program
	lost     uint64 // in the ring
	huge     int    // bytes of the ring in huge pages
}

// capturing measures the capture thread from the last frame of the warm-up on.
func capturing(fourcc, memory string, frames int) (c captured, err error) {
	s, err := Open(hdmi, url.Values{"format": {fourcc}, "memory": {memory}})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	size := s.Info().Format.Size()
	m, err := ringbuf.Map(ringbuf.BytesFor(costSlots, size), ringbuf.MapOptions{Lock: true, Prefault: true}) // as the recorder does
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	ring, err := ringbuf.New[frame.Meta](m.Bytes(), size)
	if err != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), costPatience(frames))
	defer cancel()
	reader := ring.NewReader(ringbuf.Lossless)
	thread, ended := make(chan int), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // it ends with the goroutine
		thread <- unix.Gettid()
		err := s.Run(ctx, ring, func(timeline.Event) {})
		ring.Close(err)
		ended <- err
	}()
	c, err = counting(ctx, reader, <-thread, frames)
	cancel()
	err = errors.Join(err, <-ended)
	if err == nil {
		c.huge, err = m.HugeBytes()
	}
	return c, err
}

// counting takes frames and reads the thread's clock between them.
func counting(ctx context.Context, reader *ringbuf.Reader[frame.Meta], thread, frames int) (c captured, err error) {
	var before, after runtime.MemStats
	var start, end time.Duration
	for n := range costWarmUp + frames {
		lease, err := reader.Next(ctx)
		if err != nil {
			return c, fmt.Errorf("frame %d of %d: %w", n, costWarmUp+frames, err)
		}
		if n >= costWarmUp {
			c.lost += lease.LostBefore()
		}
		lease.Release()
		switch n {
		case costWarmUp - 1:
			runtime.ReadMemStats(&before)
			start, err = threadTime(thread)
		case costWarmUp + frames - 1:
			end, err = threadTime(thread)
			runtime.ReadMemStats(&after)
		}
		if err != nil {
			return c, err
		}
	}
	c.perFrame = (end - start) / time.Duration(frames)
	c.allocs = after.Mallocs - before.Mallocs
	return c, nil
}

// threadTime returns the processor time, user and system, that a thread of this process has had: what getrusage(2) says
// of RUSAGE_THREAD, of another thread than the one that asks. For the numbers of such clocks see CPUCLOCK_PERTHREAD_MASK and
// CPUCLOCK_SCHED of linux/posix-timers.h.
func threadTime(thread int) (time.Duration, error) { return clockOf(thread, 4) }

// processTime is the same of a process, with all its threads.
func processTime(pid int) (time.Duration, error) { return clockOf(pid, 0) }

func clockOf(id, perThread int) (time.Duration, error) {
	const sched = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^id<<3|perThread|sched), &ts); err != nil {
		return 0, fmt.Errorf("read the processor time of %d: %w", id, err)
	}
	return time.Duration(ts.Nano()), nil
}

// plainCopies measures what no way that copies can do without: a frame copied from one of as many buffers as the driver has
// into one of as many as the ring has.
func plainCopies(size, frames int) (perFrame time.Duration, err error) {
	m, err := ringbuf.Map((defaultBuffers+costSlots)*size, ringbuf.MapOptions{Lock: true, Prefault: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from, to := m.Bytes()[:defaultBuffers*size], m.Bytes()[defaultBuffers*size:]
	var start time.Duration
	for n := range costWarmUp + frames {
		if n == costWarmUp {
			if start, err = threadTime(unix.Gettid()); err != nil {
				return 0, err
			}
		}
		in, out := n%defaultBuffers*size, n%costSlots*size
		copy(to[out:out+size], from[in:in+size])
	}
	end, err := threadTime(unix.Gettid())
	return (end - start) / time.Duration(frames), err
}
