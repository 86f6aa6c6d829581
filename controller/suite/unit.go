package suite

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/strict"
	"github.com/eideticker/eideticker/pattern"
)

// Limit is a number with the unit of the value that it limits: "100ms". The session checks it.
type Limit string

// Percent is a part of a hundred: 0.1 is a thousandth.
type Percent float64

// Rate is bits a second.
type Rate int64

// Bytes is an amount of data. A file has it in MiB or GiB.
type Bytes int64

// Size is a width and a height in pixels.
type Size struct{ Width, Height int }

// Colour is one in RGB.
type Colour struct{ R, G, B uint8 }

// Chord is keys that are held together, in the order in which they are pressed.
type Chord []input.Key

// Point is a place; see the package documentation.
type Point struct {
	X, Y Coordinate
	// Selector finds an element of the page by CSS, in place of X and Y. A session replaces it by
	// the element's place before a run.
	Selector string
}

// Coordinate is pixels from the left or upper edge, or percent of the width or height.
type Coordinate struct {
	Value   float64
	Percent bool
}

// numeral begins coordinates. No selector begins like that.
var numeral = pattern.New(`^\s*[-+.]?[0-9]`)

// ParsePoint reads "300,400", "50%,50%" or a selector.
func ParsePoint(s string) (p Point, err error) {
	if !numeral.MatchString(s) {
		return Point{Selector: s}, checkSelector(s)
	}
	x, y, ok := strings.Cut(s, ",")
	if !ok {
		return p, fmt.Errorf("invalid place %q: must be X,Y or a selector", strict.Clip(s))
	}
	if p.X, err = parseCoordinate(strings.TrimSpace(x)); err == nil {
		p.Y, err = parseCoordinate(strings.TrimSpace(y))
	}
	return p, err
}

// maxSelector limits the bytes of a selector.
const maxSelector = 1000

func checkSelector(s string) error {
	if strings.TrimSpace(s) == "" || len(s) > maxSelector || strings.ContainsFunc(s, notInLine) {
		return fmt.Errorf("invalid selector %q: must be CSS in one line of at most %d bytes", strict.Clip(s),
			maxSelector)
	}
	return nil
}

// MapPoints returns a copy of the test in which f has replaced each point of its steps.
func (t *Test) MapPoints(f func(Point) Point) *Test {
	mapped := *t
	mapped.Steps = mapPoints(reflect.ValueOf(t.Steps), f).Interface().([]Step)
	return &mapped
}

// mapPoints copies a value, with the points below it replaced.
func mapPoints(v reflect.Value, f func(Point) Point) reflect.Value {
	if p, ok := v.Interface().(Point); ok {
		return reflect.ValueOf(f(p))
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Interface:
		out.Set(mapPoints(v.Elem(), f))
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(mapPoints(v.Elem(), f))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(mapPoints(v.Field(i), f))
		}
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(mapPoints(v.Index(i), f))
		}
	}
	return out
}

// Selectors returns the selectors of the test's points, each once.
func (t *Test) Selectors() (all []string) {
	t.MapPoints(func(p Point) Point {
		if p.Selector != "" && !slices.Contains(all, p.Selector) {
			all = append(all, p.Selector)
		}
		return p
	})
	return all
}

// Within returns an error if a point is outside of an area of this size.
func (t *Test) Within(width, height int) (err error) {
	t.MapPoints(func(p Point) Point {
		if x, y := p.In(frame.Region{Width: width, Height: height}); x >= float64(width) || y >= float64(height) {
			err = fmt.Errorf("the point %s,%s is outside of the screen, %dx%d", p.X, p.Y, width, height)
		}
		return p
	})
	return err
}

// In returns the point's pixels on the screen, for places that are counted in an area of it. 100 %
// is the last pixel.
func (p Point) In(area frame.Region) (x, y float64) {
	return p.X.in(area.X, area.Width), p.Y.in(area.Y, area.Height)
}

func (c Coordinate) in(start, length int) float64 {
	if c.Percent {
		return float64(start) + c.Value/100*float64(max(length-1, 0))
	}
	return float64(start) + c.Value
}
