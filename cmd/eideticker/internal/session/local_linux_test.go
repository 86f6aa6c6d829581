package session

import (
	"os/exec"
	"testing"

	"github.com/eideticker/eideticker/controller/device"
)

// TestLocalStageIsClosedTwice: whoever closes it again, to be sure, is not punished.
func TestLocalStageIsClosedTwice(t *testing.T) {
	if _, err := exec.LookPath("Xvfb"); err != nil {
		t.Skip("needs Xvfb")
	}
	display, err := device.StartDisplay(t.Context(), device.DisplayOptions{Width: 320, Height: 240})
	if err != nil {
		t.Fatal(err)
	}
	s := &localStage{ctx: t.Context(), display: display}
	if s.painter, err = newPainter(display.Name()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
