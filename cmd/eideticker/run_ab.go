package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

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

// versions returns a test with the originals and with the replacements of its functions, if it has
// some. Their runs take turns.
func versions(all []session.Subject) ([]session.Subject, error) {
	for _, s := range all {
		if len(s.Test.Script.AB) > 0 && len(all) > 1 {
			return nil, usagef("test %s replaces functions, which is compared with itself; name one test", s.Test.Name)
		}
	}
	if len(all) == 0 || len(all[0].Test.Script.AB) == 0 {
		return all, nil
	}
	original, replaced := *all[0].Test, *all[0].Test
	original.Script.Version, replaced.Script.Version = suite.Original, suite.Replaced
	return []session.Subject{{Name: string(suite.Original), Test: &original},
		{Name: string(suite.Replaced), Test: &replaced}}, nil
}

// scripts returns those of a variant's runs.
func (r *testRun) scripts(variant int) (all []*result.Script) {
	for _, m := range r.set.Of(variant) {
		if m.Found != nil {
			all = append(all, m.Found.Results.Script)
		}
	}
	return all
}

// printAB prints the A/B test of the functions, if there is one.
func (r *testRun) printAB() error {
	var runs []*result.Script
	for i := range r.options.Variants {
		runs = append(runs, r.scripts(i)...)
	}
	found := scripts.CompareAB(runs)
	if found == nil {
		return nil
	}
	fmt.Fprintf(r.out, "\n%s\n", found.Sentence)
	for _, row := range found.Rows {
		if _, err := fmt.Fprintf(r.out, "%s (%s): %s.\n", row.Name, row.Place, row.Text); err != nil {
			return err
		}
	}
	return nil
}
