package v4l2

import "errors"

// Problems of a device or its signal. Errors of this package wrap one of these if it applies.
var (
	ErrNoDevice   = errors.New("no such capture device")
	ErrBusy       = errors.New("in use by another program")
	ErrNoCable    = errors.New("no cable, or the device at its other end is off")
	ErrNoSignal   = errors.New("no signal")
	ErrNoLock     = errors.New("signal without lock")
	ErrOutOfRange = errors.New("the signal is out of the receiver's range")
	ErrProtected  = errors.New("the signal is protected (HDCP), and the card does not show it")
	// interlaced, compressed, of an unknown matrix: the error says which
	ErrUnsupported = errors.New("this cannot be recorded as it is")
)
