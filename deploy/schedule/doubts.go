package schedule

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

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

// checkNeeds notes schedules whose needs fit no device of the fleet, long before they run. A rig
// may join later, so they go on.
func (e *Engine) checkNeeds() {
	if e.Fitting == nil || e.Now().Sub(e.fitted).Abs() < feedEvery {
		return
	}
	e.fitted = e.Now()
	for _, name := range e.names() {
		s := e.Schedules[name]
		if len(s.Needs) == 0 {
			continue
		}
		var unfit error
		for _, test := range e.matching(s.Tests) {
			p := api.StartParams{Test: test, Origin: []byte("{}")}
			for _, text := range append(slices.Clone(s.Browsers), s.Control) {
				if text != "" {
					p.Variants = append(p.Variants, api.Variant{Browser: text})
				}
			}
			_, _, err := e.Fitting("schedule "+name, s.Needs, p)
			if unavailable(err) {
				e.fitted = time.Time{} // the hub begins
				return
			}
			unfit = cmp.Or(unfit, err)
		}
		if was := e.unfit[name]; unfit != nil && (was == nil || was.Error() != unfit.Error()) {
			e.Log.Warn("no device of the fleet fits a schedule", "schedule", name, "reason", unfit)
		}
		e.unfit[name] = unfit
	}
}
