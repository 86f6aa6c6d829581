package daemon

import (
	"cmp"
	"slices"

	"github.com/eideticker/eideticker/deploy/api"
)

// turns orders a queue. Classes share the rig by weighted start-time fair queueing with jobs of one
// size. In a class owners take turns: each owner's first jobs come before anybody's second. An
// owner or a class with many jobs does not delay others, and an idle one saves up no turns.
type turns struct {
	classes map[string]*class
	now     uint64 // start of the latest job that has begun
	came    uint64 // jobs so far
}

// class is the account of the jobs of one class.
type class struct {
	last map[string]uint64 // turn of each owner's latest job
	now  uint64            // turn of the latest job that has begun
	next uint64            // start of its next job
}

// span returns the share of a job in the time of a class: least where the weight is greatest. 0 is
// that of an unknown class. The weights are 8, 4, 2 and 1.
func span(class string) uint64 {
	return map[string]uint64{api.ClassNow: 1, api.ClassCheck: 2, api.ClassWatch: 4, api.ClassFill: 8}[class]
}

// place is a job's in the queue.
type place struct {
	class             string
	start, turn, came uint64
}

func (t *turns) class(name string) *class {
	if t.classes == nil {
		t.classes = map[string]*class{}
	}
	if t.classes[name] == nil {
		t.classes[name] = &class{last: map[string]uint64{}}
	}
	return t.classes[name]
}

func (t *turns) next(owner, class string) place {
	class = cmp.Or(class, api.ClassNow)
	c := t.class(class)
	turn := max(c.last[owner]+1, c.now)
	c.last[owner] = turn
	t.came++
	return place{class: class, turn: turn, came: t.came}
}

// begun tells that a job's turn has come. Owners whose last turn is over are forgotten.
func (t *turns) begun(p place) {
	t.now = max(t.now, p.start)
	c := t.class(p.class)
	c.next = max(c.next, t.now) + span(p.class)
	c.now = max(c.now, p.turn)
	for owner, last := range c.last {
		if last < c.now {
			delete(c.last, owner)
		}
	}
}

// order sorts jobs by their places. It sets the starts of those that wait in each class.
func (t *turns) order(jobs []*job) {
	slices.SortFunc(jobs, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.place.turn, b.place.turn), cmp.Compare(a.place.came, b.place.came))
	})
	next := map[string]uint64{}
	for _, j := range jobs {
		p := &j.place
		p.start = max(next[p.class], t.class(p.class).next, t.now)
		next[p.class] = p.start + span(p.class)
	}
	slices.SortStableFunc(jobs, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.place.start, b.place.start),
			cmp.Compare(span(a.place.class), span(b.place.class)))
	})
}

// choose returns the jobs that may begin or go on now. waiting is in order. A job that waits for a
// busy device reserves its other devices, so that its turn comes. A job that waits for people does
// not, since they may take long. A set that yields uses reserved devices: it yields again soon. It
// leaves those of a job that waits only for sets that yield to it. Else their blocks would never
// end at one time.
func choose(waiting []*job, world world) (begin []*job, left map[*unit]bool) {
	claimed, taken, left := map[*unit]bool{}, map[*unit]bool{}, map[*unit]bool{}
	for _, j := range waiting {
		if j.Kind == kindAnalyze {
			if !world.testing && !world.analyzing {
				world.analyzing = true
				begin = append(begin, j)
			}
			continue
		}
		if world.room <= 0 || world.analyzing {
			continue
		}
		ready, people, soon := true, false, true
		for _, u := range j.units {
			switch u.readiness(j) {
			case forPeople:
				ready, people = false, true
			case forWork:
				ready = false
				soon = soon && u.job != nil && u.job.yieldsTo(j)
			}
			ready = ready && !taken[u] && (!claimed[u] || j.yields != nil && !left[u])
			soon = soon && !claimed[u]
		}
		if !people {
			for _, u := range j.units {
				claimed[u], left[u] = true, left[u] || soon
			}
		}
		if ready {
			for _, u := range j.units {
				taken[u] = true
			}
			begin = append(begin, j)
			world.room--
			world.testing = true
		}
	}
	return begin, left
}

// world is what else is going on.
type world struct {
	testing   bool // a test runs, or a recording is made
	analyzing bool
	room      int // for more tests at once
}
