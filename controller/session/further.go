package session

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/eideticker/eideticker/controller/suite"
)

// Further returns the options of the runs that explain a change of a set: blocks of its variants
// with measuring code, in the folder [WhyDir]. They have a fixed number, so that they can decide
// all functions. follows reports if the page of a test will be replaced by an archive.
func Further(o SetOptions, blocks int, follows func(*suite.Test) bool) (SetOptions, error) {
	switch {
	case len(o.Compared()) < 2:
		return o, errors.New("it needs two tests, variants, browsers or devices")
	case o.UntilFail:
		return o, errors.New("a set that ends with a failure has no further runs")
	}
	o.Variants = slices.Clone(o.Variants)
	for i := range o.Variants {
		t := *o.TestOf(i)
		if t.Script.Given() || t.Profile.Given() {
			return o, errors.New("the runs that decide must be plain, without script and profile")
		}
		if err := Explain(&t, follows(&t)); err != nil {
			return o, err
		}
		o.Variants[i].Test = &t
	}
	o.Repeat, o.Retries = blocks, blocks*len(o.Variants)
	o.WarmUp, o.Looks, o.Decided, o.NoVideo = 0, nil, nil, true
	o.Dir = filepath.Join(o.Dir, WhyDir)
	return o, nil
}
