package sched

import (
	"fmt"
	"testing"
	"time"
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

func assigned(s *Scheduler, now time.Time) string { return fmt.Sprint(s.Assign(now)) }

func TestAssign(t *testing.T) {
	s := New(Options{})
	s.SetRig(lab("lab-01", phone("a", "pixel7"), phone("b", "pixel8")))
	s.Add(job("s-1", "ann", needs(t, "model=pixel8")))
	s.Add(job("s-2", "ann", nil))
	if got, want := assigned(s, noon), "[{s-1 lab-01 [b]} {s-2 lab-01 [a]}]"; got != want && got != "[{s-2 lab-01 [a]} {s-1 lab-01 [b]}]" {
		t.Errorf("assigned %s, want %s", got, want)
	}
}
