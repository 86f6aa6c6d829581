package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/sched"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// Authority makes and ends the rights of rigs.
type Authority interface {
	// Invite returns the secret of an invitation.
	Invite(rig string, now time.Time) (token string, expires time.Time, err error)
	// Join uses an invitation for a public key.
	Join(token, key string, now time.Time) (rig, jwt string, err error)
	// Renew returns new rights if they are due.
	Renew(rig, key string, now time.Time) (jwt string, due bool, err error)
	Revoke(rig string) error
}

// Options are those of a hub.
type Options struct {
	Dir       string // data directory; the hub's files are in its folder fleet
	Bus       bus.Hub
	Authority Authority
	URL       string // of the hub for rigs, without a slash at its end
	Websocket string // address of the bus for rigs on this machine; "": none
	Reserve   []sched.Reservation
	Teams     []sched.Team
	LostAfter time.Duration // 0: 2 min
	Quota     int64         // bytes of the storage; new jobs need twice as many free
	MaxLight  int64         // bytes of light folders; 0: 20 GiB
	MaxPieces int64         // bytes of pieces of files of rigs; 0: 50 GiB
	Shared    bool          // other hubs may use the same storage
	Copy      string        // folder that gets a copy each minute; "": none
	// Site reports if a feed has builds of a web site. Nil: none has.
	Site func(feed string) bool
	// Built reports if rigs make the builds of a feed, by a command of their own. It may be nil.
	Built func(feed string) bool
	// Free returns the free bytes of the disk. Nil: of Dir.
	Free func() (int64, error)
	// Needed returns the sets RIG/JOB.N that points and alerts need. Their light folders are deleted
	// last. Nil: none.
	Needed func() (map[string]bool, error)
	// Changed is called after changes of a rig or a job, at most once a second for each. May be nil.
	Changed func(rig, job string)
	Now     func() time.Time // nil: the system's
	Log     *slog.Logger     // nil: none

	copyStep func() error // before each write of a copy, for tests
}

// Hub is the queue of a fleet. Its methods may be called from any goroutine.
type Hub struct {
	o      Options
	bucket bus.Bucket // of jobs
	light  *lightStore
	making sync.Mutex // while room is made for a job
	pieces *pieces
	relays relays

	turn      chan struct{} // of a round
	waitingMu sync.Mutex
	waiting   []*operation

	mu       sync.Mutex
	op       *operation // that runs
	changes  []change   // to be stored
	changing map[string]bool
	saves    []*rig
	began    time.Time // of the hub, or of its leadership
	epoch    uint64
	leads    bool
	leader   leaderView
	sched    *sched.Scheduler
	jobs     map[string]*job
	rigs     map[string]*rig
	owned    map[string]int  // live jobs by owner
	over     []*job          // ended, oldest first
	unlogged map[string]*job // ended, not in the log yet
	refs     map[string]int  // jobs by the blobs that they need
	unused   []string        // blobs
	took     map[string]time.Duration
	tickets  map[string]*ticket
	news     map[[2]string]bool // rig or job
	figures  figures
	copies   copies
	leaving  map[string]string // keys of rigs that leave
	builds   map[wire.Build]*shared
	building map[string]*job // that have not ended, with builds of rigs
	newer    seenEpoch       // of a hub that was adopted later
	odd      seenEpoch       // of no hub
}

// Bounds of ended jobs.
const (
	maxEnded = 10_000
	maxNews  = 200 // changes that are passed on one by one
	perTick  = 200 // ended jobs that are logged or removed in a second
)

// seenEpoch is an epoch that a rig has reported.
type seenEpoch struct {
	rig   string
	epoch uint64
}

// maxAhead bounds the epoch of an adopted hub, which is its time in seconds. Clocks differ.
const maxAhead = 24 * 60 * 60

// New returns a hub with the jobs and rigs of the storage. With [Options.Shared] it has them when
// it leads.
func New(ctx context.Context, o Options) (*Hub, error) {
	o.LostAfter, o.MaxLight = cmp.Or(o.LostAfter, 2*time.Minute), cmp.Or(o.MaxLight, 20<<30)
	if o.Site == nil {
		o.Site = func(string) bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Free == nil {
		o.Free = func() (int64, error) { return staging.FreeBytes(o.Dir) }
	}
	h := &Hub{o: o, bucket: o.Bus.Bucket(bus.Jobs), took: map[string]time.Duration{},
		turn: make(chan struct{}, 1)}
	var err error
	if h.light, err = openLight(filepath.Join(o.Dir, "fleet", "light"), o.MaxLight); err != nil {
		return nil, err
	}
	if h.pieces, err = openPieces(filepath.Join(o.Dir, "fleet", "pieces"), cmp.Or(o.MaxPieces, 50<<30)); err != nil {
		return nil, err
	}
	h.relays.init()
	h.clear()
	if o.Shared {
		return h, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h, h.load(ctx)
}

// clear forgets all jobs and rigs.
func (h *Hub) clear() {
	h.sched = sched.New(sched.Options{Reserve: h.o.Reserve, Teams: h.o.Teams})
	h.jobs, h.rigs, h.owned, h.over = map[string]*job{}, map[string]*rig{}, map[string]int{}, nil
	h.unlogged, h.refs, h.unused = map[string]*job{}, map[string]int{}, nil
	h.tickets, h.news = map[string]*ticket{}, map[[2]string]bool{}
	h.changing = map[string]bool{}
	h.leaving, h.leads = map[string]string{}, false
	h.builds, h.building = map[wire.Build]*shared{}, map[string]*job{}
}

// load reads everything. Rigs have a lease from now on before they are away.
func (h *Hub) load(ctx context.Context) error {
	h.clear()
	h.began = h.o.Now()
	var err error
	if h.epoch, err = epoch(ctx, h.o.Bus); err != nil {
		return err
	}
	rigs, err := h.o.Bus.Bucket(bus.Rigs).All(ctx)
	if err != nil {
		return err
	}
	for _, e := range rigs {
		r := h.rig(e.Key)
		if err := json.Unmarshal(e.Value, &r.member); err != nil || r.Rig != e.Key {
			h.o.Log.Error("a rig's entry is damaged; invite the rig again", "rig", e.Key)
			r.member = member{Rig: e.Key}
		}
		r.known, r.revision = true, e.Revision
		h.show(r)
	}
	jobs, err := h.bucket.All(ctx)
	if err != nil {
		return err
	}
	all := make([]*job, 0, len(jobs))
	for _, e := range jobs {
		j := &job{revision: e.Revision}
		if j.record, err = decodeRecord(e.Value); err != nil || j.Job != e.Key {
			h.o.Log.Error("a job's entry is damaged", "job", e.Key, "error", err)
			continue
		}
		all = append(all, j)
	}
	slices.SortFunc(all, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.EndedNS, b.EndedNS), cmp.Compare(a.QueuedNS, b.QueuedNS), cmp.Compare(a.Job, b.Job))
	})
	resend := h.resends(ctx)
	for _, j := range all {
		h.index(j)
		if resend {
			h.resend(j)
		}
		if j.live() { // wall clocks may jump, so that its time so far is bounded
			past := min(max(h.began.UnixNano()-j.last().BeganNS, 0), j.EstimateNS)
			j.assigned, j.told = h.began.Add(-time.Duration(past)), true
		}
		if j.ended() && h.began.UnixNano()-j.EndedNS > int64(2*time.Minute) {
			delete(h.unlogged, j.Job) // it was logged
		}
	}
	for _, j := range slices.Backward(all) {
		if j.Keep != "" && j.ended() && len(j.Attempts) > 0 && h.began.Sub(time.Unix(0, j.EndedNS)) < sched.MaxIdle {
			h.sched.Rest(j.wanted(), sched.Assignment{Job: j.Job, Rig: j.last().Rig, Devices: j.last().Devices})
		}
	}
	h.leads = true
	return nil
}

// ready returns an error if this hub does not lead.
func (h *Hub) ready() error {
	if !h.leads {
		return api.Errorf(api.Unavailable, "another hub of this storage leads; ask it or try again")
	}
	return nil
}

// Run answers rigs and moves jobs on until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	var all, copying sync.WaitGroup
	defer all.Wait()
	defer copying.Wait()
	if h.o.Copy != "" {
		copying.Go(func() { h.keepCopies(ctx) })
	}
	var serving struct {
		ctx  context.Context
		stop context.CancelFunc // nil: rigs are not answered
	}
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		leads := h.tick(ctx)
		if leads && serving.stop == nil {
			serving.ctx, serving.stop = context.WithCancel(ctx)
			of := serving.ctx
			all.Go(func() {
				if err := h.o.Bus.Serve(of, h.handle); err != nil && of.Err() == nil {
					h.o.Log.Error("rigs are not answered", "error", err)
				}
			})
			all.Go(func() { h.gatherAll(of) })
		} else if !leads && serving.stop != nil {
			serving.stop()
			all.Wait()
			serving.stop = nil
		}
		select {
		case <-ctx.Done():
			if serving.stop != nil {
				serving.stop()
			}
			return nil
		case <-every.C:
		}
	}
}

// tick does everything that depends on time. It reports if this hub leads.
func (h *Hub) tick(ctx context.Context) bool {
	h.turn <- struct{}{}
	h.mu.Lock()
	leads := h.lead(ctx) // it may read everything anew
	h.mu.Unlock()
	<-h.turn
	if !leads {
		return false
	}
	var news map[[2]string]bool
	var leaving map[string]string
	h.do(h.pass, func() {
		news, leaving = h.news, h.leaving
		h.news, h.leaving = map[[2]string]bool{}, map[string]string{}
	})
	for name, key := range leaving {
		h.o.Log.Info("rig has left", "rig", name)
		if err := h.removeKey(ctx, name, key); err != nil {
			h.o.Log.Warn("a rig that has left could not be removed", "rig", name, "error", err)
		}
	}
	h.store(ctx)
	h.tell(news)
	return true
}

// pass does everything that depends on time, as an operation.
func (h *Hub) pass() {
	now := h.o.Now()
	for _, name := range sortedKeys(h.rigs) {
		r := h.rigs[name]
		h.unite(r, now)
		if r.known && r.shown != r.online(now) {
			r.dirty = true // with the time of its last message
			h.show(r)
			h.changed(name, "")
		}
		if r.known && r.dirty && !h.op.looks {
			h.saves = append(h.saves, r)
		}
	}
	h.lose(now)
	h.expire(now)
	h.arrange(now)
}

// store logs jobs that have ended, and removes those that lists no longer show.
func (h *Hub) store(ctx context.Context) {
	h.mu.Lock()
	var logged, old []*job
	for _, j := range h.unlogged {
		if logged = append(logged, j); len(logged) == perTick {
			break
		}
	}
	if n := len(h.over) - maxEnded; n > 0 {
		for _, j := range h.over[:min(n, perTick)] {
			if h.unlogged[j.Job] != nil {
				break
			}
			old = append(old, j)
		}
	}
	blobs := h.unused
	h.unused = nil
	h.mu.Unlock()
	var done []*job
	for _, j := range logged { // ended jobs do not change
		raw, err := j.record.encode()
		if err == nil {
			err = h.o.Bus.Log().Append(ctx, bus.Log, raw, j.Job+".end")
		}
		if err != nil {
			h.o.Log.Warn("an ended job could not be logged", "job", j.Job, "error", err)
			break
		}
		done = append(done, j)
	}
	removed := 0
	for _, j := range old {
		err := h.bucket.Delete(ctx, j.Job, j.revision)
		if err != nil && !errors.Is(err, bus.ErrConflict) && !errors.Is(err, bus.ErrNotFound) {
			h.o.Log.Warn("an ended job could not be removed", "job", j.Job, "error", err)
			break
		}
		removed++
	}
	h.turn <- struct{}{} // a round may store a job with one of the blobs
	defer func() { <-h.turn }()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range done {
		delete(h.unlogged, j.Job)
	}
	for _, j := range old[:removed] {
		delete(h.jobs, j.Job)
	}
	h.over = h.over[removed:]
	for _, sum := range blobs {
		if h.refs[sum] == 0 {
			_ = h.o.Bus.Blobs().Delete(ctx, sum) // only space is lost
		}
	}
}

// changed notes a change to be told.
func (h *Hub) changed(rig, job string) { h.news[[2]string{rig, job}] = true }

func (h *Hub) tell(news map[[2]string]bool) {
	if h.o.Changed == nil {
		return
	}
	if len(news) > maxNews {
		h.o.Changed("", "") // much has
		return
	}
	for n := range news {
		h.o.Changed(n[0], n[1])
	}
}

// view returns a job for clients, with its place.
func (h *Hub) view(j *job) api.FleetJob {
	out := j.view()
	if j.State == queued {
		place, reason := h.sched.Wait(j.Job, h.o.Now())
		out.Position, out.Reason = place, reason
		if why := h.unmade(j); why != "" {
			out.Reason = why
		}
		if j.Reason != "" {
			out.Reason += "; before: " + j.Reason
		}
	}
	return out
}

// Job returns a job.
func (h *Hub) Job(ctx context.Context, id string) (api.FleetJob, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.ready(); err != nil {
		return api.FleetJob{}, err
	}
	if jobForm.MatchString(id) {
		if j, err := h.find(ctx, id); err != nil || j != nil {
			if err != nil {
				return api.FleetJob{}, err
			}
			return h.view(j), nil
		}
	}
	return api.FleetJob{}, api.Errorf(api.NotFound, "unknown job %.100q", id)
}

// Jobs returns jobs that wait or run in order, then ended ones, latest first.
func (h *Hub) Jobs(p api.FleetJobsParams) (api.FleetJobs, error) {
	out := api.FleetJobs{Jobs: []api.FleetJob{}}
	limit := cmp.Or(p.Limit, 200)
	if limit < 1 || limit > 1000 {
		return out, api.Errorf(api.InvalidParams, "limit is %d: must be 1 to 1000", p.Limit)
	}
	known := []string{"live", queued, assigned, running, succeeded, failed, cancelled, interrupted}
	if p.State != "" && !slices.Contains(known, p.State) {
		return out, api.Errorf(api.InvalidParams, "state is %.40q: must be one of %s", p.State,
			strings.Join(known, ", "))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.ready(); err != nil {
		return out, err
	}
	var all []*job
	for _, j := range h.jobs {
		if p.State == "" || p.State == j.State || p.State == "live" && !j.ended() {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, inOrder)
	out.Total = len(all)
	for _, j := range all[:min(limit, len(all))] {
		out.Jobs = append(out.Jobs, h.view(j))
	}
	return out, nil
}

// Status returns the state of the hub.
func (h *Hub) Status() api.FleetStatus {
	f := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	out := api.FleetStatus{Role: "hub", Epoch: h.epoch, Away: f.away, Waiting: f.waiting, Running: f.running}
	for _, r := range h.rigs {
		if r.known {
			out.Rigs++
		}
	}
	if !h.copies.last.IsZero() {
		out.CopiedWallNS = h.copies.last.UnixNano()
	}
	switch err := h.ready(); {
	case err != nil:
		out.Reason = err.Error()
	case h.newer.epoch > h.epoch:
		out.Reason = fmt.Sprintf("rig %s has seen epoch %d of an adopted copy; stop this hub", h.newer.rig,
			h.newer.epoch)
	case h.odd.epoch > h.epoch:
		out.Reason = fmt.Sprintf("rig %s reports the invalid epoch %d; invite it again", h.odd.rig, h.odd.epoch)
	case h.copies.err != nil:
		out.Reason = h.copies.err.Error()
	default:
		if err := h.room(); err != nil {
			out.Reason = err.Error()
		}
	}
	return out
}
