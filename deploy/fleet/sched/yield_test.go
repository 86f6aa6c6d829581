package sched

import (
	"testing"
	"time"
)

// TestFillYields: a set of class fill has its device again after each job of another class. A free
// device comes before one whose set yields.
// It fails if a person waits for the end of a set that measures older builds.
func TestFillYields(t *testing.T) {
	s := New(Options{})
	rig := lab("lab-01", phone("a", "pixel7"))
	s.SetRig(rig) // of an older version
	add := func(id, class string) {
		j := job(id, "ann", nil)
		j.Class = class
		s.Add(j)
	}
	add("f-1", "fill")
	expect(t, s, noon, "f-1:lab-01/a")
	add("f-2", "fill")
	add("n-1", "now")
	expect(t, s, noon, "")
	rig.Yields = true
	s.SetRig(rig)
	expect(t, s, noon, "n-1:lab-01/a")
	add("n-2", "watch")
	expect(t, s, noon, "")
	if _, why := s.Wait("n-2", noon); why != "waits for lab-01/a, which runs n-1" {
		t.Error(why)
	}
	s.Ended("n-1", time.Minute)
	if got := s.jobs["f-1"].run.lent; got != time.Minute {
		t.Errorf("the set lent its device for %v", got)
	}
	expect(t, s, noon, "n-2:lab-01/a")
	s.Ended("f-1", time.Hour) // its last block was over
	expect(t, s, noon, "")
	s.Ended("n-2", time.Minute)
	expect(t, s, noon, "f-2:lab-01/a")
	rig.Devices = append(rig.Devices, phone("b", "pixel7"))
	s.SetRig(rig)
	add("n-3", "now")
	expect(t, s, noon, "n-3:lab-01/b")
	rig.Devices[0].Free, rig.Devices[0].Reason = false, "reserved for ben"
	s.SetRig(rig)
	add("n-4", "now")
	expect(t, s, noon, "")
	rig.Devices[0].Reason = ""
	s.SetRig(rig)
	two := job("t-1", "ben", nil)
	two.Devices = 2
	s.Add(two)
	expect(t, s, noon, "") // it is the turn of ben, and the set goes on until b is free
	s.Ended("n-3", time.Minute)
	expect(t, s, noon, "t-1:lab-01/b+a")
	s.Ended("t-1", time.Minute)
	expect(t, s, noon, "n-4:lab-01/b")
}

// TestFillYieldsOverRestart: after a restart the hub has both jobs of a device, in any order.
func TestFillYieldsOverRestart(t *testing.T) {
	for _, order := range [][]string{{"fill", "now"}, {"now", "fill"}} {
		s := New(Options{})
		for _, class := range order {
			j := job(class, "ann", nil)
			j.Class = class
			s.Resume(j, Assignment{class, "lab-01", []string{"a"}})
		}
		rig := lab("lab-01", phone("a", "pixel7"))
		rig.Yields = true
		s.SetRig(rig)
		s.Add(job("n-1", "ann", nil))
		expect(t, s, noon, "")
		s.Ended("now", time.Minute)
		expect(t, s, noon, "n-1:lab-01/a")
		s.Ended("n-1", time.Minute)
		j := job("f-1", "ann", nil)
		j.Class = "fill"
		s.Add(j)
		expect(t, s, noon, "")
		s.Ended("fill", time.Minute)
		expect(t, s, noon, "f-1:lab-01/a")
	}
}
