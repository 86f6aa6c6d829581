package inspect

import (
	"context"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input/webdriver"
)

// Page is the page of a browser. It belongs to one goroutine.
type Page interface {
	// Evaluate returns the text that an expression of JavaScript has in the page.
	Evaluate(ctx context.Context, expression string) (string, error)
	// Preload runs a script in each later document of the page, before the document's own.
	Preload(ctx context.Context, script string) error
	// Navigate has the page go to an address. It returns the time of the command.
	Navigate(ctx context.Context, address string) (timeline.Interval, error)
	Close() error
}

// Open opens the side channel of a browser. It ends with the browser, with ctx or with Close.
func Open(ctx context.Context, b *device.Browser) (Page, error) {
	if p := b.Pipe(); p != nil {
		return newDevtools(ctx, p), nil
	}
	endpoint, err := b.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	return webdriver.Open(ctx, endpoint)
}
