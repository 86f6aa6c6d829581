package sched

import (
	"fmt"
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

// TestFillKeepsNoDevice: a job of class fill that waits for a set of its class keeps no device from
// other classes. Without such a set it does.
// It fails if a person waits beside a free device until a set ends.
func TestFillKeepsNoDevice(t *testing.T) {
	s := New(Options{})
	add := func(id, class string, devices int) {
		j := job(id, "ann", nil)
		j.Class, j.Devices = class, devices
		s.Add(j)
	}
	s.SetRig(lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7"), phone("c", "pixel7")))
	add("f-1", "fill", 1)
	expect(t, s, noon, "f-1:lab-01/a")
	add("w-1", "watch", 1)
	expect(t, s, noon, "w-1:lab-01/b")
	add("f-3", "fill", 3)
	expect(t, s, noon, "")
	add("n-1", "now", 1)
	if _, why := s.Wait("n-1", noon); why != "it begins next" {
		t.Error(why)
	}
	expect(t, s, noon, "n-1:lab-01/c")
	s.Ended("w-1", time.Minute)
	expect(t, s, noon, "")
	add("n-2", "now", 2) // it is kept b, and a job of its class does not get it
	expect(t, s, noon, "")
	add("n-3", "now", 1)
	add("f-4", "fill", 1)
	expect(t, s, noon, "")
	s.Ended("n-1", time.Minute)
	expect(t, s, noon, "n-2:lab-01/b+c")
	s.Ended("n-2", time.Minute)
	expect(t, s, noon, "n-3:lab-01/b")
	s.Ended("f-1", time.Hour)
	expect(t, s, noon, "")
	add("n-4", "now", 1)
	expect(t, s, noon, "") // only n-3 is waited for
	s.Ended("n-3", time.Minute)
	expect(t, s, noon, "f-3:lab-01/c+a+b")
}

// TestFillWithOpenDevice: other classes get the device of a set that yields, whatever job of class
// fill waits for it. Another job of class fill does not pass that.
func TestFillWithOpenDevice(t *testing.T) {
	s := New(Options{})
	rig := lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7"), phone("c", "pixel7"))
	rig.Yields, rig.Accept.Owners = true, []string{"ann"}
	s.SetRig(rig)
	s.SetRig(lab("lab-02", phone("a", "pixel8")))
	add := func(id, owner, class string, devices int) {
		j := job(id, owner, nil)
		j.Class, j.Devices = class, devices
		s.Add(j)
	}
	add("b-1", "ben", "now", 1)
	expect(t, s, noon, "b-1:lab-02/a")
	add("b-2", "ben", "now", 1)
	add("f-1", "ann", "fill", 1)
	expect(t, s, noon, "f-1:lab-01/a")
	add("f-3", "ann", "fill", 3)
	expect(t, s, noon, "")
	add("f-4", "ann", "fill", 1)
	expect(t, s, noon, "")
	for _, want := range []string{"n-1:lab-01/b", "n-2:lab-01/c", "n-3:lab-01/a"} {
		add(want[:3], "ann", "now", 1)
		expect(t, s, noon, want)
	}
	s.Remove("f-3")
	s.Ended("n-3", time.Minute)
	add("f-2", "ann", "fill", 2)
	s.Ended("n-1", time.Minute)
	expect(t, s, noon, "") // for f-2, which waits for n-2
	add("n-4", "ann", "now", 1)
	expect(t, s, noon, "n-4:lab-01/a")
}

// TestFillYieldsInReservation: a device whose set yields counts once among those of other classes.
// It fails if a person waits although a set would yield.
func TestFillYieldsInReservation(t *testing.T) {
	for want, devices := range map[string][]int{"n-0:lab-01/a n-1:lab-01/b": {1, 1}, "n-0:lab-01/a+b": {2}} {
		s := New(Options{Reserve: []Reservation{{Class: "watch", Share: 0.5}}})
		rig := lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7"), phone("c", "pixel7"), phone("d", "pixel7"))
		rig.Yields = true
		s.SetRig(rig)
		add := func(id, class string, devices int) {
			j := job(id, "ann", nil)
			j.Class, j.Devices = class, devices
			s.Add(j)
		}
		add("f-1", "fill", 2)
		add("f-2", "fill", 1)
		expect(t, s, noon, "f-1:lab-01/a+b")
		for n, of := range devices {
			add(fmt.Sprint("n-", n), "now", of)
		}
		expect(t, s, noon, want)
		add("w-1", "watch", 2)
		expect(t, s, noon, "w-1:lab-01/c+d")
	}
}

// TestFillsLend: each set that yields to a job lends it time once.
func TestFillsLend(t *testing.T) {
	s := New(Options{})
	rig := lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7"), phone("c", "pixel7"))
	rig.Yields = true
	s.SetRig(rig)
	for n, class := range []string{"fill", "fill", "now"} {
		j := job(class+fmt.Sprint(n), "ann", nil)
		j.Class, j.Devices = class, n+1
		s.Add(j)
		if got := s.Assign(noon); len(got) != 1 {
			t.Fatal(got)
		}
	}
	s.Ended("now2", time.Minute)
	for _, id := range []string{"fill0", "fill1"} {
		if got := s.jobs[id].run.lent; got != time.Minute {
			t.Errorf("%s lent its devices for %v", id, got)
		}
	}
}
