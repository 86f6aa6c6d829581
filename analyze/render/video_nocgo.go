//go:build !cgo

package render

import (
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/capture/frame"
)

// ErrEncoder is wrapped where OpenCV has no H.264 encoder.
var ErrEncoder = errors.New("OpenCV cannot write H.264 here")

// Video is an MP4 in the making. Without cgo there is none.
type Video struct{}

// NewVideo returns an error that wraps errors.ErrUnsupported.
func NewVideo(path string, l *frame.Layout, o VideoOptions) (*Video, error) {
	o, err := o.withDefaults(videoLines)
	if err != nil {
		return nil, err
	}
	if _, _, _, err := single(l.Format, o); err != nil {
		return nil, err
	}
	return nil, unsupported(path)
}

// WritePair returns an error that wraps errors.ErrUnsupported.
func WritePair(path string, left, right Side, o VideoOptions) error {
	o, err := o.withDefaults(pairLines)
	if err != nil {
		return err
	}
	if err := errors.Join(left.check(o), right.check(o)); err != nil {
		return fmt.Errorf("make video of two runs: %w", err)
	}
	return unsupported(path)
}

func unsupported(path string) error {
	return fmt.Errorf("make video %s: %w: this program was built without OpenCV (cgo)", path, errors.ErrUnsupported)
}

// Add returns an error that wraps errors.ErrUnsupported.
func (*Video) Add(frame.Image, Slot) error { return errors.ErrUnsupported }

// Step returns an error that wraps errors.ErrUnsupported.
func (*Video) Step(*frame.Step) error { return errors.ErrUnsupported }

// Close does nothing.
func (*Video) Close() error { return nil }
