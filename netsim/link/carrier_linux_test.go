package link

import (
	"maps"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
)

// TestPacketLoad: packets are many at once, and few again when a whole time had few.
func TestPacketLoad(t *testing.T) {
	var l packetLoad
	for _, step := range []struct {
		at      time.Duration // ms
		packets int
		light   bool
	}{
		{0, 1, true}, {1, lightLoad - 1, true}, {2, 1, false}, {90, 1, false},
		{100, 1, false}, // the time before had many
		{199, 1, false},
		{200, 1, true},
		{250, lightLoad, false},
		{5000, 1, false},
		{5100, lightLoad, true}, {5200, lightLoad, true}, // as many as are allowed
	} {
		if light := l.light(step.packets, timeline.Time(step.at*time.Millisecond)); light != step.light {
			t.Errorf("at %d ms: light is %v", step.at, light)
		}
	}
}

// TestCarriersAreUrgent: the threads of an open link go before ordinary threads, also
// without a rate. Go has room for them beside its other threads.
func TestCarriersAreUrgent(t *testing.T) {
	for _, c := range []Conditions{{}, {Down: Direction{Rate: Mbit, Delay: time.Millisecond},
		Up: Direction{Rate: Mbit}}} {
		before, room := urgentThreads(t), runtime.GOMAXPROCS(0)
		p := openPacket(t, c)
		carriers := urgentThreads(t)
		maps.DeleteFunc(carriers, func(id int, _ bool) bool { return before[id] })
		if len(carriers) != 2 {
			t.Errorf("%+v: %d threads of the line have a priority before the first packet", c, len(carriers))
		}
		if _, err := p.pings(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		// The thread that sent the ping has a priority too, and may not have ended.
		after := urgentThreads(t)
		for id := range carriers {
			if !after[id] {
				t.Errorf("%+v: thread %d of the line has no priority after the first packet", c, id)
			}
		}
		if n := runtime.GOMAXPROCS(0) - room; n != 2 {
			t.Errorf("%+v: %d more threads may run Go code", c, n)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if n := runtime.GOMAXPROCS(0) - room; n != 0 {
			t.Errorf("%+v: afterwards %d more threads may run Go code", c, n)
		}
	}
}

// urgentThreads are the threads of this program that go before ordinary ones. Those of a test
// before may be about to end.
func urgentThreads(t *testing.T) map[int]bool {
	t.Helper()
	urgent := map[int]bool{}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		// an error: it has ended
		if attr, err := unix.SchedGetAttr(id, 0); err == nil &&
			(attr.Policy == unix.SCHED_DEADLINE || attr.Policy == unix.SCHED_FIFO) {
			urgent[id] = true
		}
	}
	return urgent
}
