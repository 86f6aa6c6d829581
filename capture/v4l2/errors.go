package v4l2

import "errors"

// Problems of a device or its signal. Errors of this package wrap one of these if it applies.
var (
	errNoDevice   = errors.New("no such capture device")
	ErrBusy       = errors.New("in use by another program")
	errNoCable    = errors.New("no cable, or the device at its other end is off")
	errNoSignal   = errors.New("no signal")
	errNoLock     = errors.New("signal without lock")
	errOutOfRange = errors.New("the signal is out of the receiver's range")
	errProtected  = errors.New("the signal is protected (HDCP), and the card does not show it")
	// interlaced, compressed, of an unknown matrix: the error says which
	errUnsupported = errors.New("this cannot be recorded as it is")
)
