package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
)

// Builds are builds of browsers or of web sites in feeds.
type Builds interface {
	// Resolve returns the build that a name means now, without fetching it. The build "" is the
	// newest usable one.
	Resolve(ctx context.Context, feed, build string) (api.Build, error)
	// Ready reports if a build can be used without fetching it.
	Ready(b api.Build) bool
	// Site reports if the builds of a feed are web sites.
	Site(feed string) bool
	// App returns the Android app of a feed with APKs; "": another feed.
	App(feed string) string
	// Program returns the path of the program or APK of a build, or the folder of a site. It fetches
	// the build if need be. release lets the build be removed.
	Program(ctx context.Context, kind string, b api.Build) (path string, release func(), err error)
	// Sum returns the SHA-256 of a build that was fetched; "": it says nothing of its content.
	Sum(b api.Build) string
}

// resolveTime limits the time to find a build.
const resolveTime = time.Minute

// allQuiet is more than there can be tests and recordings at once.
const allQuiet = 1 << 20

// Quiet does work while nothing is measured. Jobs wait for it.
func (d *Daemon) Quiet(ctx context.Context, work func() error) error {
	if err := d.quiet.Acquire(ctx, allQuiet); err != nil {
		return err
	}
	defer d.quiet.Release(allQuiet)
	return work()
}

// fixBuilds replaces browsers of feeds by those of fixed builds: a job keeps its builds.
func (d *Daemon) fixBuilds(out *plan, p *api.StartParams) error {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTime)
	defer cancel()
	out.builds = map[string]api.Build{}
	fix := func(text *string) error {
		b, err := api.ParseBrowser(*text)
		switch {
		case err != nil:
			return api.Errorf(api.InvalidParams, "%v", err)
		case b.Feed == "":
			return nil
		case d.options.Builds == nil:
			return api.Errorf(api.InvalidParams, "browser %s: no feeds are configured", b)
		}
		build, err := d.options.Builds.Resolve(ctx, b.Feed, b.Build)
		if err != nil {
			return err
		}
		b.Build = build.Name
		*text = b.String()
		out.builds[*text] = build
		return nil
	}
	// the caller has the slices too
	p.Browsers, p.Variants = slices.Clone(p.Browsers), slices.Clone(p.Variants)
	for i := range p.Browsers {
		if err := fix(&p.Browsers[i]); err != nil {
			return err
		}
	}
	for i := range p.Variants {
		if err := fix(&p.Variants[i].Browser); err != nil {
			return err
		}
	}
	return nil
}

// useBuilds names variants with builds so that they can be folders.
func (d *Daemon) useBuilds(all []session.Variant) error {
	for i := range all {
		v := &all[i]
		b, err := api.ParseBrowser(v.Browser)
		if err != nil || b.Feed == "" {
			continue // checked before
		}
		app := d.options.Builds.App(b.Feed)
		if err := d.named[v.Device.Name()].about.RunsBuilds(app != ""); err != nil {
			return api.Errorf(api.InvalidParams, "browser %s: %v", b, err)
		}
		v.Called = strings.NewReplacer("@", "-", ":", "-", "+", "-").Replace(v.Name())
		v.Browser, v.Build = cmp.Or(app, b.Kind), b.String()
		if slices.ContainsFunc(all[:i], func(o session.Variant) bool { return o.Name() == v.Called }) {
			return api.Errorf(api.InvalidParams, "browser %s is given twice", b)
		}
	}
	return nil
}

// site reports if a variant plays a build of a site.
func (d *Daemon) site(p *plan, v *session.Variant) bool {
	return v.Build != "" && d.options.Builds.Site(p.builds[v.Build].Feed)
}

// programs sets the programs of a job's builds, or the folders of sites. Nothing is measured while
// it fetches: it waits for tests and recordings, and they wait for it. release lets the builds be
// removed, and tests and recordings of others proceed.
func (d *Daemon) programs(j *job, p *plan) (release func(), err error) {
	var held []func()
	release = func() {
		for _, end := range slices.Backward(held) {
			end()
		}
	}
	weight := int64(1)
	for _, b := range p.builds {
		if !d.options.Builds.Ready(b) {
			weight = allQuiet
		}
	}
	if weight == allQuiet {
		d.tellReason(j, "it waits until nothing is measured, to fetch builds")
	}
	if err := d.quiet.Acquire(j.context, weight); err != nil {
		return release, errors.Join(err, context.Cause(j.context))
	}
	j.quiet = true
	held = append(held, func() {
		if j.quiet {
			d.quiet.Release(1)
		}
	})
	if weight == allQuiet {
		defer d.quiet.Release(allQuiet - 1)
	}
	for i := range p.set.Variants {
		v := &p.set.Variants[i]
		if v.Build == "" {
			continue
		}
		if weight == allQuiet {
			d.tellReason(j, "it fetches "+v.Build)
		}
		path, end, err := d.options.Builds.Program(j.context, v.Browser, p.builds[v.Build])
		if err != nil {
			return release, fmt.Errorf("browser %s: %w", v.Build, err)
		}
		v.BuildSum = d.options.Builds.Sum(p.builds[v.Build])
		if d.site(p, v) {
			v.Site = path
		} else {
			v.Program = path
		}
		held = append(held, end)
	}
	if weight == allQuiet {
		d.tellReason(j, "")
	}
	return release, nil
}

// tellReason notes why a job that is at work does not measure yet.
func (d *Daemon) tellReason(j *job, reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j.Reason = reason
	d.tell(j)
}
