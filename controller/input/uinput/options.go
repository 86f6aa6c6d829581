package uinput

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/hand"
)

// options say what devices to make.
type options struct {
	Width, Height int            // of the screen, in pixels
	Relative      bool           // the mouse tells ways, not places
	Layout        input.Layout   // of the keyboard; nil: US
	Clock         timeline.Clock // nil: the rig's
}

// Open makes the devices of an address: "uinput:?size=1920x1080&pointer=relative". path is the text
// before the question mark: empty, or the node of uinput.
func Open(ctx context.Context, path string, params url.Values) (input.Driver, error) {
	o, err := parse(path, params)
	if err != nil {
		return nil, fmt.Errorf("uinput:%s: %w", path, err)
	}
	d, err := newDriver(ctx, o)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// defaultWidth and defaultHeight are those of most screens.
const defaultWidth, defaultHeight = 1920, 1080

func parse(path string, params url.Values) (options, error) {
	o := options{Width: defaultWidth, Height: defaultHeight}
	if path != "" && path != node {
		return o, fmt.Errorf("the path of uinput is %s or nothing", node)
	}
	known := []string{"size", "pointer", "layout"}
	for name, values := range params {
		if !slices.Contains(known, name) {
			return o, fmt.Errorf("unknown parameter %.40q; known: %s", name, strings.Join(known, ", "))
		}
		if len(values) != 1 {
			return o, fmt.Errorf("parameter %s is given %d times", name, len(values))
		}
	}
	if v := params.Get("size"); v != "" {
		screen, err := hand.ParseScreen(v)
		if err != nil {
			return o, fmt.Errorf("parameter size: %w", err)
		}
		o.Width, o.Height = screen.Width, screen.Height
	}
	switch v := params.Get("pointer"); v {
	case "", "absolute":
	case "relative":
		o.Relative = true
	default:
		return o, fmt.Errorf("parameter pointer is %.40q: it is absolute or relative", v)
	}
	if v := params.Get("layout"); v != "" && v != "us" {
		return o, fmt.Errorf("parameter layout is %.40q: only us is known", v)
	}
	return o, nil
}

// node is where the kernel makes devices.
const node = "/dev/uinput"
