package sched

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func labels(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

func lab(id string, devices ...Device) Rig { return Rig{ID: id, Online: true, Devices: devices} }

func phone(name, model string) Device {
	return Device{Name: name, Free: true, Labels: labels("model", model, "os", "android")}
}

func needs(t testing.TB, terms ...string) Needs {
	t.Helper()
	n, err := ParseNeeds(terms)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func job(id, owner string, n Needs) Job {
	return Job{ID: id, Owner: owner, Needs: n, Estimate: time.Minute, Queued: noon}
}

// TestNeeds covers the syntax and its bounds.
func TestNeeds(t *testing.T) {
	for _, c := range []struct{ in, want, fails string }{
		{"os=linux,android model=pixel7", "model=pixel7 and os=android,linux", ""},
		{"", "", ""},
		{"model", "", `needs "model": must be KEY=VALUE or KEY=VALUE,VALUE`},
		{"=x", "", `needs "=x": must be KEY=VALUE`},
		{"os=", "", `needs os: value "" must have 1 to 128 printable characters`},
		{"os=a,,b", "", `needs os: value "" must have`},
		{"os=a=b", "", `needs os: value "a=b" must have`},
		{"os=" + strings.Repeat("x", 129), "", "needs os: value"},
		{"os=" + strings.Repeat("a,", 32) + "b", "", "needs os: 33 values must be at most 32"},
		{strings.Repeat("a=b ", 17), "", "needs: 17 terms must be at most 16"},
	} {
		n, err := ParseNeeds(strings.Fields(c.in))
		if got := fmt.Sprint(err); (err != nil) != (c.fails != "") || !strings.Contains(got, c.fails) && err != nil {
			t.Errorf("%q: error %v, want %s", c.in, err, c.fails)
		} else if n.String() != c.want {
			t.Errorf("%q: %s, want %s", c.in, n, c.want)
		}
	}
	n := needs(t, "browser=firefox", "os=linux,android")
	for want, l := range map[bool]map[string]string{
		true: labels("os", "android", "browser", "chrome,firefox"), false: labels("os", "linux", "browser", "chrome"),
	} {
		if n.Fits(l) != want {
			t.Errorf("%s fits %v: %t, want %t", n, l, !want, want)
		}
	}
}

// FuzzNeeds: needs that are read are within bounds, and read again they are the same.
func FuzzNeeds(f *testing.F) {
	for _, s := range []string{"model=pixel7", "os=linux,android\nmodel=a b", "a==", "=,\n=", "k=v,v", "\xff=\x00"} {
		f.Add(s, "model", "pixel7,x")
	}
	f.Fuzz(func(t *testing.T, text, key, label string) {
		n, err := ParseNeeds(strings.Split(text, "\n"))
		if err != nil {
			if len(err.Error()) > 900 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		var terms []string
		for _, term := range n {
			terms = append(terms, term.String())
			if len(term.Values) == 0 || len(term.Values) > maxValues || len(term.Key) > maxLabel {
				t.Errorf("%q is out of bounds", term)
			}
		}
		if again, err := ParseNeeds(terms); err != nil || again.String() != n.String() {
			t.Errorf("%q is %q when read again, %v", n, again, err)
		}
		n.Fits(labels(key, label))
	})
}

// TestCheck has a row for each reason to reject a job.
// Fault: A job of a fleet fits no enrolled device
func TestCheck(t *testing.T) {
	s := New(Options{})
	check := func(j Job, want string) {
		t.Helper()
		if err := s.Check(j); fmt.Sprint(err) != want {
			t.Errorf("Check(%s) = %v, want %s", j.Needs, err, want)
		}
	}
	check(job("s-1", "ann", nil), "job s-1: the fleet has no device")
	s.SetRig(lab("lab-01", phone("a", "pixel7"), phone("b", "pixel8")))
	linux := lab("lab-02", Device{Name: "x", Labels: labels("os", "linux", "model", "nuc")})
	linux.Online, linux.Accept = false, wire.Accept{Owners: []string{"ci"}, Feeds: []string{"firefox"}}
	s.SetRig(linux)
	with := func(change func(*Job), terms ...string) Job {
		j := job("s-1", "ann", needs(t, terms...))
		change(&j)
		return j
	}
	same := func(*Job) {}
	check(with(same, "model=pixel8"), "<nil>")
	check(with(same, "model=pixel9"), "job s-1: no device has model=pixel9; there are pixel7, nuc, pixel8")
	check(with(same, "modl=pixel8"), "job s-1: no device has a label modl; there are model, os")
	check(with(same, "model=pixel8", "os=linux"),
		"job s-1: no device has model=pixel8 and os=linux; lab-01/b has os=android")
	check(with(same, "os=linux"), "job s-1: no rig with a fitting device accepts jobs of kind \"\" of ann")
	check(with(func(j *Job) { j.Owner = "ci" }, "os=linux"), "<nil>") // it is away, not unknown
	check(with(func(j *Job) { j.Owner, j.Feeds = "ci", []string{"chrome"} }, "os=linux"),
		"job s-1: no rig with a fitting device accepts jobs of kind \"\" of ci")
	check(with(func(j *Job) { j.Devices = 2 }, "model=pixel8"), "job s-1: no rig has 2 fitting devices that it may use")
	check(with(func(j *Job) { j.Devices = 2 }, "model=pixel8,pixel7"), "<nil>")
	check(with(func(j *Job) { j.Devices = 65 }), "job s-1: 65 devices must be at most 64")
	check(with(func(j *Job) { j.Only = "lab-09/z" }), "job s-1: device lab-09/z is not enrolled")
	check(with(func(j *Job) { j.Only = "lab-01/a" }, "model=pixel8"),
		"job s-1: no device has model=pixel8; there are pixel7")
	check(with(func(j *Job) { j.Only, j.Devices = "lab-01/a", 2 }), "job s-1: it keeps one device and cannot use 2")
	check(with(func(j *Job) { j.Not = []string{"lab-01"} }, "model=pixel8"),
		"job s-1: no fitting device is on another rig than those that failed")
	check(with(func(j *Job) { j.Class = "soon" }), `job s-1: class "soon" must be one of now, check, watch, fill`)
	check(with(func(j *Job) { j.Owner = "" }), "job s-1: its owner is missing")
}

// TestTests: a job goes only to rigs that have its tests. Rigs that do not tell them may have any.
// Fault: A job of a fleet names an unknown test
func TestTests(t *testing.T) {
	s := New(Options{})
	add := func(rig string, online bool, tests ...string) {
		r := lab(rig, phone("p", "pixel7"))
		r.Tests, r.Online = tests, online
		s.SetRig(r)
	}
	fits := func(want string, tests ...string) {
		t.Helper()
		j := job("s-1", "ann", nil)
		j.Tests = tests
		there, away, err := s.Fitting(j)
		if got := fmt.Sprint(there, away, err); got != want {
			t.Errorf("%q: %s, want %s", tests, got, want)
		}
	}
	add("a", true, "framerate", "scroll")
	add("b", false, "framerate", "load")
	fits("[a/p] [b/p] <nil>", "framerate")
	fits("[] [b/p] <nil>", "framerate", "load")
	fits("[] [] job s-1: no rig with a fitting device has a test framrate; there are framerate, load, scroll",
		"framrate")
	fits("[] [] job s-1: no rig with a fitting device has all of the tests load, scroll", "load", "scroll")
	j := job("s-2", "ann", nil)
	j.Tests = []string{"load"}
	s.Add(j)
	if got := s.Assign(noon); len(got) != 0 {
		t.Errorf("a rig without the test got it: %v", got)
	}
	j.ID, j.Tests = "s-3", []string{"framrate"}
	s.Add(j)
	if _, got := s.Wait("s-3", noon); got != "no rig with a fitting device has a test framrate" {
		t.Errorf("s-3 waits: %s", got)
	}
	s.Remove("s-3")
	add("c", true) // it is of an older version
	fits("[a/p c/p] [b/p] <nil>", "framerate")
	if got := s.Assign(noon); len(got) != 1 || got[0].Rig != "c" {
		t.Errorf("%v", got)
	}
}

// TestWait has a row for each reason to wait, each from the same start: two jobs and two phones.
func TestWait(t *testing.T) {
	rig := func() Rig { return lab("lab-07", phone("p7", "pixel7"), phone("p8", "pixel8")) }
	for name, c := range map[string]struct {
		options Options
		change  func(s *Scheduler, r *Rig, j *Job)
		want    string
	}{
		"runs": {want: "1 waits for lab-07/p7, which runs s-0"},
		"away": {change: func(s *Scheduler, r *Rig, j *Job) { r.Online = false }, want: "1 lab-07/p7 is away"},
		"drains": {change: func(s *Scheduler, r *Rig, j *Job) { r.Drain, r.Reason = true, "new switch" },
			want: "1 lab-07 drains: new switch"},
		"reason": {change: func(s *Scheduler, r *Rig, j *Job) { r.Reason = "the disk is full" },
			want: "1 lab-07: the disk is full"},
		"device": {change: func(s *Scheduler, r *Rig, j *Job) {
			s.Remove("s-0")
			r.Devices[0].Free, r.Devices[0].Reason = false, "reserved by ben until 18:00"
		}, want: "1 lab-07/p7: reserved by ben until 18:00"},
		"each device has another reason": {change: func(s *Scheduler, r *Rig, j *Job) {
			s.Remove("s-0")
			j.Needs, r.Devices[0].Free, r.Devices[0].Reason = nil, false, "reserved for ben"
			other := lab("lab-08", phone("p1", "pixel7"), phone("p2", "pixel7"))
			other.Drain, other.Reason = true, "new cable"
			s.SetRig(other)
			r.Devices = r.Devices[:1]
		}, want: "1 lab-07/p7: reserved for ben, lab-08 drains: new cable"},
		"all away": {change: func(s *Scheduler, r *Rig, j *Job) { r.Online, j.Needs = false, nil },
			want: "1 all 2 fitting devices are away"},
		"turn": {change: func(s *Scheduler, r *Rig, j *Job) {
			for n := range 6 {
				k := *j
				k.ID, k.Owner = fmt.Sprint("k-", n), fmt.Sprint("o", n%2)
				s.Add(k)
			}
			j.Owner, j.Queued = "o0", noon.Add(time.Hour)
		}, want: "7 its owner's turn comes after 6 jobs"},
		"unknown": {change: func(s *Scheduler, r *Rig, j *Job) { j.Needs = needs(t, "model=pixel9") },
			want: "1 no device has model=pixel9; there are pixel7, pixel8"},
		"reserved": {options: Options{Reserve: []Reservation{
			{Needs: needs(t, "model=pixel7"), Class: "now", Share: 1, From: 8, To: 18}}},
			change: func(s *Scheduler, r *Rig, j *Job) { s.Ended("s-0", time.Minute); j.Class = "watch" },
			want:   "1 reserved for class now from 8 to 18"},
		"kept": {change: func(s *Scheduler, r *Rig, j *Job) {
			s.Remove("s-0")
			k := job("k-1", "ann", j.Needs)
			k.Keep = "bisect-1"
			s.Add(k)
			s.Assign(noon)
			s.Ended("k-1", time.Minute)
		}, want: "1 lab-07/p7 is kept for a set of jobs"},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := New(c.options), rig()
			s.SetRig(r)
			s.Add(job("s-0", "ann", needs(t, "model=pixel7")))
			s.Assign(noon)
			j := job("s-1", "ben", needs(t, "model=pixel7"))
			if c.change != nil {
				c.change(s, &r, &j)
			}
			s.SetRig(r)
			s.Add(j)
			if all := s.Assign(noon); len(all) > 0 {
				t.Errorf("%v is assigned", all)
			}
			place, why := s.Wait("s-1", noon)
			if got := fmt.Sprint(place, " ", why); got != c.want {
				t.Errorf("waits: %s, want %s", got, c.want)
			}
		})
	}
}

// ids returns the assigned jobs and devices as text.
func ids(all []Assignment) string {
	var text []string
	for _, a := range all {
		text = append(text, fmt.Sprintf("%s:%s/%s", a.Job, a.Rig, strings.Join(a.Devices, "+")))
	}
	slices.Sort(text)
	return strings.Join(text, " ")
}

func expect(t *testing.T, s *Scheduler, now time.Time, want string) {
	t.Helper()
	if got := ids(s.Assign(now)); got != want {
		t.Fatalf("assigned %q, want %q", got, want)
	}
}

// TestSeveral assigns jobs of several devices at once, though single ones never stop coming.
// It fails if a job of two devices waits for ever, since each that becomes free gets a small job.
func TestSeveral(t *testing.T) {
	s := New(Options{})
	s.SetRig(lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7")))
	for n := range 9 {
		s.Add(job(fmt.Sprint("s-", n), "ann", nil))
	}
	expect(t, s, noon, "s-0:lab-01/a s-1:lab-01/b")
	two := job("t-1", "ben", nil)
	two.Devices = 2
	s.Add(two)
	s.Ended("s-0", time.Minute)
	expect(t, s, noon, "")
	s.Ended("s-1", time.Minute)
	expect(t, s, noon, "t-1:lab-01/a+b")
	s.Ended("t-1", time.Minute)
	expect(t, s, noon, "s-2:lab-01/a s-3:lab-01/b")
	two.ID = "t-2"
	s.Add(two)
	s.Ended("s-2", time.Minute)
	expect(t, s, noon, "")
	s.Remove("t-2") // others get the device that waited for it
	expect(t, s, noon, "s-4:lab-01/a")
}

// TestReserve keeps a share for a class, within hours.
func TestReserve(t *testing.T) {
	s := New(Options{Reserve: []Reservation{
		{Needs: needs(t, "model=pixel7"), Class: "now", Share: 0.5, From: 8, To: 18}}})
	s.SetRig(lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7"), phone("c", "pixel7"), phone("d", "pixel7")))
	for n := range 4 {
		j := job(fmt.Sprint("f-", n), "ann", nil)
		j.Class = "fill"
		s.Add(j)
	}
	expect(t, s, noon, "f-0:lab-01/a f-1:lab-01/b")
	s.Add(job("n-1", "ben", nil))
	expect(t, s, noon, "n-1:lab-01/c")
	expect(t, s, noon.Add(6*time.Hour), "f-2:lab-01/d") // 18:00
}

// TestResume restores running jobs before and after their rig has enrolled.
// It fails if after a restart of the hub a device gets a second job.
func TestResume(t *testing.T) {
	s := New(Options{})
	s.Resume(job("r-1", "ann", nil), Assignment{"r-1", "lab-01", []string{"a"}})
	s.SetRig(lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7")))
	s.Resume(job("r-2", "ann", nil), Assignment{"r-2", "lab-01", []string{"b"}})
	s.Add(job("s-1", "ann", nil))
	s.Add(job("r-1", "ann", nil)) // it runs, so it does not wait again
	expect(t, s, noon, "")
	s.SetRig(lab("lab-01")) // the rig comes back without its device, and then with it
	s.SetRig(lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7")))
	expect(t, s, noon, "")
	s.Ended("r-2", time.Minute)
	expect(t, s, noon, "s-1:lab-01/b")
}

// run lets devices work until a time. It returns the used device-seconds of each owner and class.
func run(s *Scheduler, until time.Duration, refill func(done string, now time.Time),
	length func(id string) time.Duration, key func(id string) string) map[string]float64 {
	type end struct {
		id string
		at time.Time
	}
	used, running := map[string]float64{}, []end{}
	for now := noon; now.Before(noon.Add(until)); {
		for _, a := range s.Assign(now) {
			running = append(running, end{a.Job, now.Add(length(a.Job))})
			used[key(a.Job)] += length(a.Job).Seconds() * float64(len(a.Devices))
		}
		next := slices.MinFunc(running, func(a, b end) int { return a.at.Compare(b.at) })
		running = slices.DeleteFunc(running, func(e end) bool { return e == next })
		now = next.at
		s.Ended(next.id, length(next.id))
		refill(next.id, now)
	}
	return used
}

// jain is 1 if all have the same, and 1/n if one has all.
func jain(used map[string]float64) float64 {
	sum, squares := 0.0, 0.0
	for _, u := range used {
		sum, squares = sum+u, squares+u*u
	}
	return sum * sum / squares / float64(len(used))
}

// TestShares floods devices with jobs of all owners and classes.
// It fails if an owner with many, long or wrongly estimated jobs gets more than its turn.
func TestShares(t *testing.T) {
	for _, rigs := range []int{1, 7} {
		s := New(Options{})
		for r := range rigs {
			s.SetRig(lab(fmt.Sprint("lab-", r), phone("a", "pixel7")))
		}
		n := 0
		// An ID is OWNER-CLASS-NUMBER. Owner 0 has many groups, 1 has long jobs, and 2 says too little.
		add := func(like string, now time.Time) {
			var owner, class int
			fmt.Sscanf(like, "%d-%d-", &owner, &class)
			n++
			j := Job{ID: fmt.Sprintf("%d-%d-%d", owner, class, n), Owner: fmt.Sprint(owner), Class: classes[class],
				Estimate: time.Minute, Queued: now, Devices: 1}
			switch owner {
			case 0:
				j.Kind = fmt.Sprint("kind", n%10)
			case 1:
				j.Estimate = 5 * time.Minute
			}
			s.Add(j)
		}
		for owner := range 5 {
			for class := range 4 {
				for range 20 {
					add(fmt.Sprintf("%d-%d-", owner, class), noon)
				}
			}
		}
		length := func(id string) time.Duration {
			switch id[0] {
			case '1':
				return 5 * time.Minute
			case '2':
				return 4 * time.Minute
			}
			return time.Minute
		}
		used := run(s, 200*time.Hour, add, length, func(id string) string { return id[:3] })
		whole := 0.0
		for _, u := range used {
			whole += u
		}
		for class, want := range []float64{8. / 15, 4. / 15, 2. / 15, 1. / 15} {
			owners := map[string]float64{}
			share := 0.0
			for owner := range 5 {
				u := used[fmt.Sprintf("%d-%d", owner, class)]
				owners[fmt.Sprint(owner)], share = u, share+u/whole
			}
			if share < want*0.97 || share > want*1.03 {
				t.Errorf("%d rigs: class %s has %.3f of the time, want %.3f", rigs, classes[class], share, want)
			}
			if j := jain(owners); j < 0.99 {
				t.Errorf("%d rigs: class %s has a Jain index of %.3f: %v", rigs, classes[class], j, owners)
			}
		}
	}
}

// TestTeams floods devices with jobs of two teams and of an owner without one. It fails if the time
// of a team does not follow its share. The time must not depend on the number of its owners, groups
// or jobs. It fails too if owners of a team do not have equally much.
func TestTeams(t *testing.T) {
	for _, rigs := range []int{1, 7, 60} {
		s := New(Options{Teams: []Team{{Owners: []string{"a1", "a2", "a3"}, Share: 3}, {Owners: []string{"b1", "b2"},
			Share: 0.5}}})
		for r := range rigs {
			s.SetRig(lab(fmt.Sprint("lab-", r), phone("a", "pixel7")))
		}
		n := 0
		add := func(like string, now time.Time) {
			owner, _, _ := strings.Cut(like, "-")
			n++
			j := Job{ID: fmt.Sprint(owner, "-", n), Owner: owner, Estimate: time.Minute, Queued: now}
			if owner == "a1" || owner == "b1" {
				j.Kind = fmt.Sprint("kind", n%10)
			}
			s.Add(j)
		}
		length := func(id string) time.Duration {
			if id[1] == '2' { // its jobs take longer than they say
				return 4 * time.Minute
			}
			return time.Minute
		}
		for range 30 * rigs {
			for _, owner := range []string{"a1", "a2", "a3", "b1", "b2", "c"} {
				add(owner, noon)
			}
		}
		used := run(s, 100*time.Hour, add, length, func(id string) string { return strings.Split(id, "-")[0] })
		whole := 0.0
		for _, u := range used {
			whole += u
		}
		for owner, want := range map[string]float64{"a1": 1, "a2": 1, "a3": 1, "b1": 0.25, "b2": 0.25, "c": 1} {
			if got := used[owner] / whole * 4.5; got < want*0.95 || got > want*1.05 {
				t.Errorf("%d rigs: %s has %.3f of the time of c, want %.2f", rigs, owner, got, want)
			}
		}
	}
}

// TestTeamsOfNewDevices: shares hold where no device has served anybody before. Teams and owners
// that had no jobs save up no turns.
func TestTeamsOfNewDevices(t *testing.T) {
	s := New(Options{Teams: []Team{{Owners: []string{"a1", "a2"}, Share: 3}}})
	n := 0
	step := func(owners ...string) map[string]int {
		for r := range 90 {
			s.SetRig(lab(fmt.Sprint("lab-", n, "-", r), phone("a", "pixel7")))
			for _, owner := range owners {
				s.Add(job(fmt.Sprint(owner, "-", n, "-", r), owner, nil))
			}
		}
		n++
		got := map[string]int{}
		for _, a := range s.Assign(noon) {
			owner, _, _ := strings.Cut(a.Job, "-")
			got[owner]++
		}
		return got
	}
	step("a1")
	if got := fmt.Sprint(step("a1", "a2", "c")); got != "map[a1:33 a2:34 c:23]" {
		t.Errorf("a1 had jobs before: %s", got)
	}
}

// TestLightOwner adds one job now and then beside floods of three owners. It must come before
// any of them has two turns.
// It fails if an owner's only job waits behind the thousands of another.
func TestLightOwner(t *testing.T) {
	s := New(Options{})
	s.SetRig(lab("lab-01", phone("a", "pixel7")))
	for n := range 5000 {
		j := job(fmt.Sprint("f-", n), fmt.Sprint("o", n%3), nil)
		j.Kind = fmt.Sprint("kind", n%50)
		s.Add(j)
	}
	waits := 0
	for n := range 100 {
		if n%10 == 5 {
			s.Add(Job{ID: "light", Owner: "light", Estimate: time.Minute, Queued: noon.Add(time.Hour)})
			waits = 1
		}
		all := s.Assign(noon)
		if s.Ended(all[0].Job, time.Minute); all[0].Job == "light" {
			waits = 0
		} else if waits > 0 {
			waits++
		}
		if waits > 4 {
			t.Fatalf("after %d jobs the light owner still waits", n)
		}
	}
}

// fleet returns a scheduler of rigs with two devices each, and jobs of 20 owners in 100 groups.
func fleet(tb testing.TB, rigs, jobs int) *Scheduler {
	s := New(Options{})
	for r := range rigs {
		s.SetRig(lab(fmt.Sprintf("lab-%03d", r), benchDevice(r, 0), benchDevice(r, 1)))
	}
	for n := range jobs {
		s.Add(benchJob(tb, n))
	}
	return s
}

func benchDevice(r, d int) Device {
	return Device{Name: fmt.Sprint("d", d), Free: true, Labels: labels("model", fmt.Sprint("m", r%20),
		"os", fmt.Sprint("os", r%4), "browser", "firefox,chrome", "rig", fmt.Sprint("lab-", r), "certified", "yes")}
}

func benchJob(tb testing.TB, n int) Job {
	terms := []string{fmt.Sprintf("model=m%d,m%d", n%20, (n/20)%5)}
	return Job{ID: fmt.Sprintf("s-20261128-%08d", n), Owner: fmt.Sprint("owner", n%23), Class: classes[n%7%4],
		Kind: "suite", Needs: needs(tb, terms...), Devices: 1, Queued: noon.Add(time.Duration(n)),
		Estimate: time.Duration(60+n%600) * time.Second}
}

// BenchmarkAssign ends a job, assigns the next and adds one, with 100,000 waiting.
func BenchmarkAssign(b *testing.B) {
	const rigs, jobs = 500, 100_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := fleet(b, rigs, jobs)
	runtime.GC()
	runtime.ReadMemStats(&after)
	running := s.Assign(noon)
	b.ResetTimer()
	decided := 0
	for n := 0; b.Loop(); n++ {
		a := running[n%len(running)]
		s.Ended(a.Job, 2*time.Minute)
		s.Add(benchJob(b, jobs+n))
		next := s.Assign(noon.Add(time.Duration(n) * time.Second))
		running[n%len(running)] = next[0]
		decided += len(next)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/jobs, "bytes/job")
	b.ReportMetric(float64(decided)/b.Elapsed().Seconds(), "decisions/s")
	runtime.KeepAlive(s)
}
