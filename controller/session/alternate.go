package session

import (
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/controller/suite"
)

// Alternated returns the variants of a set with a plain one before each that has a profile. Its
// runs show the cost of the profile. limit is the maximum number of variants.
func (o *SetOptions) Alternated(limit int) ([]Variant, error) {
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
