package session

import (
	"errors"
	"os"
	"testing"

	"github.com/eideticker/eideticker/controller/device"
)

// TestLocalStageIsClosedTwice: whoever closes it again, to be sure, is not punished.
func TestLocalStageIsClosedTwice(t *testing.T) {
	display, err := device.StartDisplay(t.Context(), device.DisplayOptions{Width: 320, Height: 240})
	if missing := (*device.MissingError)(nil); errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
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
