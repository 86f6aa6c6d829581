package siterecord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/screen"
	"github.com/eideticker/eideticker/controller/session/testnet"
)

const (
	// still is the stillness of screen and network after which a page counts as loaded.
	still      = 3 * time.Second
	stillLimit = time.Minute
	// watched is the frame rate of the screen, and ringBytes the memory for its frames.
	watched   = 10
	ringBytes = 64 << 20
)

// errMoving ends the wait for stillness.
var errMoving = errors.New("the page was not still within the limit")

// browsing is a browser behind a recorder.
type browsing struct {
	options Options
	page    *url.URL
	dir     string // temporary
	way     *way
	trust   *device.Authority
	traffic traffic
	network *testnet.Network // nil: the proxy's
	proxy   string
	moving  bool
}

// load starts the browser at the page and waits until screen and network are still.
func (b *browsing) load(ctx context.Context) (err error) {
	display, err := device.StartDisplay(ctx, device.DisplayOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, display.Close()) }()
	o := device.BrowserOptions{Name: b.options.Browser, Program: b.options.Executable, Display: display,
		URL: b.options.URL, Authority: b.trust, Proxy: b.proxy, Untrusted: b.options.Untrusted}
	if b.network != nil {
		o.Start = b.network.Link.Device.Start
	}
	browser, err := device.StartBrowser(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, browser.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with this call
		select {
		case <-browser.Done():
			cancel(fmt.Errorf("the browser ended: %w", browser.Err()))
		case <-ctx.Done():
		}
	}()
	return b.settle(ctx, display.Name())
}

// settle records the screen while it waits. The recording of the screen is not kept.
func (b *browsing) settle(ctx context.Context, display string) error {
	source, err := recorder.OpenSource(ctx, fmt.Sprintf("x11:%s?fps=%d&cursor=0", display, watched))
	if err != nil {
		return err
	}
	defer source.Close()
	watcher := screen.New()
	watcher.Period = source.Info().Period.Duration(1)
	over, stop := context.WithCancel(ctx)
	defer stop()
	var waited error
	_, err = recorder.Record(over, source, filepath.Join(b.dir, "screen.eid"), recorder.Options{
		Program: b.options.Program, Watch: watcher, RingBytes: ringBytes,
		Started: func(ctx context.Context, _ func(timeline.Event)) error {
			waited = b.await(ctx, watcher)
			stop()
			return nil
		},
	})
	if ctx.Err() != nil { // Ctrl-C, or the browser's end
		return context.Cause(ctx)
	}
	return errors.Join(waited, err)
}

// await waits until screen and network are still, or until the limit. A browser that has requested
// nothing has not begun.
func (b *browsing) await(ctx context.Context, screen controller.Screen) error {
	limit := cmp.Or(b.options.Limit, stillLimit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errMoving)
	defer cancel()
	for {
		_, _, err := screen.Await(ctx, nil, controller.Condition{Kind: controller.Still, For: still,
			Since: timeline.Monotonic().Now()})
		if err != nil && errors.Is(context.Cause(ctx), errMoving) {
			if !b.traffic.begun() {
				return fmt.Errorf("the browser requested nothing of the page within %v", limit)
			}
			b.moving = true
			return nil
		}
		if err != nil || b.traffic.quiet(still) {
			return err
		}
	}
}
