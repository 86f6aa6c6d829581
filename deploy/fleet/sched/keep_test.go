package sched

import (
	"testing"
	"time"
)

// TestKeep follows a set from its first device until the device has been idle too long.
// It fails if the jobs of a bisect run on different devices.
// It fails if a kept device stays idle after its set has ended.
func TestKeep(t *testing.T) {
	s := New(Options{})
	s.SetRig(lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7")))
	add := func(id, class, keep string) {
		j := job(id, "ann", nil)
		j.Class, j.Keep = class, keep
		s.Add(j)
	}
	add("k-1", "check", "set")
	expect(t, s, noon, "k-1:lab-01/a")
	add("k-2", "check", "set")
	expect(t, s, noon, "") // b is free, but the set has its device
	s.Ended("k-1", time.Minute)
	expect(t, s, noon, "k-2:lab-01/a")
	s.Ended("k-2", time.Minute)
	add("w-1", "watch", "")
	add("w-2", "watch", "")
	expect(t, s, noon, "w-1:lab-01/b") // the other waits for the kept one
	add("n-1", "now", "")
	expect(t, s, noon.Add(time.Minute), "n-1:lab-01/a") // a person comes between
	s.Ended("n-1", time.Minute)
	expect(t, s, noon.Add(9*time.Minute), "")
	expect(t, s, noon.Add(10*time.Minute), "w-2:lab-01/a")
}

// TestRelease: the device of a set that has ended is free at once. That of a set with a running job
// is free when the job ends.
func TestRelease(t *testing.T) {
	s := New(Options{})
	s.SetRig(lab("lab-01", phone("a", "pixel7")))
	add := func(id, keep string) {
		j := job(id, "ann", nil)
		j.Keep = keep
		s.Add(j)
	}
	s.Release("set") // unknown
	add("k-1", "set")
	expect(t, s, noon, "k-1:lab-01/a")
	s.Ended("k-1", time.Minute)
	add("w-1", "")
	expect(t, s, noon, "")
	s.Release("set")
	expect(t, s, noon, "w-1:lab-01/a")
	s.Ended("w-1", time.Minute)
	add("k-2", "other")
	expect(t, s, noon, "k-2:lab-01/a")
	add("w-2", "")
	s.Release("other")
	expect(t, s, noon, "")
	s.Ended("k-2", time.Minute)
	expect(t, s, noon, "w-2:lab-01/a")
}

// TestRest: after a restart a set has the device of its latest job, though the rig enrols later.
func TestRest(t *testing.T) {
	s := New(Options{})
	of := func(id, keep string) Job {
		j := job(id, "ann", nil)
		j.Keep = keep
		return j
	}
	s.Resume(of("l-1", "live"), Assignment{"l-1", "lab-01", []string{"c"}})
	s.Rest(of("l-0", "live"), Assignment{"l-0", "lab-01", []string{"a"}})
	s.Resume(of("n-1", ""), Assignment{"n-1", "lab-01", []string{"d"}})
	s.Rest(of("m-1", "other"), Assignment{"m-1", "lab-01", []string{"d"}}) // a person came between
	s.Rest(of("k-2", "set"), Assignment{"k-2", "lab-01", []string{"b"}})
	s.Rest(of("k-1", "set"), Assignment{"k-1", "lab-01", []string{"a"}})
	s.Rest(of("e-9", "earlier"), Assignment{"e-9", "lab-01", []string{"b"}}) // it had the device before
	s.Release("earlier")
	s.SetRig(lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7"), phone("c", "pixel7"), phone("d", "pixel7")))
	s.Rest(of("e-8", "earlier"), Assignment{"e-8", "lab-01", []string{"b", "c", "d"}})
	s.Release("earlier")
	s.Add(of("w-1", ""))
	s.Add(of("w-2", ""))
	expect(t, s, noon, "w-1:lab-01/a")
	s.Add(of("k-3", "set"))
	expect(t, s, noon.Add(9*time.Minute), "k-3:lab-01/b")
	s.Ended("k-3", time.Minute)
	expect(t, s, noon.Add(10*time.Minute), "")
	expect(t, s, noon.Add(20*time.Minute), "w-2:lab-01/b")
}

// TestKeepAway: a set waits for a device that is away, then takes another one and keeps that.
func TestKeepAway(t *testing.T) {
	s := New(Options{})
	first, second := lab("lab-01", phone("a", "pixel7")), lab("lab-02", phone("b", "pixel7"))
	s.SetRig(first)
	add := func(id string) {
		j := job(id, "ann", nil)
		j.Keep = "set"
		s.Add(j)
	}
	add("k-1")
	expect(t, s, noon, "k-1:lab-01/a")
	s.SetRig(second)
	s.Ended("k-1", time.Minute)
	first.Online = false
	s.SetRig(first)
	add("k-2")
	expect(t, s, noon, "")
	if _, why := s.Wait("k-2", noon); why != "waits for the device that set keeps" {
		t.Error(why)
	}
	expect(t, s, noon.Add(9*time.Minute), "")
	expect(t, s, noon.Add(10*time.Minute), "k-2:lab-02/b")
	s.Ended("k-2", time.Minute)
	first.Online = true
	s.SetRig(first)
	add("k-3")
	expect(t, s, noon.Add(11*time.Minute), "k-3:lab-02/b")
	s.Ended("k-3", time.Minute)
	gone := second
	gone.Devices = nil // a rig that lists its device again still keeps it
	s.SetRig(gone)
	s.SetRig(second)
	add("k-4")
	expect(t, s, noon.Add(12*time.Minute), "k-4:lab-02/b")
}

// TestClaimLeavesKept: a job of two devices neither takes the device of a set, nor keeps another
// one idle for it. It begins when the set has ended.
func TestClaimLeavesKept(t *testing.T) {
	s := New(Options{})
	s.SetRig(lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7")))
	add := func(id, keep string, devices int) {
		j := job(id, "ann", nil)
		j.Class, j.Keep, j.Devices = "check", keep, devices
		s.Add(j)
	}
	add("k-1", "set", 1)
	expect(t, s, noon, "k-1:lab-01/a")
	add("t-1", "", 2)
	expect(t, s, noon, "")
	add("w-1", "", 1)
	expect(t, s, noon, "w-1:lab-01/b") // it is not idle while the set runs
	s.Ended("w-1", time.Minute)
	s.Ended("k-1", time.Minute)
	expect(t, s, noon, "")
	_, why := s.Wait("t-1", noon)
	if why != "waits until 2 devices of lab-01 are free; lab-01/a is kept for a set of jobs" {
		t.Error(why)
	}
	add("k-2", "set", 1)
	expect(t, s, noon, "k-2:lab-01/a")
	s.Ended("k-2", time.Minute)
	expect(t, s, noon, "")
	expect(t, s, noon.Add(9*time.Minute), "")
	expect(t, s, noon.Add(10*time.Minute), "t-1:lab-01/a+b")

	s.Ended("t-1", time.Minute)
	add("o-1", "", 1)
	expect(t, s, noon.Add(11*time.Minute), "o-1:lab-01/a")
	add("t-2", "", 2)
	expect(t, s, noon.Add(11*time.Minute), "") // b waits for it
	rest := lab("lab-01", phone("a", "pixel7"), phone("b", "pixel7"))
	rest.Devices[0].Free, rest.Devices[0].Reason = false, "reserved for ben"
	s.SetRig(rest)
	add("w-2", "", 1)
	expect(t, s, noon.Add(11*time.Minute), "w-2:lab-01/b") // until a is free for jobs, b works
}
