package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/certify"
	"github.com/eideticker/eideticker/cmd/eideticker/internal/rig"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/x11"
	"github.com/eideticker/eideticker/netsim/site"
)

// played is what happened while the demo recorded.
type played struct {
	browser, version string
	nonce            string // of the site, and in its markers
	reports          []site.Report
	source           capture.Info
	result           rig.Result
}

const (
	demoWidth, demoHeight = 1280, 720 // more starves two cores of Chromium
	demoFPS               = 60
	// pageTimeout is how long a page may take to report: it plays for three seconds.
	pageTimeout = 30 * time.Second
	// redTail is recorded after the last report, which the page sends while its red is held.
	redTail = 300 * time.Millisecond
)

// demoPlaylist lists the pages whose truth the demo holds measures against.
func demoPlaylist() []string {
	return []string{
		"framerate", "framerate-half", "framerate-uneven", "framerate-boast", "load",
		"tearing-dom", "tearing-canvas", "tearing-video", "tearing-combined", "tearing-drawn", "checkerboard", "checkerboard-scroll",
		"pingpong",
	}
}

// record has a browser play all pages and records its display meanwhile. What it starts has ended when it returns.
func (d *demo) record() (err error) {
	d.phase("starting a display", 0).end()
	display, err := device.StartDisplay(d.ctx, device.DisplayOptions{Width: demoWidth, Height: demoHeight})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, display.Close()) }()

	src, err := rig.OpenSource(d.ctx, fmt.Sprintf("x11:%s?fps=%d&cursor=0", display.Name(), demoFPS))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()

	pages, err := site.New(site.Options{Playlist: demoPlaylist(), Strip: strip.Spec(), Clock: timeline.Monotonic(), MarkCode: true})
	if err != nil {
		return err
	}
	d.played.nonce = pages.Nonce()
	server, err := site.Listen(pages, "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(d.ctx)
	defer stop()
	var serving errgroup.Group
	serving.Go(func() error { return server.Run(ctx) })

	hand, err := x11.Open(display.Name())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hand.Close()) }()
	show := show{demo: d, display: display, pages: pages, url: server.URL(), stop: stop, input: hand, screen: rig.NewScreen()}
	res, err := rig.Record(ctx, src, d.recording(), rig.Options{
		Force: true, Program: program(), Started: show.run, Watch: show.screen, Metadata: certify.Metadata(src.Info()),
	})
	d.played.source, d.played.result = src.Info(), res
	stop()
	err = errors.Join(err, show.close(), serving.Wait())
	if err == nil {
		err = d.ctx.Err()
	}
	return err
}

// show is the browser's part: it runs beside the recording.
type show struct {
	*demo
	display *device.Display
	pages   *site.Site
	url     string
	stop    func() // ends the recording
	input   input.Driver
	screen  *rig.Screen

	browser *device.Browser
}

func (s *show) run(ctx context.Context, emit func(timeline.Event)) error {
	s.phase("starting a browser", 0).end()
	var err error
	// Not ctx: the browser is to stay on the screen until the recording has ended.
	s.browser, err = device.StartBrowser(s.ctx, device.BrowserOptions{Display: s.display, Name: s.demo.browser, URL: s.url})
	if err != nil {
		return err
	}
	s.played.browser, s.played.version = s.browser.Name(), s.browser.Version()
	if err := s.watch(ctx, emit); err != nil {
		return err
	}
	select {
	case <-time.After(redTail):
	case <-ctx.Done():
	}
	s.stop()
	return nil
}

// watch waits for the report of each page, and for the browser's death.
func (s *show) watch(ctx context.Context, emit func(timeline.Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var guard errgroup.Group
	guard.Go(func() error {
		select {
		case <-s.browser.Done():
			cancel(fmt.Errorf("%s ended while it played: %w", s.browser.Name(), s.browser.Err()))
		case <-s.display.Done():
			cancel(fmt.Errorf("the display ended: %w", s.display.Err()))
		case <-ctx.Done():
		}
		return nil
	})
	err := s.reports(ctx, emit)
	cancel(nil)
	return errors.Join(err, guard.Wait())
}

func (s *show) reports(ctx context.Context, emit func(timeline.Event)) error {
	list := s.pages.Playlist()
	p := s.phase(fmt.Sprintf("recording %s", plural(len(list), "page")), len(list))
	defer p.end()
	for i := range list {
		if list[i].Cadence == site.CadenceInput {
			if err := s.drive(ctx, list[i], emit); err != nil {
				return err
			}
		}
		pageCtx, cancel := context.WithTimeoutCause(ctx, pageTimeout, fmt.Errorf("nothing came within %v", pageTimeout))
		report, err := s.pages.Next(pageCtx)
		cancel()
		if err != nil {
			return err
		}
		for _, e := range report.Events() {
			emit(e)
		}
		s.played.reports = append(s.played.reports, report)
		p.set(i + 1)
	}
	return nil
}

func (s *show) close() error {
	if s.browser == nil {
		return nil
	}
	return s.browser.Close()
}
