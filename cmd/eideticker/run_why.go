package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/siterecord"
	"github.com/eideticker/eideticker/controller/suite"
)

// explained returns a test that records what --why needs, and why its scripts cannot be
// instrumented; nil: they can. Its network and archive are set.
func explained(t *suite.Test) (*suite.Test, error) {
	own := *t
	err := session.Explain(&own, siterecord.Follows(&own))
	return &own, err
}

// recordWhy has each test record what --why needs. It says once why scripts cannot be instrumented.
func (c runCmd) recordWhy(e *env, subjects []session.Subject) {
	if c.ObserverEffect != nil {
		subjects = subjects[1:] // the first is plain
	}
	said := ""
	for i := range subjects {
		var err error
		if subjects[i].Test, err = explained(subjects[i].Test); err != nil && err.Error() != said {
			said = err.Error()
			fmt.Fprintf(e.err, "--why without calls of scripts: %s\n", said)
		}
	}
}

// checkWhyChanged rejects --why-changed where nothing is compared, where runs have load anyway, and
// where functions cannot be measured.
func (c runCmd) checkWhyChanged(e *env, o *session.SetOptions) error {
	switch {
	case !c.WhyChanged:
		return nil
	case c.ObserverEffect != nil || len(c.AB) > 0:
		return usagef("--why-changed cannot be used with --observer-effect or --ab")
	}
	later, err := further(*o)
	if err != nil {
		return usagef("--why-changed: %w", err)
	}
	return c.check(e, &later)
}

// explainChange plays further runs with measuring code, if a primary value changed. Comparisons
// read them from the folder of the set.
func (r *testRun) explainChange() error {
	sets, err := r.load()
	if err != nil {
		return err
	}
	all, err := r.comparisons(sets)
	if err != nil || len(all) == 0 {
		return nil // the comparison at the end has the error
	}
	if !slices.ContainsFunc(all, (*compare.Comparison).Changed) {
		return nil
	}
	options, err := further(r.options)
	if err != nil {
		return err
	}
	more := &testRun{env: r.env, cmd: r.cmd, options: options}
	more.options.Ran = more.ran
	o := &more.options
	fmt.Fprintf(r.err, "a primary value changed: %s with --why\n", plural(o.Repeat, "further block"))
	if more.set, err = session.RunSet(r.ctx, *o); err != nil {
		return err
	}
	if failed := more.set.Failed(); len(failed) > 0 {
		fmt.Fprintf(r.err, "%s of %s failed: %s\n", countText(len(failed)), plural(len(more.set.Made), "further run"),
			failed[0].Record.Reason)
	}
	_, err = compare.WritePages(r.ctx, o.Dir, filepath.Join(o.Dir, report.PageName), compare.PageOptions{NoVideo: true},
		r.env)
	return err
}

// further returns the options of the runs that explain a change.
func further(o session.SetOptions) (session.SetOptions, error) {
	return session.Further(o, compare.Blocks(max(1, len(o.Compared())-1)), siterecord.Follows)
}
