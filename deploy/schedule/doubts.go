package schedule

import (
	"maps"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// Surroundings are looked at for names in schedules.
type Surroundings struct {
	// Device returns why a device cannot run a browser.
	Device func(name string, b api.Browser) error
	// Build returns why a build of a feed cannot run; "": the newest.
	Build func(feed, build string) error
}

// Doubts returns a sentence for each name in schedules that cannot be used now. Devices and builds
// may come later, so it returns no error. Devices of a fleet's rigs are left out.
func Doubts(schedules map[string]config.Schedule, s Surroundings) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(schedules)) {
		c := schedules[name]
		note := func(err error) {
			if err == nil {
				return
			}
			if text := "schedule " + name + ": " + err.Error(); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		if c.On != "" {
			note(s.Build(c.Feed(), ""))
		}
		for _, text := range append(slices.Clone(c.Browsers), c.Control) {
			b, err := api.ParseBrowser(text)
			if text == "" || err != nil { // no control, or an error of the configuration
				continue
			}
			if b.Feed != "" {
				note(s.Build(b.Feed, b.Build))
			}
			for _, device := range c.Devices {
				if !strings.Contains(device, "/") {
					note(s.Device(device, b))
				}
			}
		}
	}
	return all
}
