package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/siterecord"
	"github.com/eideticker/eideticker/controller/suite"
)

// explaining has tests record what --why needs. It says once where scripts cannot be instrumented.
type explaining struct {
	*env
	said string
}

// test returns a test that records. Its network and archive are set.
func (x *explaining) test(t *suite.Test) *suite.Test {
	own := *t
	if err := session.Explain(&own, siterecord.Follows(&own)); err != nil && err.Error() != x.said {
		x.said = err.Error()
		fmt.Fprintf(x.err, "--why without calls of scripts: %s\n", x.said)
	}
	return &own
}

// recordWhy has each test record what --why needs.
func (c runCmd) recordWhy(e *env, subjects []session.Subject) {
	if c.ObserverEffect != nil {
		subjects = subjects[1:] // the first is plain
	}
	x := explaining{env: e}
	for i := range subjects {
		subjects[i].Test = x.test(subjects[i].Test)
	}
}

// checkWhyChanged rejects --why-changed where nothing is compared, or where runs have load anyway.
func (c runCmd) checkWhyChanged(o *session.SetOptions) error {
	switch {
	case !c.WhyChanged:
		return nil
	case len(o.Compared()) < 2:
		return usagef("--why-changed needs two tests, variants, browsers or devices")
	case c.ObserverEffect != nil || c.UntilFail || len(c.AB) > 0:
		return usagef("--why-changed cannot be used with --observer-effect, --until-fail or --ab")
	}
	for i := range o.Variants {
		if t := o.TestOf(i); t.Script.Given() || t.Profile.Given() {
			return usagef("--why-changed adds runs to plain ones; omit --why, --script and --profile")
		}
	}
	return nil
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
	changed := false
	for _, c := range all {
		verdict := c.Deciding().Verdict
		changed = changed || verdict == stats.Regressed || verdict == stats.Improved
	}
	if !changed {
		return nil
	}
	further := &testRun{env: r.env, cmd: r.cmd, options: r.further()}
	further.options.Ran = further.ran
	o := &further.options
	fmt.Fprintf(r.err, "a primary value changed: %s with --why\n", plural(o.Repeat, "further block"))
	if further.set, err = session.RunSet(r.ctx, *o); err != nil {
		return err
	}
	_, err = writeSet(r.env, o.Dir, filepath.Join(o.Dir, report.PageName), setOptions{noVideo: true})
	return err
}

// further returns the options of the runs that explain a change. They can decide all functions.
func (r *testRun) further() session.SetOptions {
	o := r.options
	o.Variants = slices.Clone(o.Variants)
	x := explaining{env: r.env}
	for i := range o.Variants {
		o.Variants[i].Test = x.test(o.TestOf(i))
	}
	comparisons := len(o.Compared()) - 1
	o.Repeat = stats.SignedRank.Needed(compare.MaxPrimary*comparisons, stats.Alpha)
	o.Retries = o.Repeat * len(o.Variants)
	o.WarmUp, o.Looks, o.Decided, o.NoVideo = 0, nil, nil, true
	o.Dir = filepath.Join(r.options.Dir, session.WhyDir)
	return o
}
