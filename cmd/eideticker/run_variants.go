package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/controller/verdict"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/pattern"
)

// variantKeys are the changes that a --variant can make.
const variantKeys = "test, archive, site, network, browser, device"

var variantKey = pattern.New(`^([a-z]+):`)

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
	if all, err = versions(all); err != nil {
		return nil, err
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

// parseVariant parses a --variant: NAME=TEST, or NAME=KEY:VALUE with further ones after commas.
func parseVariant(text string) (name string, changes [][2]string, err error) {
	name, what, ok := strings.Cut(text, "=")
	if !ok || name == "" || what == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return "", nil, usagef("--variant %q must be NAME=TEST or NAME=KEY:VALUE; the keys are %s", text, variantKeys)
	}
	if ofSet(name) {
		return "", nil, usagef("--variant %s: a file of the set has this name", name)
	}
	for _, part := range strings.Split(what, ",") {
		key := variantKey.FindString(part)
		switch known := slices.Contains(strings.Split(variantKeys, ", "), strings.TrimSuffix(key, ":")); {
		case known:
			changes = append(changes, [2]string{strings.TrimSuffix(key, ":"), part[len(key):]})
		case len(changes) > 0: // a comma in a name
			changes[len(changes)-1][1] += "," + part
		default:
			changes = append(changes, [2]string{"test", part})
		}
	}
	for _, change := range changes {
		if change[1] == "" {
			return "", nil, usagef("--variant %s: %s is empty", name, change[0])
		}
	}
	return name, changes, nil
}

// ofSet reports if a file in the folder of a set has a name.
func ofSet(name string) bool {
	return slices.Contains(append(append(compare.FolderFiles(), session.FolderNames()...), report.PageName), name)
}

// subject returns the side that a --variant describes.
func (c runCmd) subject(text string, tests []*suite.Test) (s session.Subject, err error) {
	name, changes, err := parseVariant(text)
	if err != nil {
		return s, err
	}
	s.Name = name
	if len(tests) > 0 {
		s.Test = tests[0]
	}
	i := slices.IndexFunc(changes, func(c [2]string) bool { return c[0] == "test" })
	if i >= 0 && s.Test != nil && strings.Contains(changes[i][1], "://") { // an address of the given test
		changes[i][0] = "url"
	} else if i >= 0 {
		if s.Test, err = c.test(changes[i][1]); err == nil {
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
		if err := changeSubject(&s, change[0], change[1]); err != nil {
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
