package daemon

import (
	"cmp"
	"slices"
)

// turns orders a queue so that owners take turns: each owner's first jobs come before anybody's
// second. It is start-time fair queueing with jobs of one size. An owner with many jobs does not
// delay others, and an idle owner saves up no turns.
type turns struct {
	last map[string]uint64 // turn of each owner's latest job
	now  uint64            // of the latest job that has begun
	came uint64            // jobs so far
}

// place is a job's in the queue.
type place struct{ turn, came uint64 }

func (t *turns) next(owner string) place {
	if t.last == nil {
		t.last = map[string]uint64{}
	}
	turn := max(t.last[owner]+1, t.now)
	t.last[owner] = turn
	t.came++
	return place{turn, t.came}
}

// begun tells that a job's turn has come. Owners whose last turn is over are forgotten.
func (t *turns) begun(p place) {
	t.now = max(t.now, p.turn)
	for owner, last := range t.last {
		if last < t.now {
			delete(t.last, owner)
		}
	}
}

// inOrder sorts jobs by their places.
func inOrder(jobs []*job) {
	slices.SortFunc(jobs, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.place.turn, b.place.turn), cmp.Compare(a.place.came, b.place.came))
	})
}

// choose returns the jobs that may begin now. waiting is in order. A job that waits for a busy
// device reserves its other devices, so that its turn comes. A job that waits for people does not,
// since they may take long.
func choose(waiting []*job, world world) (begin []*job) {
	claimed := map[*unit]bool{}
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
		ready, people := true, false
		for _, u := range j.units {
			switch u.readiness(j) {
			case forPeople:
				ready, people = false, true
			case forWork:
				ready = false
			}
			ready = ready && !claimed[u]
		}
		if !people {
			for _, u := range j.units {
				claimed[u] = true
			}
		}
		if ready {
			begin = append(begin, j)
			world.room--
			world.testing = true
		}
	}
	return begin
}

// world is what else is going on.
type world struct {
	testing   bool // a test runs, or a recording is made
	analyzing bool
	room      int // for more tests at once
}
