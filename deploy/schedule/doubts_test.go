package schedule

import (
	"errors"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// TestDoubts: each name of a schedule that cannot be used is stated once, before it runs. Devices
// of other machines are not judged.
//
// Fault: A schedule names a device, a browser or a build that does not exist
func TestDoubts(t *testing.T) {
	got := Doubts(map[string]config.Schedule{
		"a": {On: "feed.main", Devices: []string{"local", "locl"}, Browsers: []string{"firefox@main", "opera"},
			Control: "firefox@main:v9"},
		"b": {On: "feed.gone", Devices: []string{"lab-1/x"}, Browsers: []string{"firefox@gone"}},
		"c": {Cron: "0 3 * * *", Devices: []string{"local"}, Browsers: []string{"firefox"}},
	}, Surroundings{
		Device: func(name string, b api.Browser) error {
			switch {
			case name != "local":
				return errors.New("no device " + name)
			case b.Kind == "opera":
				return errors.New("no browser opera")
			}
			return nil
		},
		Build: func(feed, build string) error {
			if feed == "gone" || build == "v9" {
				return errors.New("no " + feed + ":" + build)
			}
			return nil
		},
	})
	want := []string{"schedule a: no device locl", "schedule a: no browser opera", "schedule a: no main:v9",
		"schedule b: no gone:"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
