package inspect

import (
	"context"
	"io"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input/webdriver"
	internal "github.com/eideticker/eideticker/controller/internal/devtools"
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

// browser is a [device.Browser].
type browser interface {
	Pipe() io.ReadWriter
	Endpoint(ctx context.Context) (string, error)
}

var _ browser = (*device.Browser)(nil)

// Open opens the side channel of a browser. It ends with the browser or with Close. The context
// limits only the opening.
func Open(ctx context.Context, b browser) (Page, error) {
	if p := b.Pipe(); p != nil {
		return newDevtools(p), nil
	}
	endpoint, err := b.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	return webdriver.Open(ctx, endpoint)
}

// Tools returns the connection to the developer tools that a page uses; nil: it uses another
// channel. It belongs to the page's goroutine.
func Tools(p Page) *internal.Conn {
	if d, ok := p.(*devtools); ok {
		return d.Conn
	}
	return nil
}
