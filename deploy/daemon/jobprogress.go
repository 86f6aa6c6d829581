package daemon

import (
	"fmt"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/deploy/api"
)

// phaseEvery is the least time between two events about one phase.
const phaseEvery = 250 * time.Millisecond

// jobProgress publishes the phases of a job.
type jobProgress struct {
	daemon *Daemon
	job    *job

	mu    sync.Mutex
	phase api.Phase
	began time.Time
	said  time.Time
	count int // phases so far
}

var _ runfolder.Progress = (*jobProgress)(nil)

// Phase begins a phase.
func (t *jobProgress) Phase(what string, frames int) (advance func(int), end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.daemon.now()
	t.count++
	number := t.count
	t.phase, t.began, t.said = api.Phase{Name: what, Run: t.job.ofRuns(), Total: max(frames, 0)}, now, now
	t.daemon.phase(t.job, t.phase)
	t.daemon.options.at("phase: " + what)
	return func(more int) { t.advance(number, more, false) }, func() { t.advance(number, 0, true) }
}

// advance counts on. What belongs to a phase that is over is left out, and so is what follows too
// soon.
func (t *jobProgress) advance(number, more int, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if number != t.count {
		return
	}
	now := t.daemon.now()
	p := &t.phase
	p.Done += more
	if p.Total > 0 {
		p.Done = min(p.Done, p.Total)
	}
	since := now.Sub(t.began)
	p.SinceNS = int64(since)
	p.EstimateNS = 0
	if p.Done > 0 && p.Total > 0 {
		p.EstimateNS = int64(float64(since) * float64(p.Total-p.Done) / float64(p.Done))
	}
	if now.Sub(t.said) < phaseEvery && !last || last && p.Total == 0 {
		return
	}
	t.said = now
	t.daemon.phase(t.job, *p)
}

// phase notes and tells what a job is at.
func (d *Daemon) phase(j *job, p api.Phase) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j.Phase = &p
	d.events.add(api.Event{Kind: "phase", JobID: j.ID, Phase: &p})
}

// ofRuns says which of several runs a job is at. The job's own goroutine asks.
func (j *job) ofRuns() string {
	if j.Total < 2 {
		return ""
	}
	return fmt.Sprintf("%d of %d", min(j.Done+1, j.Total), j.Total)
}
