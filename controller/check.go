package controller

import (
	"errors"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/controller/suite"
)

// ErrNoNetwork is wrapped where a test asks for a link of its own.
var ErrNoNetwork = errors.New("the test network is not there yet")

// Check says why a test cannot be run at all, before anything is started.
func Check(t *suite.Test) error {
	if t.Network.Given() {
		return fmt.Errorf("test %s asks for a network: %w; leave out network: to run it on the device's own", t.Name, ErrNoNetwork)
	}
	return nil
}

// check finds what is missing from a setup.
func (r *run) check() error {
	if err := Check(r.Test); err != nil {
		return err
	}
	if r.Input == nil && needsInput(r.Test.Steps) {
		return fmt.Errorf("test %s sends input, and the device has none: %w", r.Test.Name, errors.ErrUnsupported)
	}
	if r.launches() && r.Painter == nil {
		return fmt.Errorf("test %s starts the browser on a green screen, which cannot be shown on this device: %w", r.Test.Name, errors.ErrUnsupported)
	}
	return nil
}

// needsInput reports whether steps do anything by hand.
func needsInput(steps []suite.Step) bool {
	return slices.ContainsFunc(steps, func(s suite.Step) bool {
		switch a := s.Action.(type) {
		case suite.Launch, suite.Load, suite.Wait, suite.Sleep, suite.Mark:
			return false
		case suite.Loop:
			return needsInput(a.Steps)
		}
		return true
	})
}
