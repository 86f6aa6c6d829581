package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// A device whose runs fail repeatedly gets no more, also after a restart, until it is released.
//
// Fault: Runs on a device fail repeatedly
func TestQuarantine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := daemontest.New("a")
	change := func(o *daemon.Options) { o.QuarantineAfter = 2 }
	r := daemontest.Start(t, dir, daemontest.Devices{d}, change)
	d.Break(errors.New("the cable is loose"))
	free := d.Hold()
	var ids []string
	for range 3 {
		ids = append(ids, r.Scene("ci", api.StartParams{Devices: []string{"a"}}).ID)
	}
	free()
	r.Ended(ids[1])
	if u := r.Devices()[0]; u.State != "quarantined" ||
		!strings.Contains(u.Quarantine, "2 runs in a row have failed") ||
		!strings.Contains(u.Quarantine, "the cable is loose") {
		t.Fatalf("%+v", u)
	}
	if j, _ := r.Job(ids[2]); j.State != "queued" || !strings.Contains(j.Reason, "quarantine") {
		t.Errorf("%+v", j)
	}
	if _, err := r.Daemon.Start(t.Context(), "ci", api.StartParams{Test: "scene", Devices: []string{"a"}}); code(
		err) != api.Unavailable {
		t.Errorf("a job for a device under quarantine: %v", err)
	}
	r.Stop()
	d.Break(nil)
	r = daemontest.Start(t, dir, daemontest.Devices{d}, change)
	if u := r.Devices()[0]; u.State != "quarantined" {
		t.Fatalf("after a restart: %+v", u)
	}
	if j, err := r.Job(ids[2]); err != nil || j.State != "queued" {
		t.Errorf("after a restart: %+v, %v", j, err)
	}
	if _, err := r.Quarantine(api.QuarantineParams{Device: "a", Lift: true}); err != nil {
		t.Fatal(err)
	}
	if j := r.Ended(ids[2]); j.State != "ok" {
		t.Errorf("%+v", j)
	}
}

// Crashes of a bad build do not quarantine a device. They do not reset its count of faults.
func TestCrashesDoNotQuarantine(t *testing.T) {
	t.Parallel()
	d := daemontest.New("a")
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, func(o *daemon.Options) { o.QuarantineAfter = 2 })
	fails := func(fault string, failures int, state string) {
		t.Helper()
		j := r.Ended(r.Scene("ci", api.StartParams{Devices: []string{"a"}}).ID)
		if j.State != "failed" || j.Fault != fault {
			t.Fatalf("%+v", j)
		}
		if u := r.Devices()[0]; u.Failures != failures || u.State != state {
			t.Fatalf("after a fault of the %s: %+v", fault, u)
		}
	}
	d.Crash(errors.New("the browser crashed"))
	for range 3 {
		fails("product", 0, "free")
	}
	d.Break(errors.New("the cable is loose"))
	fails("lab", 1, "free")
	d.Break(nil)
	fails("product", 1, "free")
	d.Break(errors.New("the cable is loose"))
	fails("lab", 2, "quarantined")
}

func TestReserve(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("a")}, nil)
	hour := int64(time.Hour)
	mine, err := r.Reserve("me", false, api.ReserveParams{Device: "a", ForNS: hour, Note: "new cable"})
	if err != nil || mine.Key == "" {
		t.Fatal(err)
	}
	if _, err := r.Reserve("you", false, api.ReserveParams{Device: "a", ForNS: hour}); code(err) != api.Busy {
		t.Errorf("reserved twice: %v", err)
	}
	if _, err := r.Reserve("you", false, api.ReserveParams{Device: "a", Release: true}); code(err) != api.Forbidden {
		t.Errorf("released by somebody else: %v", err)
	}
	yours := r.Scene("you", api.StartParams{Devices: []string{"a"}})
	if j := r.Ended(r.Scene("me", api.StartParams{Devices: []string{"a"}, Reservation: mine.Key}).ID); j.State != "ok" {
		t.Errorf("%+v", j)
	}
	r.Until("the job to say what it waits for", func() bool {
		j, _ := r.Job(yours.ID)
		return j.State == "queued" && strings.Contains(j.Reason, "reserved for me")
	})
	if _, err := r.Daemon.Start(t.Context(), "you", api.StartParams{Test: "scene", Devices: []string{"a"},
		Reservation: "guess"}); code(err) != api.InvalidParams {
		t.Errorf("a wrong key: %v", err)
	}
	if _, err := r.Reserve("me", false, api.ReserveParams{Device: "a", ForNS: int64(time.Millisecond),
		Key: mine.Key}); err != nil {
		t.Error(err) // it ends by itself
	}
	if j := r.Ended(yours.ID); j.State != "ok" {
		t.Errorf("%+v", j)
	}
}

// A run from the shell and the daemon keep each other from a device.
//
// Fault: Another program uses a device that a job needs
func TestOtherProgramHasDevice(t *testing.T) {
	t.Parallel()
	r := daemontest.Start(t, t.TempDir(), daemontest.Devices{daemontest.New("shared")}, nil)
	lock, err := r.Store.Locks.Take(t.Context(), "shared", false)
	if err != nil {
		t.Fatal(err)
	}
	used := fmt.Sprintf("process %d (daemon.test of ", os.Getpid())
	r.Until("the device to be in use by another program", func() bool {
		u := r.Devices()[0]
		return u.State == "elsewhere" && strings.HasPrefix(u.InUseBy, used)
	})
	j := r.Scene("ci", api.StartParams{Devices: []string{"shared"}})
	r.Until("the job to say what it waits for", func() bool {
		j, _ := r.Job(j.ID)
		return strings.Contains(j.Reason, "in use by "+used)
	})
	if u := r.Devices()[0]; u.State != "elsewhere" || !strings.HasPrefix(u.InUseBy, used) {
		t.Errorf("%+v", u)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if j = r.Ended(j.ID); j.State != "ok" {
		t.Errorf("%+v", j)
	}
	if lock, err = r.Store.Locks.Take(t.Context(), "shared", false); err != nil {
		t.Errorf("the daemon has not given the device back: %v", err)
	}
	r.Until("the device to be in use again", func() bool { return r.Devices()[0].InUseBy != "" })
	lock.Close()
	r.Until("the device to be free", func() bool { u := r.Devices()[0]; return u.State == "free" && u.InUseBy == "" })
}

// switchable is a device whose switch records its commands.
func switchable(t *testing.T) (d *daemontest.Device, done func() string) {
	file := filepath.Join(t.TempDir(), "log")
	said := func(word string) []string { return []string{"sh", "-c", "echo " + word + " >> " + file} }
	d = daemontest.New("a")
	d.About.Power = device.Power{On: said("on"), Off: said("off")}
	return d, func() string {
		b, _ := os.ReadFile(file) // not there: nothing was done
		return string(b)
	}
}

// A device that is switched off and on again is on in the end. This holds if the client disconnects
// meanwhile, or the rig is stopped.
func TestPowerCycle(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(r *daemontest.Rig, hangUp func()){
		"the client has": func(_ *daemontest.Rig, hangUp func()) { hangUp() },
		"the rig has":    func(r *daemontest.Rig, _ func()) { r.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, done := switchable(t)
			r := daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			answer := make(chan error, 1)
			go func() {
				_, err := r.Power(ctx, api.PowerParams{Device: "a", Do: "cycle"})
				answer <- err
			}()
			r.Until("the device to be off", func() bool { return done() == "off\n" })
			if j := r.Scene("ci", api.StartParams{Devices: []string{"a"}}); !strings.Contains(j.Reason, "switched") {
				t.Errorf("a job for a device that is off: %+v", j)
			}
			leave(r, hangUp)
			if name != "the rig has" { // Stop waits by itself
				if err := <-answer; err != nil {
					t.Error(err)
				}
			}
			if got := done(); got != "off\non\n" {
				t.Errorf("what was done: %q", got)
			}
		})
	}
}
