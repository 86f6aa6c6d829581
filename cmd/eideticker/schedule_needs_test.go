package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// TestNeedsOfSchedules: a schedule whose needs or browsers fit no device of a fleet is named, with
// the nearest label. A build of a site needs an installed browser.
func TestNeedsOfSchedules(t *testing.T) {
	t.Parallel()
	rigs := api.FleetRigs{Rigs: []api.FleetRig{{Rig: "lab-01", Devices: []api.FleetDevice{
		{Device: "p", Labels: map[string]string{"model": "pixel7", "browser": "chromium,firefox"}}}}}}
	for want, s := range map[string]config.Schedule{
		"<nil>": {Needs: []string{"model=pixel7,pixel8", "rig=lab-01"},
			Browsers: []string{"chromium@shop", "safari@new"}},
		"no device has model=pixel9; there are pixel7": {Needs: []string{"model=pixel9"}},
		"no fitting device has a browser safari; there are chromium, firefox": {Needs: []string{"model=pixel7"},
			Browsers: []string{"chromium@shop"}, Control: "safari@shop:v1"},
	} {
		conf := &config.Config{Schedule: map[string]config.Schedule{"a": s},
			Feed: map[string]config.Feed{"shop": {Of: config.OfSite}, "new": {}}}
		if err := fits(rigs, conf, "a"); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestNeedsWithoutHub: a check without a hub says that it does not know the fleet.
func TestNeedsWithoutHub(t *testing.T) {
	t.Parallel()
	file := writeConfig(t, fmt.Sprintf("data_dir = %q\n[schedule.a]\ncron = \"0 3 * * *\"\ntests = [\"load\"]\n"+
		"needs = { model = \"pixel7\" }\nbrowsers = [\"firefox\"]\n", t.TempDir()))
	var out, errOut output
	code := run(t.Context(), []string{"schedule", "check", "--config", file}, nil, &out, &errOut)
	if code != exitOK || !strings.Contains(errOut.String(),
		"warning: schedule a: needs are not compared with the fleet; give --hub URL\n") {
		t.Errorf("exit code %d: %s%s", code, out.String(), errOut.String())
	}
}
