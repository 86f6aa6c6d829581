package session

import (
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/controller/suite"
)

// Alternate adds plain runs to a set with several runs of a profile. They take turns, so that their
// difference is the cost of the profile. A set until a failure has none. limit is the maximum
// number of variants.
func (o *SetOptions) Alternate(asked Numbers, limit int) error {
	if o.Repeat < 2 || o.UntilFail {
		return nil
	}
	all, err := o.withPlain(limit)
	if err == nil {
		o.Variants, o.Retries = all, retries(o.Test, asked, o.Repeat*len(all))
	}
	return err
}

// withPlain returns the variants of a set with a plain one before each that has a profile.
func (o *SetOptions) withPlain(limit int) ([]Variant, error) {
	var all []Variant
	for i, v := range o.Variants {
		t := o.TestOf(i)
		if !t.Profile.Given() {
			all = append(all, v)
			continue
		}
		plain := *t
		plain.Profile = suite.Profile{}
		beside := v
		beside.Test, beside.Plain = &plain, true
		if beside.Called = v.Name() + "-plain"; len(o.Variants) == 1 {
			v.Called, beside.Called = "profiled", "plain"
		}
		all = append(all, beside, v)
	}
	for i, v := range all {
		if slices.ContainsFunc(all[:i], func(o Variant) bool { return o.Name() == v.Name() }) {
			return nil, fmt.Errorf("variant %s has the name of the plain runs of another; rename it", v.Name())
		}
	}
	if len(all) > limit {
		return nil, fmt.Errorf("%d variants with those of plain runs: at most %d can take turns", len(all), limit)
	}
	return all, nil
}

// HasPlain reports whether a variant has plain runs beside it. Budgets and baselines judge those.
func (o *SetOptions) HasPlain(variant int) bool { return variant > 0 && o.Variants[variant-1].Plain }

// Plains returns the names of plain variants. The next variant of each has the profile.
func (o *SetOptions) Plains() (names []string) {
	for _, v := range o.Variants {
		if v.Plain {
			names = append(names, v.Name())
		}
	}
	return names
}

// Compared returns the variants that are compared with each other. Plain runs beside profiled ones
// are not.
func (o *SetOptions) Compared() (at []int) {
	for i, v := range o.Variants {
		if !v.Plain {
			at = append(at, i)
		}
	}
	return at
}
