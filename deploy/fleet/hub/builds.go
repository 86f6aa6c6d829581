package hub

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/sched"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/pattern"
)

// A rig makes the builds of a feed and signs them for other rigs. The hub wants those of jobs that
// wait. It gets all pieces of a build before a job goes to a rig that fetches the build. The rigs
// check signatures, the hub does not.

// makerLabel is a label for the scheduler. It lists the feeds whose builds a rig makes itself. The
// label [wire.Builder] has those too, and the feeds whose builds the rig fetches.
const makerLabel = "makes"

// gatherAgain is the time until a build is asked for again.
const gatherAgain = pollEvery / 2

var hashForm = pattern.New(`^[0-9a-f]{64}$`)

// shared is a build that rigs fetch.
type shared struct {
	wire.Made        // without a line: it is not made yet
	rig       string // that has made it
	ready     bool   // the hub has got it whole
	why       string // it is not ready
	next      time.Time
}

// buildsOf returns the builds of a feed that a job names. The name of the newest one is empty: only
// a rig that makes it can find it.
func buildsOf(p api.StartParams, feed string) (all []wire.Build) {
	browsers := slices.Clone(p.Browsers)
	for _, v := range p.Variants {
		browsers = append(browsers, v.Browser)
	}
	for _, text := range browsers {
		b, _ := api.ParseBrowser(text) // was checked
		named := wire.Build{Feed: feed, Build: strings.TrimPrefix(b.Build, api.LatestBuild)}
		if b.Feed == feed && !slices.Contains(all, named) {
			all = append(all, named)
		}
	}
	return all
}

// labelBuilder sets the labels of a device that choose it for builds of rigs.
func (r *rig) labelBuilder(labels map[string]string, feeds []string) {
	if made := labels[wire.Builder]; made != "" {
		labels[makerLabel] = made
	}
	for _, feed := range r.Fetches {
		if slices.Contains(feeds, feed) {
			labels[wire.Builder] = strings.TrimPrefix(labels[wire.Builder]+","+feed, ",")
		}
	}
}

// waiter is a waiting job as the scheduler has it. Without a build that others can fetch, only the
// rigs that make it can do the job.
func (h *Hub) waiter(j *job) sched.Job {
	out, made := j.wanted(), []string(nil)
	for _, b := range j.Builds {
		if s := h.builds[b]; s == nil || !s.ready {
			made = append(made, makerLabel+"="+b.Feed)
		}
	}
	if made != nil {
		slices.Sort(made)
		out.Needs, _ = sched.ParseNeeds(append(slices.Compact(made), j.Needs...)) // were checked
	}
	return out
}

// maker returns the rig that makes a build: one that is there, or else any. nil: there is none.
func (h *Hub) maker(s *shared) (out *rig) {
	for _, name := range sortedKeys(h.rigs) {
		r := h.rigs[name]
		switch {
		case !r.known || !slices.Contains(r.Signs, s.Feed):
		case s.Line != nil && s.rig == name:
			return r
		case out == nil || !out.online(h.o.Now()):
			out = r
		}
	}
	return out
}

// arrange finds the builds that jobs wait for. It ends the jobs of builds that cannot be made.
func (h *Hub) arrange(now time.Time) {
	fetched := map[string]bool{}
	for _, r := range h.rigs {
		for _, feed := range r.Fetches {
			fetched[feed] = fetched[feed] || r.known
		}
	}
	need := map[wire.Build]bool{}
	for id, j := range h.building {
		for _, b := range j.Builds {
			if !fetched[b.Feed] || b.Build == "" {
				continue
			}
			need[b] = true
			s := h.builds[b]
			if s == nil {
				s = &shared{Made: wire.Made{Build: b}}
				h.builds[b] = s
			}
			if s.Error == "" || j.State != queued {
				continue
			}
			next := j.clone()
			next.end(now, failed,
				fmt.Sprintf("%s cannot make build %s of feed %s: %s", s.rig, b.Build, b.Feed, s.Error))
			if err := h.write(j, next, nil); err != nil {
				h.warn("a job without its build could not be ended", err, "job", id)
			}
			break
		}
	}
	for b := range h.builds {
		if !need[b] {
			delete(h.builds, b)
		}
	}
}

// wantedOf returns the builds that a rig shall make and send.
func (h *Hub) wantedOf(rig string) (out []wire.Build) {
	for b, s := range h.builds {
		if r := h.maker(s); !s.ready && r != nil && r.Rig == rig && !s.lost(h.o.Now()) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b wire.Build) int { return strings.Compare(a.Feed+":"+a.Build, b.Feed+":"+b.Build) })
	return out[:min(len(out), wire.MaxMade)]
}

// takeMade keeps a build that a rig has made, if it is the rig's turn.
func (h *Hub) takeMade(r *rig, m *wire.Made) {
	s := h.builds[m.Build]
	if s == nil || s.ready || s.lost(h.o.Now()) || h.maker(s) != r {
		return
	}
	s.rig, s.Error = r.Rig, clip(m.Error, maxReason)
	switch {
	case s.Error != "":
	case !json.Valid(m.Line) || len(m.Line) > wire.MaxLine || !hashForm.MatchString(m.SHA256):
		s.Error = "its line is invalid"
	case m.Bytes <= 0 || m.Bytes > wire.MaxBuild:
		s.Error = fmt.Sprintf("its archive has %d bytes, at most %d are taken", m.Bytes, int64(wire.MaxBuild))
	default:
		s.Made = *m
	}
}

// lost reports if the build's rig has lost it. It is not wanted until the rig has noted that.
func (s *shared) lost(now time.Time) bool { return s.Line == nil && now.Before(s.next) }

// unmade returns why a waiting job's build cannot be fetched; "": it can.
func (h *Hub) unmade(j *job) string {
	for _, b := range j.Builds {
		s := h.builds[b]
		if s == nil || s.ready {
			continue
		}
		r, why := h.maker(s), "the hub gets it from "+s.rig
		switch {
		case r == nil:
			why = "no rig signs builds of this feed"
		case !r.online(h.o.Now()):
			why = r.silence(h.o.Now())
		case s.Line == nil:
			why = r.Rig + " makes it"
		case s.why != "":
			why = s.why
		}
		return fmt.Sprintf("waits for build %s of feed %s: %s", b.Build, b.Feed, why)
	}
	return ""
}

// linesFor returns the lines of a job's builds that a rig fetches. whole: none is missing.
func (h *Hub) linesFor(r *rig, j *job) (all []wire.Made, whole bool) {
	whole = true
	for _, b := range j.Builds {
		if !slices.Contains(r.Fetches, b.Feed) {
			continue
		}
		if s := h.builds[b]; s != nil && s.ready {
			all = append(all, s.Made)
		} else {
			whole = false
		}
	}
	return all, whole
}

// gatherAll gets builds from their rigs until ctx ends.
func (h *Hub) gatherAll(ctx context.Context) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		for h.gather(ctx) && ctx.Err() == nil {
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// gather gets a build whole, and lets its jobs go to other rigs. It reports if there was one.
func (h *Hub) gather(ctx context.Context) bool {
	h.mu.Lock()
	var s *shared
	var m wire.Made
	for _, one := range h.builds {
		if one.Line != nil && !one.ready && !h.o.Now().Before(one.next) {
			s, m = one, one.Made
		}
	}
	if s == nil {
		h.mu.Unlock()
		return false
	}
	from := h.readerOf(ctx, s)
	h.mu.Unlock()
	sum := sha256.New()
	free, err := h.freeUp(piecesFree*h.o.Quota + m.Bytes)
	if err == nil && free < piecesFree*h.o.Quota+m.Bytes {
		err = errors.New("the hub's disk has no room for it")
	}
	if err == nil {
		_, err = io.Copy(sum, from)
	}
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != m.SHA256 {
		err = errors.New(from.rig + " sends other content than it has signed")
		h.pieces.mu.Lock()
		h.pieces.forget(from.file())
		h.pieces.mu.Unlock()
	}
	_ = from.Close() // was only read
	h.do(func() {
		if s.SHA256 != m.SHA256 || h.builds[m.Build] != s {
			return
		}
		if s.ready, s.why = err == nil, ""; err != nil {
			s.why, s.next = clip(err.Error(), maxReason), h.o.Now().Add(gatherAgain)
			if errors.Is(err, errChanged) {
				s.Made = wire.Made{Build: m.Build}
			}
			return
		}
		for _, j := range h.building {
			if j.waits && slices.Contains(j.Builds, m.Build) {
				h.sched.Add(h.waiter(j))
			}
		}
	}, nil)
	return true
}

// readerOf reads the archive of a build. The lock is held.
func (h *Hub) readerOf(ctx context.Context, s *shared) *pieceReader {
	return &pieceReader{h: h, ctx: ctx, rig: s.rig, from: wire.BuildPath + s.SHA256, size: s.Bytes}
}

// askBuild returns a ticket for a build of a job that the rig works at.
func (h *Hub) askBuild(name, sum string) wire.Asked {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rigs[name]; r != nil && r.known {
		for _, j := range r.live {
			for _, b := range j.Builds {
				if s := h.builds[b]; s != nil && s.ready && s.SHA256 == sum && slices.Contains(r.Fetches, b.Feed) {
					t := &ticket{Ticket: wire.Ticket{ID: rand.Text()}, rig: name, until: h.o.Now().Add(ticketTime),
						build: h.readerOf(context.Background(), s)}
					h.tickets[t.ID] = t
					return wire.Asked{Ticket: t.ID}
				}
			}
		}
	}
	return wire.Asked{Error: "no job of " + name + " has this build, or the hub has not got it yet"}
}

// sendBuild sends a build to the rig that has a ticket for it.
func (h *Hub) sendBuild(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	t := h.tickets[r.PathValue("id")]
	h.mu.Unlock()
	if t == nil || t.build == nil || !h.o.Now().Before(t.until) {
		http.Error(w, "the ticket is unknown or too old", http.StatusNotFound)
		return
	}
	from := *t.build // a ticket may have several requests
	if !h.pieced(w, r, &from, "build.tar.gz") {
		busy(w, "the hub's disk has no room for the build, or its rig has changed it")
	}
}
