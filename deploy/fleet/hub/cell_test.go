package hub

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// TestCell lets a real hub and its rigs work for hours of virtual time, over the bus in memory.
// Rigs vanish, the cell splits, and the hub is killed. With EIDETICKER_SOAK three cells have 100
// rigs each.
// It fails if a hub of many rigs loses a job, or ends it twice.
func TestCell(t *testing.T) {
	cells, rigs, hours := 1, 12, 2
	if os.Getenv("EIDETICKER_SOAK") != "" {
		cells, rigs, hours = 3, 100, 4
	}
	waits, jobs, attempts, begin := map[string][]float64{}, 0, 0, time.Now()
	for seed := range uint64(cells) {
		w := newWorld(t)
		r := rand.New(rand.NewPCG(seed, 19))
		var names []string
		for n := range rigs {
			names = append(names, w.join(fmt.Sprintf("lab-%03d", n)).name)
		}
		away, dead := map[string]time.Time{}, map[string]bool{}
		vanish := func(name string, d time.Duration, dies bool) {
			if away[name].IsZero() {
				away[name], dead[name] = w.now.Add(d), dies
			}
		}
		end := w.now.Add(time.Duration(hours) * time.Hour)
		split, kill := w.now.Add(time.Duration(hours)*time.Hour/3), w.now.Add(time.Duration(hours)*time.Hour/2)
		var ids []string
		for step := 0; ; step++ {
			w.now = w.now.Add(10 * time.Second)
			// Jobs take 5 min. The rigs could do one more in ten.
			for w.now.Before(end) && r.IntN(10*300) < rigs*9*10 && len(ids) < (step+1)*rigs*9*10/3000 {
				id := fmt.Sprintf("s-%d-%d", seed, len(ids))
				class := []string{"now", "check", "watch", "fill"}[len(ids)%4]
				w.submit(id, api.JobParams{Replace: r.IntN(10) > 0, StartParams: api.StartParams{Class: class}})
				ids = append(ids, id)
			}
			if r.IntN(3000) == 0 {
				vanish(names[r.IntN(rigs)], time.Duration(1+r.IntN(60))*time.Minute, r.IntN(2) == 0)
			}
			if w.now.Equal(split) {
				for _, name := range names[:rigs/2] {
					vanish(name, time.Hour, false)
				}
			}
			if w.now.Equal(kill) {
				w.restart()
			}
			for n, name := range names {
				rig := w.rigs[name]
				if until := away[name]; !until.IsZero() && w.now.After(until) {
					delete(away, name)
				}
				for _, id := range slices.Sorted(maps.Keys(rig.has)) {
					a := rig.has[id]
					if a.until.IsZero() {
						a.until = w.now.Add(time.Duration(200+r.IntN(200)) * time.Second)
					}
					fate := wire.Ended{State: "ok"}
					if r.IntN(3000) == 0 {
						fate = wire.Ended{State: "failed", Fault: "lab"}
					}
					if dead[name] {
						fate = wire.Ended{State: "interrupted"}
					}
					if a.ended == nil && (w.now.After(a.until) || fate.State != "ok") {
						rig.end(id, fate)
					}
				}
				dead[name] = false
				if away[name].IsZero() && (step+n)%2 == 0 {
					rig.poll()
				}
			}
			w.hub.tick(w.Context())
			open := func(id string) bool { return w.job(id).EndedWallNS == 0 }
			if !w.now.Before(end) && step%30 == 0 && !slices.ContainsFunc(ids, open) {
				break
			}
			if w.now.After(end.Add(8 * time.Hour)) {
				t.Fatal("jobs wait for ever")
			}
		}
		jobs += len(ids)
		for _, id := range ids {
			j, ok := w.job(id), 0
			for _, a := range j.Attempts {
				attempts++
				if a.State == "ok" && !a.Superseded {
					ok++
				}
			}
			if ok != map[string]int{"ok": 1}[j.State] || (j.State == "ok") != (j.Winner > 0) {
				t.Errorf("%s is %s with %d winning attempts: %v", id, j.State, ok, j.Attempts)
			}
			wait := time.Duration(j.Attempts[0].StartedWallNS - j.QueuedWallNS)
			waits[j.Class] = append(waits[j.Class], wait.Seconds())
		}
	}
	if attempts == jobs || jobs < rigs*hours {
		t.Errorf("%d jobs have %d attempts: none was repeated", jobs, attempts)
	}
	t.Logf("%d cells of %d rigs, %d h, %v: %d jobs, %d attempts", cells, rigs, hours,
		time.Since(begin).Round(time.Second), jobs, attempts)
	for _, class := range []string{"now", "check", "watch", "fill"} {
		s := waits[class]
		slices.Sort(s)
		t.Logf("%-5s %6d jobs wait p50 %6.0f s, p99 %6.0f s", class, len(s), s[len(s)/2], s[len(s)*99/100])
	}
}
