package webdriver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// Driver is an [input.Driver] of a browser's page.
type Driver struct {
	conn   *conn
	page   string // its browsing context
	own    bool   // the session was made here
	device string
	clock  timeline.Clock
	held   input.Held
	at     [2]int // of the pointer
	closed bool
}

// Open connects to a browser's endpoint. An address that ends in /session, with nothing behind,
// gets a session of its own.
func Open(ctx context.Context, url string) (*Driver, error) {
	c, err := dial(ctx, url)
	if err != nil {
		return nil, err
	}
	d := &Driver{conn: c, device: url, clock: timeline.Monotonic()}
	if err := d.begin(ctx, strings.HasSuffix(url, "/session")); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return d, nil
}

func (d *Driver) begin(ctx context.Context, own bool) error {
	if own {
		var made struct {
			Capabilities struct {
				Name    string `json:"browserName"`
				Version string `json:"browserVersion"`
			} `json:"capabilities"`
		}
		if err := d.conn.call(ctx, "session.new", map[string]any{"capabilities": map[string]any{}}, &made); err != nil {
			return err
		}
		d.own = true
		if made.Capabilities.Name != "" {
			d.device = made.Capabilities.Name + " " + made.Capabilities.Version
		}
	}
	var tree struct {
		Contexts []struct {
			Context string `json:"context"`
		} `json:"contexts"`
	}
	if err := d.conn.call(ctx, "browsingContext.getTree", map[string]any{"maxDepth": 0}, &tree); err != nil {
		return err
	}
	if len(tree.Contexts) == 0 || tree.Contexts[0].Context == "" {
		return errors.New("the browser shows no page")
	}
	d.page = tree.Contexts[0].Context
	return nil
}

// Navigate has the page go to an address, and returns when the browser was told.
func (d *Driver) Navigate(ctx context.Context, address string) (timeline.Interval, error) {
	sent := timeline.Interval{Earliest: d.clock.Now()}
	err := d.conn.call(ctx, "browsingContext.navigate", map[string]any{"context": d.page, "url": address,
		"wait": "none"}, nil)
	sent.Latest = d.clock.Now()
	return sent, err
}

// Evaluate evaluates an expression of JavaScript in the page. Its value must be a string.
func (d *Driver) Evaluate(ctx context.Context, expression string) (string, error) {
	var answer struct {
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
	}
	err := d.conn.call(ctx, "script.evaluate", map[string]any{"expression": expression, "awaitPromise": false,
		"target": map[string]any{"context": d.page}}, &answer)
	return answer.Result.Value, err
}

// Preload runs a script in each later document of the page, before the document's own.
func (d *Driver) Preload(ctx context.Context, script string) error {
	return d.conn.call(ctx, "script.addPreloadScript", map[string]any{"contexts": []string{d.page},
		"functionDeclaration": "() => {" + script + "\n}"}, nil)
}

// Do is as [input.Driver] has it.
func (d *Driver) Do(ctx context.Context, at timeline.Time, actions ...input.Action) (timeline.Interval, error) {
	if d.closed {
		return timeline.Interval{}, errors.New("webdriver: the driver is closed")
	}
	if err := input.Check(actions); err != nil {
		return timeline.Interval{}, err
	}
	p := perform{at: d.at, touch: map[int]*source{}}
	for _, a := range actions {
		if err := p.add(a); err != nil {
			return timeline.Interval{}, err
		}
	}
	if err := timeline.SleepUntil(ctx, at); err != nil {
		return timeline.Interval{}, err
	}
	// A command that fails, or whose answer was not awaited, may have been done in part. The keys
	// that it presses are lifted later.
	for _, a := range actions {
		switch a.(type) {
		case input.KeyDown, input.ButtonDown, input.TouchDown:
			d.held.Note(a)
		}
	}
	sent := timeline.Interval{Earliest: d.clock.Now()}
	err := d.conn.call(ctx, "input.performActions", map[string]any{"context": d.page, "actions": p.sources()}, nil)
	sent.Latest = d.clock.Now()
	if err != nil {
		return timeline.Interval{}, err
	}
	d.at = p.at
	d.held.Note(actions...)
	return sent, nil
}

// Release is as [input.Driver] has it.
func (d *Driver) Release(ctx context.Context) error {
	lift := d.held.Lift()
	if len(lift) == 0 || d.closed {
		return nil
	}
	if err := d.conn.call(ctx, "input.releaseActions", map[string]any{"context": d.page}, nil); err != nil {
		return err
	}
	d.held.Note(lift...)
	return nil
}

// Info is as [input.Driver] has it.
func (d *Driver) Info() input.Info { return Info(d.device) }

// Info is that of any driver: what it says before there is one. The device is a browser in its own
// words.
func Info(device string) input.Info {
	return input.Info{
		Driver: "webdriver", Device: device, Realism: input.Page,
		Note: fmt.Sprintf("less realistic than the system's events; a wheel's detent is %d pixels", wheelPixels),
	}
}

// Close is as [input.Driver] has it.
func (d *Driver) Close() error {
	if d.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	err := d.Release(ctx)
	if d.own && err == nil {
		err = d.conn.call(ctx, "session.end", map[string]any{}, nil)
	}
	d.closed = true
	if errors.Is(err, input.ErrGone) {
		err = nil // the held keys end with it
	}
	return errors.Join(err, d.conn.close())
}
