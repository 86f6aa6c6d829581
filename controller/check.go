package controller

import (
	"errors"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/controller/suite"
)

// check returns an error for a missing part of a setup.
func (r *run) check() error {
	if r.Input == nil && needsInput(r.Test.Steps) {
		return fmt.Errorf("test %s sends input, and the device has none: %w", r.Test.Name, errors.ErrUnsupported)
	}
	if r.launches() && r.Painter == nil {
		return fmt.Errorf("test %s starts the browser on a green screen, which cannot be shown on this device: %w",
			r.Test.Name, errors.ErrUnsupported)
	}
	if selectors := r.Test.Selectors(); len(selectors) > 0 {
		return fmt.Errorf("test %s: the place of %q was not found before the run", r.Test.Name, selectors[0])
	}
	return nil
}

// needsInput reports whether steps do anything by hand.
func needsInput(steps []suite.Step) bool {
	return slices.ContainsFunc(steps, func(s suite.Step) bool {
		switch a := s.Action.(type) {
		case suite.Launch, suite.Load, suite.Wait, suite.Sleep, suite.Mark, suite.Link:
			return false
		case suite.Loop:
			return needsInput(a.Steps)
		}
		return true
	})
}
