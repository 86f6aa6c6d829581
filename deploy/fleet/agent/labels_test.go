package agent_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input/adb/adbtest"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/fleet/agent"
)

// TestDetectedLabels: the first poll has the model of a phone, as adb tells it, and the browser's
// version. The owner's words cannot change them.
func TestDetectedLabels(t *testing.T) {
	adb := adbtest.New(t, "XYZ\tdevice\n",
		adbtest.Command{Name: "getprop ro.product.model", Run: adbtest.Say("Pixel 7\n")},
		adbtest.Command{Name: "dumpsys package", Run: adbtest.Say("    versionName=148.0.1\n")})
	_, port, err := net.SplitHostPort(adb.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ANDROID_ADB_SERVER_PORT", port)
	h, dir, phone := newHub(t), t.TempDir(), daemontest.New("phone")
	phone.About.Input, phone.About.ADB = device.Input{Kind: device.InputNone}, "XYZ"
	phone.About.Browsers = []string{"chrome"}
	devices := daemontest.Devices{phone}
	r := daemontest.Start(t, dir, devices, nil)
	o := options(dir, r.Store, r.Queue(), r.Devices)
	o.Descriptions = devices.Descriptions
	o.Feeds = func(device string) []string { return []string{"for-" + device} }
	o.Tests = func() (all, profiled []string) { return []string{"scene", "slow"}, []string{"slow"} }
	o.Labels = map[string]map[string]string{"phone": {"model": "mine", "room": "2"}}
	if err := agent.Write(dir, h.fleet, []byte("seed"), "jwt"); err != nil {
		t.Fatal(err)
	}
	start(t, o)
	h.until(t, r, "the first poll", func() bool { return h.polls > 0 })
	h.mu.Lock()
	defer h.mu.Unlock()
	labels := h.poll.Devices[0].Labels
	for key, want := range map[string]string{"model": "pixel7", "os": "android", "browser": "chrome,chrome-148",
		"network": "none", "room": "2"} {
		if labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, labels[key], want)
		}
	}
	if got := fmt.Sprint(h.poll.Tests, h.poll.Profiled, h.poll.Devices[0].Feeds); got != "[scene slow] [slow] "+
		"[for-phone]" {
		t.Errorf("the rig tells of the tests and feeds %s", got)
	}
}

// TestDeviceReasons: a rig polls at once when a device gets another reason to take no job.
//
// Fault: A job of a fleet waits on a device that somebody has just reserved
func TestDeviceReasons(t *testing.T) {
	h, dir, a := newHub(t), t.TempDir(), daemontest.New("a")
	free := a.Hold()
	r := daemontest.Start(t, dir, daemontest.Devices{a}, nil)
	o := options(dir, r.Store, r.Queue(), r.Devices)
	o.Poll = time.Hour
	if err := agent.Write(dir, h.fleet, []byte("seed"), "jwt"); err != nil {
		t.Fatal(err)
	}
	start(t, o)
	is := func(reason string) {
		t.Helper()
		h.until(t, r, "a poll with "+reason, func() bool { return h.polls > 0 && h.poll.Devices[0].Reason == reason })
	}
	is("")
	kept, err := r.Reserve("ben", false, api.ReserveParams{Device: "a", ForNS: int64(time.Hour), Note: "new cable"})
	if err != nil {
		t.Fatal(err)
	}
	is("reserved for ben: new cable")
	if _, err := r.Reserve("ben", false, api.ReserveParams{Device: "a", Key: kept.Key, Release: true}); err != nil {
		t.Fatal(err)
	}
	is("")
	j := r.Scene("ben", api.StartParams{Devices: []string{"a"}})
	is("runs " + j.ID + " of its rig")
	free()
	is("")
}
