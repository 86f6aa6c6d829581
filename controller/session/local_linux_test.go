package session

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/controller"
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

// slowScreen rests, shows no change where the address bar is, and looks after a time alone.
type slowScreen struct{ after time.Duration }

func (s slowScreen) Await(ctx context.Context, looking func(), any ...controller.Condition) (int, controller.Seen,
	error) {
	if any[0].Kind == controller.Still {
		return 0, controller.Seen{}, nil
	}
	time.Sleep(s.after)
	looking()
	if any[0].Region.Y < 44 || any[0].Region.Y+any[0].Region.Height > 85 { // a tab or the page
		return 0, controller.Seen{}, errors.New("not the bar")
	}
	<-ctx.Done()
	return 0, controller.Seen{}, context.Cause(ctx)
}

// TestBarIsReachedFirst: however late a busy machine comes to it, nothing is typed before the
// address bar was reached for.
func TestBarIsReachedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, reached := &localStage{screen: slowScreen{barLimit + time.Second},
			barAt: barRegion(device.DisplayOptions{Width: 800, Height: 600})}, 0
		if err := s.opens(t.Context(), func(context.Context) error { reached++; return nil }); err != nil ||
			reached != 1 {
			t.Errorf("reached for %d times, %v", reached, err)
		}
		gone := errors.New("the keyboard is gone")
		if err := s.opens(t.Context(), func(context.Context) error { return gone }); !errors.Is(err, gone) {
			t.Errorf("%v, want %v", err, gone)
		}
	})
}
