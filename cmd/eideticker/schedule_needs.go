package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/fleet/sched"
)

// checkNeeds warns of schedules whose needs fit no device of the fleet now. Without a hub it warns
// that needs are not checked.
func (c scheduleCheckCmd) checkNeeds(e *env, conf *config.Config) error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(conf.Schedule)) {
		if len(conf.Schedule[name].Needs) > 0 {
			names = append(names, name)
		}
	}
	warn := func(name string, err error) { fmt.Fprintf(e.err, "warning: schedule %s: %v\n", name, err) }
	switch {
	case len(names) == 0:
		return nil
	case c.Hub == "":
		warn(strings.Join(names, ", "), errors.New("needs are not compared with the fleet; give --hub URL"))
		return nil
	}
	return fleetHub{Hub: c.Hub, rigAccess: c.rigAccess}.call(e, func(r rigCall) error {
		return ask(r, "fleet.rigs", api.Empty{}, func(all api.FleetRigs) error {
			for _, name := range names {
				if err := fits(all, conf, name); err != nil {
					warn(name, err)
				}
			}
			return nil
		})
	})
}

// fits returns why no device of a fleet fits a schedule. It names the nearest label.
func fits(all api.FleetRigs, conf *config.Config, name string) error {
	s := sched.New(sched.Options{})
	for _, r := range all.Rigs {
		rig := sched.Rig{ID: r.Rig}
		for _, d := range r.Devices {
			labels := map[string]string{"rig": r.Rig, "device": d.Device}
			maps.Copy(labels, d.Labels)
			rig.Devices = append(rig.Devices, sched.Device{Name: d.Device, Labels: labels})
		}
		s.SetRig(rig)
	}
	one := conf.Schedule[name]
	needs, err := sched.ParseNeeds(one.Needs)
	if err == nil {
		site := func(feed string) bool { return conf.Feed[feed].Of == config.OfSite }
		err = s.Check(sched.Job{ID: name, Owner: "schedule " + name, Needs: needs,
			Browsers: sched.Installed(append(slices.Clone(one.Browsers), one.Control), site)})
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "job "+name+": "))
	}
	return nil
}
