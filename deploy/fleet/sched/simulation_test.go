package sched

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// cell is one hub with its rigs for a day of virtual time. Jobs live as the design states: attempts
// are lost 2 min after their estimates, retried, and superseded by others. The network repeats
// messages. It is a small model of the hub, so that cells are quick.
type cell struct {
	r      *rand.Rand
	s      *Scheduler
	now    time.Duration // since noon
	events events
	rigs   []*simRig
	byID   map[string]*simRig
	jobs   map[string]*simJob // that have not ended
	n      int                // jobs so far
	over   bool               // the day: nobody asks for more
	sets   int
	used   map[string]float64 // by owners of the flood
	*figures
}

// figures are those of all cells.
type figures struct {
	asked, ended, failed, lost, doubled int
	collided, superseded, repeated      int
	decisions                           int
	spent                               time.Duration // in the scheduler
	waits                               [4][]float64  // seconds, by class
	jain                                []float64     // of each cell's flooded devices
	busy, whole                         float64       // device-seconds
	live                                int           // most jobs at once
}

type simJob struct {
	Job
	asked    time.Duration
	replace  bool
	retries  int
	attempts int
	current  *simAttempt // nil: it waits
	assigned bool
	accepted int // results that counted
	flood    bool
	next     int // further jobs of its set
}

type simAttempt struct {
	job     *simJob
	rig     *simRig
	devices []string
	since   time.Duration // assigned
	begun   time.Duration
	runs    bool
	gone    bool // cancelled, or interrupted by the end of its rig
	ended   bool
	result  string
}

type simRig struct {
	Rig
	away     bool
	dead     bool // its attempts have ended with it
	times    int  // absences, so that old events are recognised
	attempts []*simAttempt
	results  []*simAttempt // not delivered
}

type event struct {
	at time.Duration
	n  int
	do func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = event{}
	*e = (*e)[:len(*e)-1]
	return last
}

func (c *cell) at(at time.Duration, do func()) {
	c.n++
	heap.Push(&c.events, event{max(at, c.now), c.n, do})
}

func (c *cell) clock() time.Time { return noon.Add(c.now) }

func (c *cell) between(low, high time.Duration) time.Duration {
	return low + time.Duration(c.r.Int64N(int64(high-low)))
}

// timed adds the time that the scheduler takes.
func (c *cell) timed(do func()) {
	begin := time.Now()
	do()
	c.spent += time.Since(begin)
}

const day = 24 * time.Hour

// newCell has rigs of one to two devices of 8 models. One in twenty is for the flood.
func newCell(seed uint64, rigs, jobs int, f *figures) *cell {
	c := &cell{r: rand.New(rand.NewPCG(seed, 6)), s: New(Options{}), byID: map[string]*simRig{},
		jobs: map[string]*simJob{}, used: map[string]float64{}, figures: f}
	for n := range rigs {
		r := &simRig{Rig: Rig{ID: fmt.Sprintf("lab-%04d", n), Online: true}}
		for d := range 1 + n%4/3 {
			l := labels("model", fmt.Sprint("m", n%8), "os", fmt.Sprint("os", n/4%2), "pool", "common")
			if n%20 == 7 {
				l = labels("pool", "flood")
			}
			r.Devices = append(r.Devices, Device{Name: fmt.Sprint("d", d), Free: true, Labels: l})
			c.whole += day.Seconds()
		}
		c.rigs, c.byID[r.ID] = append(c.rigs, r), r
		c.s.SetRig(r.Rig)
		if n%20 == c.r.IntN(20) { // 5 % vanish, half of them with their attempts
			at, dead := c.between(0, day), c.r.IntN(2) == 0
			c.at(at, func() { c.vanish(r, dead) })
			c.at(at+c.between(time.Minute, 6*time.Hour), func() { c.comeBack(r) })
		}
	}
	c.at(c.between(0, day), func() { // the cell splits
		half := c.r.IntN(2)
		for n, r := range c.rigs {
			if n%2 == half && !r.away {
				c.vanish(r, false)
				times := r.times
				c.at(c.now+time.Hour, func() {
					if r.times == times {
						c.comeBack(r)
					}
				})
			}
		}
	})
	c.at(c.between(0, day), c.restart)
	for range jobs {
		// People work for eight hours. Schedules begin at night.
		j, at := c.common(), c.between(0, day)
		switch {
		case c.r.IntN(5) == 0:
		case j.Class == "now" || j.Class == "check":
			at /= 3
		case j.Class == "watch":
			at = 12*time.Hour + at/8
		}
		c.at(at, func() { c.ask(j) })
	}
	for owner := range 8 {
		for range max(4, rigs/50) {
			c.at(0, func() { c.ask(c.flood(owner)) })
		}
	}
	c.at(day, func() { c.over = true })
	return c
}

// common returns a job of the usual mix.
func (c *cell) common() *simJob {
	j := &simJob{replace: c.r.IntN(10) > 0}
	var estimate time.Duration
	switch n := c.r.IntN(100); {
	case n < 15:
		j.Class, estimate = "now", c.between(time.Minute, 20*time.Minute)
	case n < 40:
		j.Class, estimate = "check", c.between(10*time.Minute, 2*time.Hour)
	case n < 80:
		j.Class, estimate = "watch", c.between(time.Hour, 6*time.Hour)
	default:
		j.Class, estimate = "fill", c.between(2*time.Hour, 10*time.Hour)
	}
	terms := []string{"pool=common"}
	switch c.r.IntN(4) {
	case 0:
		terms = append(terms, fmt.Sprint("os=os", c.r.IntN(2)))
	case 1:
		terms = append(terms, fmt.Sprintf("model=m%d,m%d", c.r.IntN(8), c.r.IntN(8)))
	default:
		terms = append(terms, fmt.Sprint("model=m", min(c.r.IntN(8), c.r.IntN(8))))
	}
	needs, _ := ParseNeeds(terms)
	j.Job = Job{Owner: fmt.Sprint("o", min(c.r.IntN(20), c.r.IntN(20))), Class: j.Class, Estimate: estimate,
		Needs: needs, Devices: 1}
	if c.r.IntN(50) == 0 && j.Needs[0].Key != "model" {
		j.Devices = 2
	} else if c.r.IntN(50) == 0 {
		c.sets++
		j.Keep, j.next = fmt.Sprint("set-", c.sets), 5
	}
	return j
}

// flood returns a job of an owner who always wants more. Owners have jobs of different lengths.
func (c *cell) flood(owner int) *simJob {
	needs, _ := ParseNeeds([]string{"pool=flood"})
	length := time.Duration(owner+1) * 12 * time.Minute
	return &simJob{flood: true, replace: true, Job: Job{Owner: fmt.Sprint("f", owner), Class: "fill", Needs: needs,
		Devices: 1, Estimate: c.between(length/2, length*3/2)}}
}

func (c *cell) ask(j *simJob) {
	c.asked++
	c.n++
	j.ID, j.asked, j.Queued = "s-"+strconv.Itoa(c.n), c.now, c.clock()
	c.jobs[j.ID] = j
	c.live = max(c.live, len(c.jobs))
	c.queue(j)
}

func (c *cell) queue(j *simJob) {
	if len(j.Not) > 0 && c.s.Check(j.Job) != nil {
		j.Not = nil
	}
	j.current = nil
	c.timed(func() { c.s.Add(j.Job) })
}

func (c *cell) assign() {
	var all []Assignment
	c.timed(func() { all = c.s.Assign(c.clock()) })
	for _, a := range all {
		c.decisions++
		j, r := c.jobs[a.Job], c.byID[a.Rig]
		if j == nil || j.current != nil {
			c.doubled++
			continue
		}
		if !j.assigned && !j.flood {
			class := slices.Index(classes, j.Class)
			c.waits[class] = append(c.waits[class], (c.now - j.asked).Seconds())
		}
		j.assigned, j.attempts = true, j.attempts+1
		t := &simAttempt{job: j, rig: r, devices: a.Devices, since: c.now}
		j.current = t
		r.attempts = append(r.attempts, t)
		c.at(c.now+c.between(0, time.Second), func() { c.begin(t) })
	}
}

// begin is the rig's: an attempt that it has got by a poll.
func (c *cell) begin(t *simAttempt) {
	if t.rig.away || t.gone || t.runs {
		return // a rig that comes back asks again
	}
	for _, o := range t.rig.attempts {
		if o.runs && slices.ContainsFunc(o.devices, func(d string) bool { return slices.Contains(t.devices, d) }) {
			c.collided++
		}
	}
	t.runs, t.begun = true, c.now
	length := time.Duration(float64(t.job.Estimate) * (0.7 + 0.6*c.r.Float64()))
	t.result = "ok"
	switch c.r.IntN(100) {
	case 0:
		t.result, length = "lab", length/3
	case 1, 2:
		t.result, length = "product", length/2
	}
	c.at(c.now+length, func() {
		if !t.gone {
			c.end(t)
		}
	})
}

// end is the rig's: it has a result, and reports it until the hub has it.
func (c *cell) end(t *simAttempt) {
	t.runs, t.ended = false, true
	t.rig.results = append(t.rig.results, t)
	used := (c.now - t.begun).Seconds() * float64(len(t.devices))
	if c.busy += used; t.job.flood && !c.over {
		c.used[t.job.Owner] += used
	}
	if !t.rig.away {
		c.report(t.rig)
	}
}

func (c *cell) report(r *simRig) {
	for _, t := range r.results {
		c.deliver(t)
		if c.r.IntN(100) == 0 { // the acknowledgement got lost
			c.repeated++
			c.deliver(t)
		}
	}
	r.results = nil
	c.assign()
}

// cancel ends an attempt on its rig. A rig that is away learns it when it comes back.
func (c *cell) cancel(t *simAttempt) {
	if !t.rig.away {
		t.gone, t.runs = true, false
		t.rig.drop(t)
	}
}

func (r *simRig) drop(t *simAttempt) {
	r.attempts = slices.DeleteFunc(r.attempts, func(o *simAttempt) bool { return o == t })
}

// deliver is the hub's: the life cycle of the design's §5.
func (c *cell) deliver(t *simAttempt) {
	j := t.job
	t.rig.drop(t)
	if c.jobs[j.ID] == nil {
		if j.accepted == 0 {
			c.lost++
		}
		c.superseded++
		return
	}
	current := j.current == t
	switch {
	case t.result == "ok":
		j.accepted++
	case !current:
		c.superseded++
		return
	case t.result == "product":
		c.failed++
		j.accepted++
	case j.retries < 2:
		j.retries++
		c.timed(func() { c.s.Ended(j.ID, c.now-t.since) })
		if j.replace && j.Keep == "" {
			j.Not = append(slices.Clone(j.Not), t.rig.ID)
		}
		c.queue(j)
		return
	default:
		c.failed++
		j.accepted++
	}
	switch {
	case j.current == nil:
		c.s.Remove(j.ID)
	case current:
		c.timed(func() { c.s.Ended(j.ID, c.now-t.since) })
	default: // a late result wins, and the other attempt is cancelled
		c.superseded++
		c.s.Ended(j.ID, c.now-j.current.since)
		c.cancel(j.current)
	}
	delete(c.jobs, j.ID)
	if c.ended++; j.accepted != 1 {
		c.doubled++
	}
	switch owner := 0; {
	case j.next > 0: // the set's next job
		next := &simJob{Job: j.Job, next: j.next - 1}
		c.at(c.now+c.between(0, 5*time.Minute), func() { c.ask(next); c.assign() })
	case j.flood && !c.over:
		fmt.Sscanf(j.Owner, "f%d", &owner)
		c.ask(c.flood(owner))
	}
}

// vanish makes a rig silent. The hub notices it after 30 s.
func (c *cell) vanish(r *simRig, dead bool) {
	if r.away {
		return
	}
	r.away, r.dead = true, dead
	r.times++
	times := r.times
	if dead {
		for _, t := range r.attempts {
			if t.runs {
				t.gone, t.runs, t.result = true, false, "lab"
				r.results = append(r.results, t)
			}
		}
	}
	c.at(c.now+30*time.Second, func() {
		if r.times != times || !r.away {
			return
		}
		r.Online = false
		c.timed(func() { c.s.SetRig(r.Rig) })
		for _, t := range r.attempts {
			c.at(t.since+t.job.Estimate+2*time.Minute, func() { c.lose(t, times) })
		}
	})
}

// lose returns the job of a lost attempt to the queue.
func (c *cell) lose(t *simAttempt, times int) {
	j := t.job
	if !t.rig.away || t.rig.times != times || c.jobs[j.ID] != j || j.current != t || !j.replace || j.Keep != "" ||
		j.retries == 2 {
		return
	}
	j.retries++
	c.timed(func() { c.s.Ended(j.ID, c.now-t.since) })
	j.Not = append(slices.Clone(j.Not), t.rig.ID)
	c.queue(j)
	c.assign()
}

// comeBack lets a rig poll again. It reports, stops unwanted attempts and begins the others.
func (c *cell) comeBack(r *simRig) {
	if !r.away {
		return
	}
	r.away, r.Online = false, true
	r.times++
	c.report(r)
	for _, t := range slices.Clone(r.attempts) {
		if c.jobs[t.job.ID] != t.job || t.job.current != t {
			c.cancel(t)
		} else {
			c.begin(t)
		}
	}
	c.timed(func() { c.s.SetRig(r.Rig) })
	c.assign()
}

// restart kills the hub. The next one has only the stored jobs and rigs.
func (c *cell) restart() {
	c.s = New(Options{})
	for _, r := range c.rigs {
		c.s.SetRig(r.Rig)
	}
	ids := make([]string, 0, len(c.jobs))
	for id := range c.jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if j := c.jobs[id]; j.current != nil {
			c.s.Resume(j.Job, Assignment{id, j.current.rig.ID, j.current.devices})
		} else {
			c.s.Add(j.Job)
		}
	}
	c.assign()
}

// run lets the day pass, and then the time that the last jobs take.
func (c *cell) run() {
	c.assign()
	for len(c.events) > 0 {
		e := heap.Pop(&c.events).(event)
		c.now = e.at
		e.do()
		c.assign()
	}
	c.jain = append(c.jain, jain(c.used))
	c.lost += len(c.jobs)
	for _, e := range c.s.jobs {
		if c.jobs[e.id] == nil {
			c.doubled++ // it would run again
		}
	}
}

// print logs the figures so far.
func (f *figures) print(t *testing.T, cells int, took time.Duration) {
	t.Logf("%d cells, %v: %d jobs, %d ended (%d failed), %d lost, %d doubled, %d overlaps", cells,
		took.Round(time.Second), f.asked, f.ended, f.failed, f.lost, f.doubled, f.collided)
	t.Logf("%d attempts superseded, %d results repeated, devices busy %.0f %%, at most %d live jobs in a cell",
		f.superseded, f.repeated, 100*f.busy/f.whole, f.live)
	t.Logf("%d decisions, %.0f a second", f.decisions, float64(f.decisions)/f.spent.Seconds())
	for class, w := range f.waits {
		slices.Sort(w)
		t.Logf("%-5s %8d jobs wait p50 %7.0f s, p99 %7.0f s, at most %7.0f s", classes[class], len(w),
			w[len(w)/2], w[len(w)*99/100], w[len(w)-1])
	}
	slices.Sort(f.jain)
	t.Logf("owners of the flooded devices: Jain index %.4f at least, %.4f in the middle", f.jain[0],
		f.jain[len(f.jain)/2])
}

// TestSimulation lets cells of rigs work for a day. 5 % of the rigs vanish, each cell splits for an
// hour, and its hub is killed once. With EIDETICKER_SOAK these are 1000 cells of 1000 rigs.
// It fails if a job is lost or reported twice when rigs vanish, or when the hub is killed.
func TestSimulation(t *testing.T) {
	cells, rigs := 3, 100
	if os.Getenv("EIDETICKER_SOAK") != "" {
		cells, rigs = 1000, 1000
	}
	f, begin := &figures{}, time.Now()
	for n := 1; n <= cells; n++ {
		if newCell(uint64(n), rigs, rigs*7, f).run(); n%50 == 0 || n == cells {
			f.print(t, n, time.Since(begin))
		}
	}
	if f.jain[0] < 0.95 {
		t.Errorf("the Jain index is %.3f, want 0.95", f.jain[0])
	}
	if f.lost+f.doubled+f.collided > 0 || f.asked != f.ended || f.repeated == 0 || f.superseded == 0 {
		t.Error("each job must end once, though some attempts are superseded")
	}
}
