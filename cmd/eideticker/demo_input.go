package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/site"
)

// demoPings is how often a page that answers is asked: enough for a median with bounds, and over in a few seconds.
const demoPings = 8

// inputTest is the standard test of a page that answers input, with fewer pings.
func inputTest(p site.Page) (*suite.Test, error) {
	t, err := suite.Find(p.Name, knownToTests(), suite.Standard())
	if err != nil {
		return nil, err
	}
	t.Steps = slices.Clone(t.Steps)
	for i, s := range t.Steps {
		if ping, ok := s.Action.(suite.Ping); ok {
			ping.Times = demoPings
			t.Steps[i].Action = ping
		}
	}
	return t, nil
}

// drive does by hand what a page that answers input waits for, on the display's own keyboard and pointer, from its green to its red.
func (s *show) drive(ctx context.Context, p site.Page, emit func(timeline.Event)) error {
	t, err := inputTest(p)
	if err != nil {
		return err
	}
	width, height := s.display.Size()
	_, err = controller.Run(ctx, controller.Setup{
		Test: t, Browser: shown{s}, Input: s.input, Screen: s.screen, Own: true,
		Clock: timeline.Monotonic(), Emit: emit, Log: slog.New(slog.DiscardHandler),
		Size: frame.Region{Width: width, Height: height}, Random: rand.New(rand.NewPCG(1, 1)),
	})
	if err != nil {
		return fmt.Errorf("test page %q: %w", p.Name, err)
	}
	return nil
}

// shown is a browser that shows the page already: it was sent there by the page before.
type shown struct{ *show }

func (b shown) Launch(context.Context, string) (timeline.Interval, error) {
	return timeline.At(timeline.Monotonic().Now()), nil
}

func (b shown) Load(context.Context, string) (timeline.Interval, error) {
	return timeline.Interval{}, fmt.Errorf("the demo's pages load each other")
}

func (b shown) Ended() <-chan struct{} { return b.browser.Done() }
func (b shown) Err() error             { return b.browser.Err() }
