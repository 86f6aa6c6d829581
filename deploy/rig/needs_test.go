package rig

import (
	"fmt"
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
		if err := FitsFleet(rigs, conf, "a"); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
