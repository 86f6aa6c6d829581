//go:build linux && rigvm && benchrig

package v4l2

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
)

// The capture thread's cost per frame is its processor time, user and system. It is compared with
// other programs on the same device, and with one plain copy of the frame. Each is measured once a
// round, so other load falls on all of them.
//
// The defaults try the measurement with few frames. `make bench-rig` measures, see TestBenchRig.

// costPlan states the measurements and the programs that they are compared with.
type costPlan struct {
	frames int    // of each, each round
	rounds int    // the quickest, the median and the slowest are shown
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
	does    string // the work done per frame
	measure func(frames int) (perFrame time.Duration, err error)
	rounds  []time.Duration // processor time per frame
	ours    bool
	allocs  uint64 // of ours: most in a round
	pins    int    // the same
}

func TestCost(t *testing.T) {
	plan := costPlanned(t)
	choose(t, hdmi, "1920x1080p60")
	t.Cleanup(func() { set(t, hdmi, signalMode, modeCurrent) })
	for _, fourcc := range []string{"BGR4", "YUYV"} {
		t.Run(fourcc, func(t *testing.T) {
			size := costSize(t, fourcc)
			ways := []*way{{name: "one plain copy", does: "copied",
				measure: func(n int) (time.Duration, error) { return plainCopies(size, n) }}}
			for _, c := range []capturing{
				{memory: "mmap"}, {memory: "dmabuf"}, {memory: "userptr"},
				{memory: "userptr", kept: costKept}, {memory: "userptr", kept: costKept, small: true},
			} {
				c.fourcc = fourcc
				ways = append(ways, ours(t, c))
			}
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

// costSize opens the device and returns the bytes of a frame. Opening also sets the device to the
// signal for the other programs.
func costSize(t *testing.T, fourcc string) int {
	t.Helper()
	s, err := Open(t.Context(), hdmi, url.Values{"format": {fourcc}})
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

// costSlots are the ring's, beside those that its reader keeps; as many frames and some more pass
// before anything counts.
const (
	costSlots  = 10
	costWarmUp = costSlots + 10
)

// costKept is more than a queue has numbers. A driver pins our memory when it gets it under a
// number under which it has not had it before. A reader that keeps up leaves few slots in use, and
// each is pinned once; one that lags as far as this has every frame go to memory that must be
// pinned anew.
const costKept = maxBuffers + 2

// costPatience is far more than so many frames take on a machine that does other things.
func costPatience(frames int) time.Duration { return patience + time.Duration(frames)*time.Second/2 }

// capturing is how this package is measured.
type capturing struct {
	fourcc, memory string
	kept           int  // newest frames that the ring's reader keeps
	small          bool // the ring has no huge pages: there is more to pin
}

// ours is a way of this package. What it costs is the time of the thread that runs the source.
func ours(t *testing.T, how capturing) *way {
	w := &way{name: "eideticker " + how.memory, does: "copied into the ring", ours: true}
	if how.memory == "userptr" {
		w.does = "written into the ring by the driver"
	}
	if how.kept > 0 {
		w.name += ", pinned anew"
	}
	if how.small {
		w.name += ", small pages"
	}
	w.measure = func(frames int) (time.Duration, error) {
		c, err := how.run(frames)
		if err == nil {
			w.note(t, how, c, frames)
		}
		return c.perFrame, err
	}
	return w
}

// note looks at what a round has shown beside its time, and whether it was what its name says.
func (w *way) note(t *testing.T, how capturing, c captured, frames int) {
	t.Helper()
	if c.lost > 0 {
		t.Logf("%s: the ring had no slot for %d frames, whose cost is in that of the others", w.name, c.lost)
	}
	// The runtime has a few of its own, now and then.
	if w.allocs = max(w.allocs, c.allocs); c.allocs >= uint64(frames) {
		t.Errorf("%s: %d allocations for %d frames", w.name, c.allocs, frames)
	}
	w.pins = max(w.pins, c.pins)
	// the count is read a little after a frame, and one that is lost pins nothing
	if how.kept > 0 && c.pins < frames/2 {
		t.Errorf("%s: memory was pinned %d times for %d frames", w.name, c.pins, frames)
	}
	if how.small && c.huge != 0 {
		t.Errorf("%s: %d bytes of the ring are in huge pages", w.name, c.huge)
	}
}

// pinCount counts how often a driver is given memory under a number that had other memory, or none,
// before. Another goroutine reads the count between frames.
type pinCount struct {
	node
	had  [maxBuffers]uintptr
	pins atomic.Int64
}

func (c *pinCount) ioctl(request uintptr, arg unsafe.Pointer) error {
	if request == vidiocQbuf {
		b := (*buffer)(arg)
		if b.memory == memoryUserPtr && c.had[b.index] != b.m {
			c.had[b.index] = b.m
			c.pins.Add(1)
		}
	}
	return c.node.ioctl(request, arg)
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
	pins     int    // how often memory was pinned
	huge     int    // bytes of the ring in huge pages
}

// run measures the capture thread from the last frame of the warm-up on.
func (how capturing) run(frames int) (c captured, err error) {
	if how.small {
		restore, err := withoutHugePages()
		if err != nil {
			return c, err
		}
		defer func() { err = errors.Join(err, restore()) }()
	}
	count := &pinCount{}
	s, err := openWith(context.Background(), hdmi, url.Values{"format": {how.fourcc}, "memory": {how.memory}},
		func(path string) (n node, err error) {
			count.node, err = openNode(path)
			return count, err
		}, findAgain)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	size := s.Info().Format.Size()
	// as the recorder does
	m, err := ringbuf.Map(ringbuf.BytesFor(how.kept+costSlots, size), ringbuf.MapOptions{Lock: true, Prefault: true})
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
	meter := meter{reader: ring.NewReader(ringbuf.Lossless), kept: make([]*ringbuf.Lease[frame.Meta], how.kept),
		pins: &count.pins}
	thread, ended := make(chan int), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // it ends with the goroutine
		thread <- unix.Gettid()
		err := s.Run(ctx, ring, func(timeline.Event) {})
		ring.Close(err)
		ended <- err
	}()
	c, err = meter.count(ctx, <-thread, frames)
	cancel()
	err = errors.Join(err, <-ended)
	meter.release()
	if err == nil {
		c.huge, err = m.HugeBytes()
	}
	return c, err
}

// meter reads a ring, and a thread's clock between its frames.
type meter struct {
	reader *ringbuf.Reader[frame.Meta]
	kept   []*ringbuf.Lease[frame.Meta] // the newest, in a circle
	pins   *atomic.Int64
}

func (m *meter) count(ctx context.Context, thread, frames int) (c captured, err error) {
	var before, after runtime.MemStats
	var start, end time.Duration
	var pins int64
	first := len(m.kept) + costWarmUp
	for n := range first + frames {
		lease, err := m.reader.Next(ctx)
		if err != nil {
			return c, fmt.Errorf("frame %d of %d: %w", n, first+frames, err)
		}
		if n >= first {
			c.lost += lease.LostBefore()
		}
		m.keep(n, lease)
		switch n {
		case first - 1:
			runtime.ReadMemStats(&before)
			pins = m.pins.Load()
			start, err = threadTime(thread)
		case first + frames - 1:
			end, err = threadTime(thread)
			pins = m.pins.Load() - pins
			runtime.ReadMemStats(&after)
		}
		if err != nil {
			return c, err
		}
	}
	c.perFrame, c.pins, c.allocs = (end-start)/time.Duration(frames), int(pins), after.Mallocs-before.Mallocs
	return c, nil
}

// keep keeps a lease in the place of the oldest that is kept, if any are.
func (m *meter) keep(n int, lease *ringbuf.Lease[frame.Meta]) {
	if len(m.kept) == 0 {
		lease.Release()
		return
	}
	at := n % len(m.kept)
	if m.kept[at] != nil {
		m.kept[at].Release()
	}
	m.kept[at] = lease
}

// release gives back the kept frames, so that the ring's memory may go.
func (m *meter) release() {
	for i, lease := range m.kept {
		if lease != nil {
			lease.Release()
			m.kept[i] = nil
		}
	}
}

// threadTime returns the processor time, user and system, that a thread of this process has had:
// what getrusage(2) says of RUSAGE_THREAD, of another thread than the one that asks. For the
// numbers of such clocks see CPUCLOCK_PERTHREAD_MASK and CPUCLOCK_SCHED of linux/posix-timers.h.
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

// plainCopies measures the minimum of any way that copies a frame. It copies from the buffers of
// the driver into the slots of the ring, and uses as many of both.
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
