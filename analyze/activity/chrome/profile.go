package chrome

import (
	"cmp"
	"slices"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/cpuprofile"
	"github.com/eideticker/eideticker/analyze/activity/jsonstream"
)

const (
	maxProfiles = 4096    // of JavaScript in a trace
	maxHits     = 2 << 20 // samples that are kept until they are in order
)

// profile is a profile of the JavaScript of one thread, which comes in chunks.
type profile struct {
	thread uint32
	tree   *cpuprofile.Tree
	at     int64 // of the last sample
	hits   []hit
}

type hit struct {
	at   int64
	node int32
}

// key is the number of a profile. Processes count their profiles alone.
func (e *Event) key() string { return string(e.ID) + " " + string(rune(e.Process)) }

// profile begins a profile. The thread of this record is the profiled one.
func (r *Events) profile(e *Event) {
	start, ok := jsonstream.Decimal(jsonstream.Find(e.Args, "data", "startTime"), 3)
	if !ok || start < 0 || start >= maxTime || len(r.profiles) >= maxProfiles ||
		len(e.ID) > activity.MaxName {
		r.claims.Skip("malformed profiles")
		return
	}
	r.profiles[e.key()] = &profile{thread: r.thread(place{e.Process, e.Thread}).number, at: start,
		tree: cpuprofile.NewTree(r.to, &r.claims)}
	r.claims.Way = "slices and samples"
}

// sample reads a chunk of a profile.
func (r *Events) sample(e *Event, p place) error {
	if string(e.Name) == `"Profile"` {
		r.profile(e)
		return nil
	}
	of := r.profiles[e.key()]
	if string(e.Name) != `"ProfileChunk"` {
		return nil
	}
	if of == nil {
		r.claims.Skip("chunks of unknown profiles")
		return nil
	}
	data := jsonstream.Find(e.Args, "data")
	of.tree.Nodes(jsonstream.Find(data, "cpuProfile", "nodes"))
	var times []int64
	jsonstream.Elements(jsonstream.Find(data, "timeDeltas"), func(value []byte) bool {
		n, ok := jsonstream.Decimal(value, 3)
		if ok = ok && n > -maxTime && n < maxTime && of.at+n >= 0 && of.at+n < maxTime; ok {
			of.at += n
		}
		times = append(times, of.at)
		return ok
	})
	i := 0
	jsonstream.Elements(jsonstream.Find(data, "cpuProfile", "samples"), func(value []byte) bool {
		r.claims.Records++
		if i < len(times) && r.claims.Records < activity.MaxEvents {
			of.hits = append(of.hits, hit{times[i], jsonstream.Int(value)})
			r.hits++
		} else {
			r.claims.Skip("samples without a time")
		}
		i++
		return true
	})
	if r.hits <= maxHits {
		return nil
	}
	return r.profilesUntil(2)
}

// profileEnds passes on all samples.
func (r *Events) profileEnds() error { return r.profilesUntil(1) }

// profilesUntil passes on the earliest samples of each profile: all of them, or half of them. Each
// one stands for the time until the next one.
func (r *Events) profilesUntil(share int) error {
	for _, of := range r.profiles {
		slices.SortStableFunc(of.hits, func(a, b hit) int { return cmp.Compare(a.at, b.at) })
		n := len(of.hits) / share
		for i, h := range of.hits[:n] {
			until := h.at
			if i+1 < len(of.hits) {
				until = of.hits[i+1].at
			}
			r.claims.Seen(h.at)
			if err := of.tree.Sample(of.thread, h.at, until-h.at, h.node); err != nil {
				return err
			}
		}
		of.hits = of.hits[:copy(of.hits, of.hits[n:])]
		r.hits -= n
	}
	return nil
}
