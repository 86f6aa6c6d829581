package main

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
)

// TestRunOnRigBaseline: runs on a rig are compared with its baseline, by browser. The exit code has
// the outcome.
func TestRunOnRigBaseline(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays a scene nine times in real time; TestRunOnRig plays some")
	}
	t.Parallel()
	device := daemontest.New("local")
	rig := daemontest.Start(t, t.TempDir(), daemontest.Devices{device}, nil)
	address := answering(t, rig, nil)
	c, err := client.New(address, "")
	if err != nil {
		t.Fatal(err)
	}
	base := rig.Played(api.StartParams{Repeat: 2, Browsers: []string{"one", "two"}})
	if err := c.Call(t.Context(), "baseline.set", api.Baseline{Name: "release", ID: base.ID}, nil); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		out  []string
	}{
		{[]string{"scene", "--repeat", "2", "-b", "one", "--baseline", "release", "--fail-on-regression"}, exitOK,
			[]string{"one against release: passed"}},
		{[]string{"scene", "-b", "one", "-b", "two", "--baseline", "release", "--fail-on-regression"},
			exitInconclusive, []string{"one against release: ", "two against release: "}},
		{[]string{"scene", "-b", "one", "--baseline", base.ID + "~one~run-01"}, exitOK, []string{"against " + base.ID}},
		{[]string{"scene", "--baseline", "none"}, exitUsage, nil},
	} {
		if tc.code == exitInconclusive { // one is too few to tell
			device.Scene = strings.Replace(daemontest.Brief, "frames=24", "frames=54", 1)
		}
		code, out, errOut := runOn(t, address, append(tc.args, "--max-lost", "100%")...)
		device.Scene = daemontest.Brief
		if code != tc.code {
			t.Errorf("%q: exit code %d, want %d\n%s\n%s", tc.args, code, tc.code, out, errOut)
		}
		for _, want := range tc.out {
			if !strings.Contains(out, want) {
				t.Errorf("%q does not say %q:\n%s\n%s", tc.args, want, out, errOut)
			}
		}
	}
	var out, errOut output
	if code := run(t.Context(), []string{"run", "scene", "--baseline", "release"}, nil, &out,
		&errOut); code != exitUsage || !strings.Contains(errOut.String(), "--rig") {
		t.Errorf("without a rig: exit code %d, %s", code, errOut.String())
	}
}
