package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/webdriver"
)

// pageHand gives input to the page of a browser, by WebDriver BiDi. There is nobody to give it to
// before the browser runs.
type pageHand struct {
	driver *webdriver.Driver // nil before reach
}

// reachTimeout is how long a browser whose window is there may take until it listens.
const reachTimeout = 30 * time.Second

// reach connects to a browser that has been started.
func (h *pageHand) reach(ctx context.Context, b *device.Browser) error {
	ctx, cancel := context.WithTimeoutCause(ctx, reachTimeout, fmt.Errorf("timeout after %v", reachTimeout))
	defer cancel()
	endpoint, err := b.Endpoint(ctx)
	if err != nil {
		return err
	}
	h.driver, err = webdriver.Open(ctx, endpoint)
	return err
}

var errNoPage = errors.New("webdriver: the browser has not been started")

// navigate has the page go to an address: keys that are given to a page do not reach the browser's
// address bar.
func (h *pageHand) navigate(ctx context.Context, address string) (timeline.Interval, error) {
	asked, err := Address(address)
	if err != nil {
		return timeline.Interval{}, err
	}
	if h.driver == nil {
		return timeline.Interval{}, errNoPage
	}
	return h.driver.Navigate(ctx, asked)
}

// Do is as [input.Driver] has it.
func (h *pageHand) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	if h.driver == nil {
		return timeline.Interval{}, errNoPage
	}
	return h.driver.Do(ctx, at, actions...)
}

// Release is as [input.Driver] has it.
func (h *pageHand) Release(ctx context.Context) error {
	if h.driver == nil {
		return nil
	}
	return h.driver.Release(ctx)
}

// Info is as [input.Driver] has it.
func (h *pageHand) Info() input.Info {
	if h.driver == nil {
		return webdriver.Info("")
	}
	return h.driver.Info()
}

// Close is as [input.Driver] has it.
func (h *pageHand) Close() error {
	if h.driver == nil {
		return nil
	}
	return h.driver.Close()
}
