package sched

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/deploy/api"
)

// typed is the name of a browser that runs already. Any device may have it.
const typed = "typed"

// Installed returns the browsers that a device must have for those of a job: installed ones, and
// those that play builds of a site. A rig fetches others. site reports if a feed is of a site.
func Installed(browsers []string, site func(feed string) bool) (all []string) {
	for _, text := range browsers {
		b, err := api.ParseBrowser(text)
		if err == nil && text != "" && b.Kind != typed && (b.Feed == "" || site(b.Feed)) &&
			!slices.Contains(all, b.Kind) {
			all = append(all, b.Kind)
		}
	}
	slices.Sort(all)
	return all
}

// lacks returns a browser of the group that a device does not have, or "". A device without a list,
// or with one that may be cut off, can have any.
func (g *group) lacks(d *device) string {
	label := d.Labels["browser"]
	if label == "" || len(label) > maxLabel/2 {
		return ""
	}
	for _, b := range g.job.Browsers {
		if !(Term{Values: []string{b}}).fits(label) {
			return b
		}
	}
	return ""
}

// unbrowsed explains that no fitting device has the browsers. It names the nearest one there.
func (g *group) unbrowsed(all []*device) error {
	var there []string
	for _, d := range all {
		if g.suits(d) {
			there = append(there, strings.Split(d.Labels["browser"], ",")...)
		}
	}
	for _, b := range g.job.Browsers {
		if !slices.Contains(there, b) {
			return fmt.Errorf("no fitting device has a browser %.80s; there are %s", b, few(there, b))
		}
	}
	return fmt.Errorf("no fitting device has all of the browsers %s", strings.Join(g.job.Browsers, ", "))
}

// without names an idle device that lacks a browser of a group; "": there is none.
func (s *Scheduler) without(g *group) string {
	if len(g.job.Browsers) == 0 {
		return ""
	}
	for _, r := range s.rigs {
		for _, d := range r.devices {
			if d.job == nil && d.usable() && g.suits(d) {
				if b := g.lacks(d); b != "" {
					return fmt.Sprintf("; %s has no browser %.80s", d.id, b)
				}
			}
		}
	}
	return ""
}
