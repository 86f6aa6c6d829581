package locate

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session/inspect"
)

//go:embed look.js
var look string

// Place is the place of a selector's element: the centre of its visible part, in pixels of the
// content.
type Place struct {
	Selector string `json:"selector"`
	X        int    `json:"x_px"`
	Y        int    `json:"y_px"`
}

// Found are the places of elements in a page.
type Found struct {
	Places  []Place
	Address string // of the page
}

// Times of a search.
const (
	limit      = time.Minute // for all of it
	again      = 100 * time.Millisecond
	rest       = 2 * time.Second  // of found elements
	restWrong  = 5 * time.Second  // of elements that are missing, and may yet come
	loadsLimit = 20 * time.Second // then a page that still loads is taken as it is
)

var errMoves = errors.New("its place changes; use X,Y")

// state is the answer of look.js.
type state struct {
	Address       string    `json:"address"`
	Loaded        bool      `json:"loaded"`
	Width, Height int       // of the window, in CSS pixels
	Elements      []element `json:"elements"`
}

type element struct {
	Invalid bool   `json:"invalid"`
	Count   int    `json:"count"`
	Hidden  bool   `json:"hidden"`
	Outside bool   `json:"outside"`
	Covered string `json:"covered"` // by this element; "": it is not
	X, Y    int
}

// wrong returns why an element has no place to act on.
func (e *element) wrong(s *state) error {
	switch {
	case e.Invalid:
		return errors.New("is not valid CSS")
	case e.Count == 0:
		return errors.New("matches no element")
	case e.Count > 1:
		return fmt.Errorf("matches %d elements; name one of them", e.Count)
	case e.Hidden:
		return errors.New("matches a hidden element")
	case e.Outside:
		return fmt.Errorf("matches an element outside of the window, %dx%d", s.Width, s.Height)
	case e.Covered != "":
		return fmt.Errorf("matches an element below another one, %s", e.Covered)
	}
	return nil
}

// places returns the places of selectors.
func (s *state) places(selectors []string) (all []Place, err error) {
	if len(s.Elements) != len(selectors) {
		return nil, errors.New("the page gave no places")
	}
	for i, e := range s.Elements {
		if wrong := e.wrong(s); wrong != nil {
			return nil, fmt.Errorf("selector %q %w", selectors[i], wrong)
		}
		all = append(all, Place{selectors[i], e.X, e.Y})
	}
	return all, nil
}

// evaluator evaluates an expression of JavaScript in a page. Its value is a string.
type evaluator interface {
	Evaluate(ctx context.Context, expression string) (string, error)
}

// Find finds one element per selector in the page of a browser that was started with Inspect at an
// address. It closes the side channel.
func Find(ctx context.Context, b *device.Browser, address string, selectors []string) (found Found, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	d, err := inspect.Open(ctx, b)
	if err != nil {
		return found, err
	}
	found, err = find(ctx, d, address, selectors)
	return found, errors.Join(err, d.Close())
}

// find asks until the page has loaded and its answer stays the same.
func find(ctx context.Context, page evaluator, address string, selectors []string) (found Found, err error) {
	list, err := json.Marshal(selectors)
	if err != nil {
		return found, err
	}
	expression := fmt.Sprintf(look, list)
	began := time.Now()
	last, since := "", began
	var why error // nothing was found yet
	ticks := time.NewTicker(again)
	defer ticks.Stop()
	for {
		text, asked := page.Evaluate(ctx, expression)
		if text != last { // also: asked fails while the page changes
			last, since = text, time.Now()
		}
		var s state
		if asked == nil {
			asked = json.Unmarshal([]byte(text), &s)
		}
		if asked == nil && s.Address != "about:blank" && (s.Loaded || time.Since(began) > loadsLimit) {
			found.Address, asked = s.Address, errMoves
			need := rest
			if found.Places, err = s.places(selectors); err != nil {
				need = restWrong
			}
			if time.Since(since) >= need {
				return found, led(address, s.Address, err)
			}
		}
		if asked != nil && ctx.Err() == nil {
			why = asked
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return found, fmt.Errorf("look for %s in %s: %w", strings.Join(selectors, ", "), address,
				cmp.Or(why, context.Cause(ctx)))
		}
	}
}

// led adds the address to which another one led to an error.
func led(from, to string, err error) error {
	switch {
	case strings.HasPrefix(to, "about:") || strings.HasPrefix(to, "chrome-error:"):
		return fmt.Errorf("the browser cannot show %s", from)
	case err != nil && !Same(from, to):
		return fmt.Errorf("%w; %s led to %.200s", err, from, to)
	}
	return err
}

// Same reports if two addresses are of one page, up to scheme, "www." and fragment.
func Same(a, b string) bool {
	plain := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			return address
		}
		return strings.TrimPrefix(strings.ToLower(u.Host), "www.") + "/" + strings.Trim(u.Path, "/") + "?" + u.RawQuery
	}
	return plain(a) == plain(b)
}
