package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

var errKilled = errors.New("the hub was killed")

// mortal is a storage whose hub is killed at one of its writes: before or after it takes effect.
type mortal struct {
	bus.Hub
	left  int // writes; negative: it lives
	after bool
	dead  bool
}

func (m *mortal) Bucket(name string) bus.Bucket { return mortalBucket{m.Hub.Bucket(name), m} }

type mortalBucket struct {
	bus.Bucket
	m *mortal
}

func (b mortalBucket) Get(ctx context.Context, key string) (bus.Entry, error) {
	if b.m.dead {
		return bus.Entry{}, errKilled
	}
	return b.Bucket.Get(ctx, key)
}

func (b mortalBucket) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if b.m.left--; b.m.left == 0 || b.m.dead {
		if !b.m.dead && b.m.after {
			_, _ = b.Bucket.Put(ctx, key, value, revision) // nobody gets its answer
		}
		b.m.dead = true
		return 0, errKilled
	}
	return b.Bucket.Put(ctx, key, value, revision)
}

func (b mortalBucket) PutAll(ctx context.Context, entries []bus.Entry) (all []bus.Stored) {
	for _, e := range entries {
		revision, err := b.Put(ctx, e.Key, e.Value, e.Revision)
		all = append(all, bus.Stored{Revision: revision, Err: err})
	}
	return all
}

// campaign is a random life of a fleet. Its own check is outside of the hub: acknowledged jobs end
// once, and each rig's devices have one attempt at a time.
type campaign struct {
	*world
	r      *rand.Rand
	m      *mortal
	late   []func()
	asked  map[string]bool // acknowledged jobs
	finals map[string]string
	seen   uint64 // revision
}

func (c *campaign) chance(percent int) bool { return c.r.IntN(100) < percent }

// live replaces a dead hub.
func (c *campaign) live() {
	if c.m.dead {
		c.boot()
	}
}

func (c *campaign) boot() {
	c.m = &mortal{Hub: c.memory.Hub(), left: -1}
	c.o.Bus = c.m
	c.restart()
	if c.chance(60) {
		c.m.left, c.m.after = 1+c.r.IntN(30), c.chance(50)
	}
}

// message is a poll that may be lost, repeated or late, at the hub or on its way back.
func (c *campaign) message(r *simRig) {
	raw := r.report()
	h := c.hub
	deliver := func() []byte {
		answer := h.handle(context.Background(), r.name, "poll", raw)
		if c.m.dead {
			return nil
		}
		return answer
	}
	switch n := c.r.IntN(100); {
	case n < 10: // lost
	case n < 20: // its answer is
		deliver()
	case n < 30: // late: after others of this rig
		c.late = append(c.late, func() { c.hub.handle(context.Background(), r.name, "poll", raw) })
	case n < 40:
		deliver()
		fallthrough
	default:
		if answer := deliver(); answer != nil {
			r.follow(answer)
		}
	}
}

// work ends some of a rig's attempts.
func (c *campaign) work(r *simRig) {
	for _, id := range slices.Sorted(maps.Keys(r.has)) {
		if r.has[id].ended != nil || !c.chance(30) {
			continue
		}
		e := wire.Ended{State: "ok"}
		switch n := c.r.IntN(100); {
		case n < 5:
			e = wire.Ended{State: "failed", Fault: "lab"}
		case n < 10:
			e = wire.Ended{State: "failed", Fault: "product"}
		case n < 13:
			e = wire.Ended{State: "interrupted"}
		case n < 15:
			e = wire.Ended{State: "refused"}
		}
		r.end(id, e)
	}
}

// observe fails if a job that has ended is not as it was then.
func (c *campaign) observe() {
	all, err := c.memory.Hub().Bucket(bus.Jobs).All(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for _, e := range all {
		if e.Revision <= c.seen { // they are by revision
			continue
		}
		c.seen = e.Revision
		j, err := decodeRecord(e.Value)
		if err != nil {
			c.Fatal(err)
		}
		if j.ended() {
			now := fmt.Sprint(j.State, j.Winner, j.EndedNS)
			if was := c.finals[j.Job]; was != "" && was != now {
				c.Fatalf("%s was %s and is %s", j.Job, was, now)
			}
			c.finals[j.Job] = now
		}
	}
}

// run lives through the campaign.
func (c *campaign) run() {
	names := []string{"a", "b", "c"}
	gone := map[string]time.Time{}
	for n := range 60 {
		c.now = c.now.Add(time.Duration(c.r.IntN(20)) * time.Second)
		if id := fmt.Sprintf("s-%d", n); n < 40 && c.chance(60) {
			p := api.JobParams{Job: id, Replace: c.chance(60), StartParams: api.StartParams{Test: "scroll", Repeat: 1 +
				c.r.IntN(3), Class: classes[c.r.IntN(4)]}}
			if c.chance(20) {
				p.Devices = []string{names[c.r.IntN(3)] + "/phone"}
			}
			for range 3 { // a client repeats an unanswered call
				if _, err := c.hub.Submit(c.Context(), "ann", p); err == nil {
					c.asked[id] = true
					break
				}
				c.live()
			}
		}
		if c.chance(5) && len(c.asked) > 0 {
			id := slices.Sorted(maps.Keys(c.asked))[c.r.IntN(len(c.asked))]
			_, _ = c.hub.Cancel(c.Context(), id, "test", func(string) bool { return true }) // it may have ended
		}
		for _, name := range names {
			r := c.rigs[name]
			switch {
			case c.now.Before(gone[name]):
				continue
			case c.chance(4): // it vanishes; some of them lose power, but not their disk
				gone[name] = c.now.Add(time.Duration(c.r.IntN(600)) * time.Second)
				for id, a := range r.has {
					if a.ended == nil && c.chance(50) {
						r.end(id, wire.Ended{State: "interrupted"})
					}
				}
				continue
			}
			c.work(r)
			c.message(r)
			c.live()
		}
		for len(c.late) > 0 && c.chance(40) {
			i := c.r.IntN(len(c.late))
			c.late[i]()
			c.late = slices.Delete(c.late, i, i+1)
			c.live()
		}
		c.hub.tick(c.Context())
		c.live()
		c.observe()
	}
	c.settle(names)
}

// settle lets everything come to its end without faults.
func (c *campaign) settle(names []string) {
	c.m.left = -1
	for range 400 {
		c.pass(10*time.Second, names...)
		for _, name := range names {
			for id, a := range c.rigs[name].has {
				if a.ended == nil {
					c.rigs[name].end(id, wire.Ended{State: "ok"})
				}
			}
		}
		if jobs, err := c.hub.Jobs(api.FleetJobsParams{State: "live"}); err == nil && jobs.Total == 0 {
			break
		}
	}
	c.pass(20*time.Second, names...)
	c.observe()
	for id := range c.asked {
		j := c.job(id)
		if c.finals[id] == "" {
			c.Errorf("acknowledged job %s has not ended: %+v", id, j)
		}
		wins := 0
		for _, a := range j.Attempts {
			if a.State == succeeded && !a.Superseded {
				wins++
			}
		}
		if want := map[bool]int{true: 1}[j.State == succeeded]; wins != want {
			c.Errorf("%s is %s with %d winners: %+v", id, j.State, wins, j.Attempts)
		}
	}
	for _, name := range names {
		if n := len(c.rigs[name].has); n > 0 {
			c.Errorf("%s has %d attempts that are not acknowledged", name, n)
		}
	}
	log, err := c.memory.Hub().Log().Read(c.Context(), bus.Log, 0, 1000)
	logged := map[string]int{}
	for _, e := range log {
		logged[e.Key]++
	}
	for id := range c.finals {
		if logged[id+".end"] != 1 {
			c.Errorf("the end of %s was logged %d times, %v", id, logged[id+".end"], err)
		}
	}
}

// TestCampaigns: no acknowledged job is lost or reported twice. Hubs are killed at any write, and
// rigs vanish. Messages are lost, late or repeated. EIDETICKER_SOAK is the number of campaigns, at
// least 2,000.
//
// Fault: The hub of a fleet is killed at a write, rigs vanish and messages are lost
func TestCampaigns(t *testing.T) {
	t.Parallel()
	count := 200
	if soak := os.Getenv("EIDETICKER_SOAK"); soak != "" {
		n, _ := strconv.Atoi(soak) // 0: not a number
		count = max(10*count, n)
	}
	first := uint64(0)
	if n, err := strconv.ParseUint(os.Getenv("EIDETICKER_SEED"), 10, 64); err == nil {
		first, count = n, 1
	}
	ended := 0
	for seed := first; seed < first+uint64(count); seed++ {
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, "a", "b", "c")
			c := &campaign{world: w, r: rand.New(rand.NewPCG(seed, 7)), asked: map[string]bool{},
				finals: map[string]string{}}
			c.boot()
			c.run()
			ended += len(c.finals)
		}) {
			break
		}
	}
	if ended < 10*count && !t.Failed() {
		t.Errorf("only %d jobs ended in %d campaigns", ended, count)
	}
}
