package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/subject"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/controller/verdict"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	"github.com/eideticker/eideticker/netsim/site"
)

// subjects returns the sides of the command line, with the folders of sites.
func (c runCmd) subjects() ([]session.Subject, error) {
	all, err := c.named()
	if err != nil {
		return nil, err
	}
	return c.onSites(all)
}

// named returns the tests of the command line, or its variants of one test.
func (c runCmd) named() (all []session.Subject, err error) {
	var tests []*suite.Test
	if len(c.Tests) == 0 && len(c.Site) > 0 {
		c.Tests = []string{""} // the page of the site
	}
	for _, name := range c.Tests {
		t, err := c.test(name)
		if err == nil {
			err = c.onNetwork(t)
		}
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
		all = append(all, session.Subject{Test: t})
	}
	if c.ObserverEffect != nil {
		return c.observed(all)
	}
	if all, err = subject.Versions(all); err != nil {
		return nil, usageError{err}
	}
	switch {
	case len(c.Variant) == 0 && len(all) == 0:
		return nil, usagef("no test: name a test, a test file or an address")
	case len(c.Variant) == 0:
		return all, nil
	case len(c.Variant) == 1:
		return nil, usagef("--variant is given once; a comparison needs two")
	case len(tests) > 1:
		return nil, usagef("--variant changes one test, and %d are given", len(tests))
	}
	all = all[:0]
	for _, text := range c.Variant {
		s, err := c.subject(text, tests)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(o session.Subject) bool { return o.Name == s.Name }) {
			return nil, usagef("--variant %s is given twice", s.Name)
		}
		all = append(all, s)
	}
	return all, nil
}

// observed returns a test without and with its policies for scripts and its profile.
func (c runCmd) observed(all []session.Subject) ([]session.Subject, error) {
	switch {
	case len(all) != 1 || len(c.Variant) > 0:
		return nil, usagef("--observer-effect compares one test with itself; name one test, without --variant")
	case c.Repeat != nil || c.UntilFail || c.UntilSure:
		return nil, usagef("--observer-effect has the number of runs; omit --repeat, --until-fail and --until-sure")
	case *c.ObserverEffect < 1:
		return nil, usagef("--observer-effect %d: must be positive", *c.ObserverEffect)
	case !all[0].Test.Script.Given() && !all[0].Test.Profile.Given() && !c.Why:
		return nil, usagef("--observer-effect needs something that adds load; add --script calls or --profile samples")
	}
	plain := *all[0].Test
	plain.Script, plain.Profile = suite.Scripts{}, suite.Profile{}
	return []session.Subject{{Name: "plain", Test: &plain}, {Name: "instrumented", Test: all[0].Test}}, nil
}

// subject returns the side that a --variant describes.
func (c runCmd) subject(text string, tests []*suite.Test) (s session.Subject, err error) {
	name, changes, err := subject.Parse(text)
	if err != nil {
		return s, usagef("--variant %w", err)
	}
	s.Name = name
	if len(tests) > 0 {
		s.Test = tests[0]
	}
	i := slices.IndexFunc(changes, func(c subject.Change) bool { return c.Key == "test" })
	if i >= 0 && s.Test != nil && strings.Contains(changes[i].Value, "://") { // an address of the given test
		changes[i].Key = "url"
	} else if i >= 0 {
		if s.Test, err = c.test(changes[i].Value); err == nil {
			err = c.onNetwork(s.Test)
		}
		if err != nil {
			return s, err
		}
	}
	if s.Test == nil {
		return s, usagef("--variant %s has no test: name one before the variants", name)
	}
	own := *s.Test
	s.Test = &own
	for _, change := range changes {
		if err := changeSubject(&s, change.Key, change.Value); err != nil {
			return s, err
		}
	}
	return s, nil
}

func changeSubject(s *session.Subject, key, value string) (err error) {
	switch key {
	case "archive":
		s.Test.Network.Replay, s.Test.Dir = filepath.Base(value), os.DirFS(filepath.Dir(value))
	case "url":
		if s.Test.URL == "" {
			return usagef("--variant %s: test %s loads a built-in page; name a test with url", s.Name, s.Test.Name)
		}
		s.Test.URL, err = session.Address(value)
		return err
	case "site":
		s.Site = value
	case "network":
		return setProfile(s.Test, value)
	case "device":
		s.Device = value
	case "browser":
		if s.Browser = value; strings.ContainsRune(value, filepath.Separator) {
			if s.Program, err = filepath.Abs(value); err != nil {
				return err
			}
			if s.Browser, err = device.KindOf(s.Program); err != nil {
				return usageError{err}
			}
		}
	}
	return nil
}

// variants returns all browsers on all devices for each subject.
func (c runCmd) variants(subjects []session.Subject) ([]session.Variant, error) {
	there, err := c.devices()
	if err != nil {
		return nil, err
	}
	all, err := session.Variants(subjects, c.Device, c.Browser, api.MaxVariants,
		func(name string) (session.Device, error) { return c.device(there, name) })
	if err != nil {
		err = usageError{err}
	}
	return all, err
}

// usualBlocks is the default number of blocks of several tests, which can decide all comparisons.
// For a set that grows until it is decided it is the budget.
func (c runCmd) usualBlocks(comparisons int) int {
	if c.UntilSure {
		return 50
	}
	return compare.Blocks(comparisons)
}

// looks returns the looks of a set that grows until it is decided; nil: it has a fixed size.
func (c runCmd) looks(o *session.SetOptions) (stats.Looks, error) {
	if !c.UntilSure {
		return nil, nil
	}
	comparisons := len(o.Compared()) - 1
	looks := stats.NewLooks(compare.MaxPrimary*comparisons, o.Repeat)
	switch {
	case comparisons == 0:
		return nil, usagef("--until-sure needs two variants: name two tests, or use --variant")
	case c.UntilFail:
		return nil, usagef("--until-sure cannot be used with --until-fail")
	case looks == nil:
		return nil, usagef("--until-sure within %s cannot decide; use --repeat %d or more", plural(o.Repeat, "block"),
			stats.SignedRank.Needed(compare.MaxPrimary*comparisons, stats.Alpha))
	}
	return looks, nil
}

// decided reports whether each comparison with the first variant has decided its primary values.
func (r *testRun) decided(s *session.Set) bool {
	r.set = s
	sets, err := r.load()
	if err != nil { // printed at the end, like the others
		return false
	}
	all, err := r.comparisons(sets)
	if unknown := (*compare.PrimaryError)(nil); errors.As(err, &unknown) {
		return true // more blocks would not have it either
	}
	if err != nil {
		return false
	}
	decided, values := verdict.Decided(all)
	fmt.Fprintf(r.err, "after %s: %d of %s decided\n", plural(len(s.Of(0)), "block"), decided,
		plural(values, "primary value"))
	return len(all) == len(r.options.Compared())-1 && decided == values
}

// onSites gives the sides the folders of --site. Several folders are sides of one test.
func (c runCmd) onSites(all []session.Subject) ([]session.Subject, error) {
	switch {
	case len(c.Site) > 1 && len(all) > 1:
		return nil, usagef("--site is given %d times, which compares one test; name one test", len(c.Site))
	case len(c.Site) > 1:
		t := all[0].Test
		all = nil
		for i, name := range subject.SiteNames(c.Site) {
			if slices.ContainsFunc(all, func(s session.Subject) bool { return s.Name == name }) {
				return nil, usagef("--site %s is given twice", c.Site[i])
			}
			own := *t
			all = append(all, session.Subject{Name: name, Test: &own, Site: c.Site[i]})
		}
	case len(c.Site) == 1:
		for i := range all {
			if all[i].Site == "" {
				all[i].Site = c.Site[0]
			}
		}
	}
	for i := range all {
		if all[i].Site == "" {
			continue
		}
		if err := subject.CheckSite(all[i].Site, all[i].Test); err != nil {
			return nil, usagef("--site %w", err)
		}
	}
	return all, nil
}

// test finds the test: a test file, a test's name, a test page or an address; "": / of --site.
func (c runCmd) test(name string) (*suite.Test, error) {
	if name == "" && len(c.Site) > 0 {
		return c.onSite()
	}
	if c.given() {
		return c.onAddress(name)
	}
	t, err := c.find(name)
	var none *suite.NotFoundError
	if !errors.As(err, &none) {
		return t, err
	}
	if p, err := site.Find(name); err == nil {
		return session.PageTest(p), nil
	}
	address, err := session.Address(name)
	if err == nil {
		return session.URLTest(address), nil
	}
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		return nil, usagef("%s is a folder; use --site %[1]s", name)
	}
	if none.Near != "" {
		return nil, usageError{none}
	}
	return nil, usagef("%w, no such file and not an address; eideticker suite list shows the tests", none)
}

// gestureFlags make gestures on any page.
type gestureFlags struct {
	Hover  []string `placeholder:"SELECTOR|X,Y" sep:"none" help:"With a URL or --site: move the pointer there."`
	Click  []string `placeholder:"SELECTOR|X,Y" sep:"none" help:"With a URL or --site: click there."`
	Type   *string  `placeholder:"TEXT" help:"With a URL or --site: type text."`
	Scroll bool     `help:"With a URL or --site: scroll down."`
	URL    string   `name:"url" placeholder:"URL" help:"Run the test scroll on this address."`
}

// given reports if there is a gesture.
func (g *gestureFlags) given() bool {
	return len(g.Hover)+len(g.Click) > 0 || g.Type != nil || g.Scroll || g.URL != ""
}

// scrolling is the test that also runs on an address.
const scrolling = "scroll"

// gestures returns those of the command line.
func (g *gestureFlags) gestures() (all session.Gestures, err error) {
	all = session.Gestures{Hover: g.Hover, Click: g.Click, Scroll: g.Scroll || g.URL != ""}
	if g.Type != nil {
		if all.Text = *g.Type; all.Text == "" {
			return all, usagef("--type has no text")
		}
	}
	return all, nil
}

// onSite returns a test that plays / of a site, with the gestures.
func (c runCmd) onSite() (*suite.Test, error) {
	t := session.SiteTest(c.Site[0])
	if !c.given() {
		return t, nil
	}
	g, err := c.gestures()
	if err == nil && c.URL != "" {
		err = usagef("--url cannot be used with --site")
	}
	if err != nil {
		return nil, err
	}
	if t, err = g.On(t); err != nil {
		return nil, usageError{err}
	}
	return t, nil
}

// onAddress returns a test that makes the gestures at an address.
func (c runCmd) onAddress(name string) (*suite.Test, error) {
	g, err := c.gestures()
	if err != nil {
		return nil, err
	}
	place := name
	if c.URL != "" {
		if place = c.URL; name != scrolling {
			return nil, usagef("--url runs the test %s on an address, not %s", scrolling, name)
		}
	} else if t, err := c.find(name); err == nil {
		return nil, usagef("--hover, --click, --type and --scroll need a URL; the test %s has its own steps", t.Name)
	} else if none := (*suite.NotFoundError)(nil); !errors.As(err, &none) {
		return nil, err
	}
	address, err := session.Address(place)
	if err != nil {
		return nil, usageError{err}
	}
	t, err := g.Test(address)
	if err != nil {
		return nil, usageError{err}
	}
	if c.URL != "" {
		t.Name = scrolling
	}
	return t, nil
}

// replacing gives a test the replacements of --ab.
func (c runCmd) replacing(s *suite.Scripts) error {
	for _, text := range c.AB {
		i := strings.LastIndexByte(text, '=')
		if i < 1 || i+1 == len(text) {
			return usagef("--ab %q: must be NAME=FILE, such as 'slow (app.js:12)=faster.js'", text)
		}
		body, err := readBounded(text[i+1:], policy.MaxReplacement)
		if err != nil {
			return fmt.Errorf("--ab: %w", err)
		}
		if len(body) == 0 {
			return usagef("--ab: %s is empty", text[i+1:])
		}
		s.AB = append(s.AB, suite.Replacement{Function: text[:i], With: text[i+1:], Text: string(body)})
		if !slices.Contains(s.Policies, policy.NameAB) {
			s.Policies = append(slices.Clone(s.Policies), policy.NameAB)
		}
	}
	return nil
}
