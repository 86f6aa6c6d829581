package session

import (
	"errors"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
)

// Fault is the side to which a run's failure belongs.
type Fault string

// Faults. One of the lab says nothing about the tested program. Another try may succeed.
const (
	LabFault     Fault = "lab"     // device, signal, disk, browser is missing
	ProductFault Fault = "product" // browser crash, timeout of the test, nothing to measure
)

// labError is a failure of the lab.
type labError struct{ error }

func (e labError) Unwrap() error { return e.error }

// buildError is a failure of a build: of a site, which cannot be served, or of an APK.
type buildError struct{ error }

func (e buildError) Unwrap() error { return e.error }

func inLab(err error) error {
	if err == nil {
		return nil
	}
	return labError{err}
}

// faultOf returns the side to which a failure belongs.
func faultOf(err error) Fault {
	switch {
	case err == nil:
		return ""
	case errors.As(err, new(buildError)): // before the device was opened
		return ProductFault
	case errors.As(err, new(labError)), errors.As(err, new(*device.MissingError)), errors.Is(err, input.ErrGone):
		return LabFault
	}
	return ProductFault
}
