package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// model is a slow scheduler's memory. It checks assignments by their definition.
type model struct {
	t       *testing.T
	s       *Scheduler
	now     time.Time
	rigs    map[string]Rig
	jobs    map[string]Job        // that wait or run
	running map[string]Assignment // by job
	keep    map[string]string     // device of a running set
	order   []string              // jobs, for a choice that does not depend on maps
}

func newModel(t *testing.T, o Options) *model {
	return &model{t: t, s: New(o), now: noon, rigs: map[string]Rig{}, jobs: map[string]Job{},
		running: map[string]Assignment{}, keep: map[string]string{}}
}

func (m *model) add(j Job) {
	m.s.Add(j)
	m.jobs[j.ID] = j
	m.order = append(m.order, j.ID)
}

func (m *model) remove(id string) {
	m.order = slices.DeleteFunc(m.order, func(o string) bool { return o == id })
	delete(m.jobs, id)
	delete(m.running, id)
}

func (m *model) set(r Rig) {
	m.s.SetRig(r)
	m.rigs[r.ID] = r
}

func (m *model) taken() map[string]string {
	taken := map[string]string{}
	for id, a := range m.running {
		for _, d := range a.Devices {
			if at := a.Rig + "/" + d; taken[at] == "" || m.jobs[id].Class != "fill" {
				taken[at] = id // a set of class fill is below others
			}
		}
	}
	return taken
}

// usable reports whether a job may run on a device if nothing else did.
func usable(j Job, r Rig, d Device) bool {
	ok := func(list []string, w string) bool { return len(list) == 0 || slices.Contains(list, w) }
	return r.Online && !r.Drain && r.Reason == "" && d.Free && j.Needs.Fits(d.Labels) &&
		!slices.Contains(j.Not, r.ID) && (j.Only == "" || j.Only == r.ID+"/"+d.Name) &&
		ok(r.Accept.Owners, j.Owner) && ok(r.Accept.Kinds, j.Kind)
}

func (m *model) assign() {
	m.t.Helper()
	taken := m.taken()
	for _, a := range m.s.Assign(m.now) {
		j, ok := m.jobs[a.Job]
		if _, runs := m.running[a.Job]; !ok || runs {
			m.t.Fatalf("%v: the job does not wait", a)
		}
		if len(a.Devices) != max(1, j.Devices) {
			m.t.Fatalf("%v: %d devices, want %d", a, len(a.Devices), j.Devices)
		}
		r := m.rigs[a.Rig]
		for _, name := range a.Devices {
			at := slices.IndexFunc(r.Devices, func(d Device) bool { return d.Name == name })
			id := a.Rig + "/" + name
			other := taken[id]
			yields := r.Yields && other != "" && m.jobs[other].Class == "fill" && j.Class != "fill"
			if other != "" && !yields {
				m.t.Fatalf("%v: %s has %s already", a, id, other)
			}
			if at < 0 || !usable(j, r, Device{Labels: r.Devices[at].Labels, Name: name,
				Free: r.Devices[at].Free || yields}) {
				m.t.Fatalf("%v: %s does not fit %v", a, name, j)
			}
			taken[id] = a.Job
		}
		m.running[a.Job] = a
	}
	for id, a := range m.running {
		if k := m.jobs[id].Keep; k != "" {
			for other, b := range m.running {
				if other != id && m.jobs[other].Keep == k {
					m.t.Fatalf("%v and %v run at once for %s", a, b, k)
				}
			}
		}
	}
}

// idle fails if a device is free though a job could run there. Jobs of several devices and kept
// devices are left out, since devices wait for them.
func (m *model) idle() {
	m.t.Helper()
	taken := m.taken()
	for _, j := range m.jobs {
		if j.Devices > 1 {
			return
		}
	}
	for _, id := range m.order {
		j := m.jobs[id]
		if _, runs := m.running[id]; runs || j.Keep != "" {
			continue
		}
		for _, r := range m.rigs {
			for _, d := range r.Devices {
				at := r.ID + "/" + d.Name
				if usable(j, r, d) && taken[at] == "" && !m.s.devices[at].hold.holds(m.now) {
					m.t.Fatalf("%s/%s is free, and %v waits", r.ID, d.Name, j)
				}
			}
		}
	}
}

// rig returns a random one with the devices that its number has.
func randomRig(r *rand.Rand, n int) Rig {
	rig := Rig{ID: fmt.Sprintf("lab-%02d", n), Online: r.IntN(8) > 0, Drain: r.IntN(12) == 0, Yields: r.IntN(2) == 0}
	if r.IntN(10) == 0 {
		rig.Accept.Owners = []string{"o1", "o2"}
	}
	if r.IntN(10) == 0 {
		rig.Accept.Kinds = []string{"suite"}
	}
	for d := range 1 + n%4 {
		if r.IntN(20) > 0 {
			rig.Devices = append(rig.Devices, Device{Name: fmt.Sprint("d", d), Free: r.IntN(6) > 0, Labels: labels(
				"model", fmt.Sprint("m", (n+d)%3), "os", fmt.Sprint("os", n%2), "browser", "firefox,chrome")})
		}
	}
	return rig
}

func randomJob(r *rand.Rand, n int, now time.Time) Job {
	var terms []string
	if r.IntN(2) == 0 {
		terms = append(terms, fmt.Sprintf("model=m%d,m%d", r.IntN(3), r.IntN(3)))
	}
	if r.IntN(3) == 0 {
		terms = append(terms, fmt.Sprintf("os=os%d", r.IntN(2)))
	}
	parsed, _ := ParseNeeds(terms)
	j := Job{ID: fmt.Sprint("s-", n), Owner: fmt.Sprint("o", r.IntN(5)), Class: classes[r.IntN(4)], Kind: "suite",
		Needs: parsed, Devices: 1, Estimate: time.Duration(1+r.IntN(600)) * time.Second, Queued: now}
	switch r.IntN(12) {
	case 0:
		j.Devices = 2
	case 1:
		j.Only = fmt.Sprintf("lab-%02d/d0", r.IntN(12))
	case 2:
		j.Keep = fmt.Sprint("set-", r.IntN(3))
	case 3:
		j.Not = []string{fmt.Sprintf("lab-%02d", r.IntN(12))}
	case 4:
		j.Kind = "url"
	}
	return j
}

// twoTeams have some of the owners of random jobs.
var twoTeams = []Team{{Owners: []string{"o0", "o1", "o2"}, Share: 2.5}, {Owners: []string{"o3", "o2"}, Share: 0.5}}

// TestRandom compares random streams of operations with the model. At the end all rigs are there,
// and each job must run.
// It fails if two jobs get one device, or a job is lost or assigned twice.
// It fails if a job that could run waits for ever.
func TestRandom(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 19))
		m := newModel(t, Options{Teams: twoTeams})
		for step := range 600 {
			switch r.IntN(10) {
			case 0, 1, 2, 3:
				m.add(randomJob(r, step, m.now))
			case 4, 5:
				m.set(randomRig(r, r.IntN(12)))
			case 6:
				if r.IntN(6) == 0 {
					id := fmt.Sprintf("lab-%02d", r.IntN(12))
					m.s.RemoveRig(id)
					delete(m.rigs, id)
				}
			case 7, 8:
				if len(m.order) > 0 {
					id := m.order[r.IntN(len(m.order))]
					if _, runs := m.running[id]; runs {
						m.s.Ended(id, time.Duration(r.IntN(900))*time.Second)
						m.remove(id)
					} else if r.IntN(4) == 0 {
						m.s.Remove(id)
						m.remove(id)
					}
				}
			case 9:
				m.now = m.now.Add(time.Duration(r.IntN(300)) * time.Second)
			}
			m.assign()
			m.idle()
			for n, id := range m.order {
				if (n+step)%7 > 0 {
					continue
				}
				place, why := m.s.Wait(id, m.now)
				if _, runs := m.running[id]; runs != (place == 0) || runs != (why == "") {
					t.Fatalf("seed %d: %s has place %d and reason %q", seed, id, place, why)
				}
			}
		}
		if len(m.s.jobs) != len(m.jobs) {
			t.Fatalf("seed %d: %d jobs, want %d", seed, len(m.s.jobs), len(m.jobs))
		}
		m.finish(seed)
	}
}

// finish brings all rigs back and ends jobs until none is left.
func (m *model) finish(seed uint64) {
	m.t.Helper()
	for n := range 12 {
		rig := Rig{ID: fmt.Sprintf("lab-%02d", n), Online: true}
		for d := range 1 + n%4 {
			rig.Devices = append(rig.Devices, Device{Name: fmt.Sprint("d", d), Free: true, Labels: labels(
				"model", fmt.Sprint("m", (n+d)%3), "os", fmt.Sprint("os", n%2), "browser", "firefox,chrome")})
		}
		m.set(rig)
	}
	for _, id := range slices.Clone(m.order) {
		if _, runs := m.running[id]; !runs && m.s.Check(m.jobs[id]) != nil {
			m.s.Remove(id) // its labels contradict each other
			m.remove(id)
		}
	}
	for rounds := 0; len(m.jobs) > 0; rounds++ {
		if m.assign(); rounds > 2000 {
			_, why := m.s.Wait(m.order[0], m.now)
			m.t.Fatalf("seed %d: %d jobs still wait; %v: %s", seed, len(m.jobs), m.jobs[m.order[0]], why)
		}
		m.now = m.now.Add(time.Minute)
		for _, id := range slices.Clone(m.order) {
			if _, runs := m.running[id]; runs {
				m.s.Ended(id, time.Minute)
				m.remove(id)
				break
			}
		}
	}
	for _, d := range m.s.devices {
		if d.job != nil || d.rig.taken != 0 || d.rig.claim != nil {
			m.t.Fatalf("seed %d: %s is not free at the end", seed, d.id)
		}
	}
	if len(m.s.busy)+len(m.s.under)+len(m.s.jobs)+m.s.waiting != 0 {
		m.t.Fatalf("seed %d: %d busy, %d jobs, %d groups at the end", seed, len(m.s.busy), len(m.s.jobs), m.s.waiting)
	}
}

// TestSameOrder repeats a stream. The assignments must be equal, so none depends on a map's order.
func TestSameOrder(t *testing.T) {
	stream := func() string {
		r := rand.New(rand.NewPCG(7, 7))
		s, out := New(Options{Teams: twoTeams}), strings.Builder{}
		for step := range 800 {
			s.Add(randomJob(r, step, noon))
			s.SetRig(randomRig(r, r.IntN(12)))
			for _, a := range s.Assign(noon) {
				fmt.Fprintln(&out, a)
			}
			s.Ended(fmt.Sprint("s-", r.IntN(step+1)), time.Minute)
		}
		return out.String()
	}
	if a, b := stream(), stream(); a != b || len(a) < 1000 {
		t.Errorf("two equal streams have different assignments (%d and %d bytes)", len(a), len(b))
	}
}
