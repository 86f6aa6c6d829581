package session

import (
	"errors"
	"fmt"
	"testing"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
)

// Fault: A fault of the lab looks like one of the tested browser
func TestFaultOf(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want Fault
	}{
		{nil, ""},
		{errors.New("the browser ended in the middle of the run"), ProductFault},
		{fmt.Errorf("timeout: %w", errors.New("no red")), ProductFault},
		{inLab(errors.New("no signal")), LabFault},
		{fmt.Errorf("start the browser: %w", &device.MissingError{Program: "chromium"}), LabFault},
		{fmt.Errorf("tap: %w", input.ErrGone), LabFault},
		{errors.Join(errors.New("timeout"), inLab(errors.New("the recording ended"))), LabFault},
		{inLab(nil), ""},
	} {
		if got := faultOf(tc.err); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.err, got, tc.want)
		}
	}
}
