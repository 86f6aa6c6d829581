package x11

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

type source struct {
	info  capture.Info
	c     *connection // nil after Close
	grab  *grabber
	size  int
	clock timeline.Clock
}

var _ capture.Source = (*source)(nil)

// Open connects to a display of this machine, ":9" or ":9.0". For "" it uses the environment's. The
// parameters are:
//
//	region=WxH+X+Y   region to capture (default: the whole screen)
//	cursor=0         leave the pointer out (default: 1, draw it)
//	fps=60           ticks a second, also 59.94 or 60000/1001
//
// Frames are frame.BGR4 without padding.
func Open(display string, params url.Values) (capture.Source, error) {
	if err := frame.CheckParams("x11:"+display, params, paramNames()...); err != nil {
		return nil, err
	}
	s, err := open(display, params)
	if err != nil {
		return nil, fmt.Errorf("x11:%s: %w", display, err)
	}
	s.info.URI = "x11:" + display + frame.Query(params, paramNames()...)
	return s, nil
}

func paramNames() []string { return []string{"region", "cursor", "fps"} }

type settings struct {
	region frame.Region // empty: all
	cursor bool
	period capture.Rational
}

func parseParams(params url.Values) (s settings, err error) {
	s = settings{cursor: true, period: capture.Rational{Num: 1, Den: 60}}
	if params.Has("region") {
		// In a query "+" stands for a space, and not everyone writes %2B.
		if s.region, err = frame.ParseRegion(strings.ReplaceAll(params.Get("region"), " ", "+")); err != nil {
			return s, err
		}
	}
	switch v := params.Get("cursor"); {
	case v == "0":
		s.cursor = false
	case v != "1" && params.Has("cursor"):
		return s, fmt.Errorf("bad cursor %q: want 0 or 1", v)
	}
	if params.Has("fps") {
		s.period.Num, s.period.Den, err = frame.ParseRate(params.Get("fps"))
	}
	return s, err
}

func open(display string, params url.Values) (*source, error) {
	set, err := parseParams(params)
	if err != nil {
		return nil, &frame.ParamsError{Err: err}
	}
	a, err := parseDisplay(display)
	if err != nil {
		return nil, err
	}
	c, err := connect(a)
	if err != nil {
		return nil, err
	}
	s, err := start(c, set)
	if err != nil {
		c.close()
		return nil, err
	}
	return s, nil
}

func start(c *connection, set settings) (*source, error) {
	if err := c.checkPixels(); err != nil {
		return nil, err
	}
	width, height := int(c.screen.WidthInPixels), int(c.screen.HeightInPixels)
	if set.region == (frame.Region{}) {
		set.region = frame.Region{Width: width, Height: height}
	}
	if !set.region.In(width, height) {
		return nil, fmt.Errorf("region %v is outside the screen, which is %dx%d", set.region, width, height)
	}
	format, err := frame.NewFormat(frame.BGR4, set.region.Width, set.region.Height)
	if err != nil {
		return nil, err
	}
	g, err := newGrabber(c, set.region, set.cursor)
	if err != nil {
		return nil, err
	}
	if err := g.watch(); err != nil {
		g.seg.close()
		return nil, fmt.Errorf("watch the screen's size: %w", err)
	}
	about, err := json.Marshal(server{Name: c.server()})
	if err != nil {
		g.seg.close()
		return nil, err
	}
	return &source{
		info: capture.Info{
			Format: format, Clocked: true, Period: set.period,
			Metadata: []capture.Metadata{{Name: serverMetadata, Value: about}},
		},
		c:     c,
		grab:  g,
		size:  format.Size(),
		clock: timeline.Monotonic(),
	}, nil
}

func (s *source) Info() capture.Info { return s.info }

// Close ends the connection and gives the shared memory back.
func (s *source) Close() error {
	if s.c == nil {
		return nil
	}
	s.c.close()
	s.c = nil
	if err := s.grab.seg.close(); err != nil {
		return fmt.Errorf("%s: detach shared memory: %w", s.info.URI, err)
	}
	return nil
}

// Run takes a picture at every tick. It ends with the context; with an error, where the server goes
// away or the screen changes its size.
func (s *source) Run(ctx context.Context, ring *capture.Ring, _ func(timeline.Event)) error {
	if s.c == nil {
		return errors.New(s.info.URI + ": the source is closed")
	}
	if err := s.info.Fits(ring); err != nil {
		return err
	}
	// A server that hangs must not keep us when all is over.
	socket := s.c.net // the function may still run when Run has returned
	hurry := context.AfterFunc(ctx, func() { socket.SetDeadline(time.Now().Add(patience)) })
	defer hurry()
	t := ticks{start: s.clock.Now(), period: s.info.Period}
	missed := frame.NoCause
	for n := uint64(0); ; {
		if timeline.SleepUntil(ctx, t.due(n)) != nil {
			return nil
		}
		stored, err := s.tick(ring, n, missed)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("%s: %w", s.info.URI, err)
		}
		if stored {
			missed = frame.NoCause
		}
		next := t.after(n, s.clock.Now())
		if next != n+1 {
			missed = frame.SourceLate
		}
		n = next
	}
}

// tick puts one picture into the ring, if there is room.
func (s *source) tick(ring *capture.Ring, n uint64, missed frame.Cause) (stored bool, err error) {
	slot, ok := ring.TryAcquire()
	if !ok {
		return false, nil
	}
	before := s.clock.Now()
	pix, cursor, err := s.grab.grab()
	after := s.clock.Now()
	if err == nil {
		err = s.grab.sizeChange()
	}
	if err != nil {
		slot.Abandon()
		return false, err
	}
	dst := slot.Bytes()[:s.size]
	copy(dst, pix)
	r := s.grab.region
	cursor.draw(dst, r.X, r.Y, r.Width, r.Height)
	slot.Commit(s.size, frame.Meta{
		Sequence: n,
		Sampled:  timeline.Interval{Earliest: before, Latest: after},
		Missed:   missed,
	})
	return true, nil
}
