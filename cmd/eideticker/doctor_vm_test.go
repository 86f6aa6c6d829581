//go:build linux && amd64

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/built"
	"github.com/eideticker/eideticker/deploy/doctor"
	"github.com/eideticker/eideticker/deploy/rigvm"
)

// TestVMDoctor runs the program itself on a kernel that has capture devices: an HDMI receiver with
// a signal, and a webcam.
func TestVMDoctor(t *testing.T) {
	rigvm.Need(t)
	t.Parallel()
	program, err := built.Program()
	if err != nil {
		t.Fatal(err)
	}
	vm := rigvm.Boot(t, rigvm.Config{
		Files: map[string]string{"/bin/eideticker": program},
		Modules: []rigvm.Module{{Name: "vivid", Options: []string{
			"n_devs=2", "node_types=0x1,0x1", "num_inputs=1,1", "input_types=0x3,0x0",
		}}},
	})
	findings := askDoctor(t, vm)
	want := func(id, object string, level doctor.Level, found string) doctor.Finding {
		t.Helper()
		i := slices.IndexFunc(findings, func(f doctor.Finding) bool { return f.ID == id && f.Object == object })
		if i < 0 {
			t.Fatalf("no finding %s of %s", id, object)
		}
		f := findings[i]
		if f.Level != level || !strings.Contains(f.Found, found) {
			t.Errorf("%s of %s: %v %q, want %v %q", id, object, f.Level, f.Found, level, found)
		}
		return f
	}
	for _, path := range []string{"/dev/video0", "/dev/video1"} {
		want("device", path, doctor.OK, "driver vivid")
	}
	hdmi := want("signal", "/dev/video0", doctor.OK, "signal, 1280x720p60, recorded as 1280x720 ")
	if n := hdmi.Numbers; n["width_px"] != 1280 || n["height_px"] != 720 || n["frames_per_s"] != 60 ||
		n["needed_bytes_per_s"] < 1280*720*60 {
		t.Errorf("%v", n)
	}
	// Its mode is part of what the disk has to take.
	webcam := want("signal", "/dev/video1", doctor.Info, "not told by the device, recorded as ")
	i := slices.IndexFunc(findings, func(f doctor.Finding) bool { return f.ID == "disk-speed" })
	if i < 0 || !strings.Contains(findings[i].Found, "2 inputs at once") ||
		findings[i].Numbers["needed_most_bytes_per_s"] != hdmi.Numbers["needed_bytes_per_s"]+
			webcam.Numbers["needed_bytes_per_s"] {
		t.Errorf("the disk is not held against both: %+v", findings)
	}
	want("video-group", "", doctor.OK, "root")
}

// askDoctor returns the findings of a run in the VM, whatever they are.
func askDoctor(t *testing.T, vm *rigvm.VM) []doctor.Finding {
	t.Helper()
	res, err := vm.Run(t.Context(), rigvm.Command{Path: "/bin/eideticker", Args: []string{"doctor", "--json"}})
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		OK       bool             `json:"ok"`
		Findings []doctor.Finding `json:"findings"`
	}
	if err := json.Unmarshal(res.Stdout, &report); err != nil || report.OK != (res.ExitCode == exitOK) {
		t.Fatalf("exit code %d, %v: %s\n%s", res.ExitCode, err, res.Stdout, res.Stderr)
	}
	t.Logf("%s", res.Stdout)
	return report.Findings
}
