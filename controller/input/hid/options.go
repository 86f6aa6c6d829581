package hid

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/hand"
	"github.com/eideticker/eideticker/pattern"
)

// driverOptions say what to plug in, and where.
type driverOptions struct {
	// Node is one of a gadget that is there, "/dev/hidg3": all of that gadget's functions that are
	// like ours are used, and it stays. "" sets one up.
	Node string
	// As says what a node is, where configfs does not: then it is used alone.
	As kind

	UDC      string // port of the gadget that is set up, as in /sys/class/udc; "": the first that is free
	Keyboard rollover
	Mouse    pointing
	Touch    bool
	// WidthMM and HeightMM are the size of the touch screen's surface; 0: what a screen of 96
	// pixels an inch would have.
	WidthMM, HeightMM int

	Width, Height int            // of the device's screen, in pixels
	Layout        input.Layout   // that the device has set; nil: US
	Wait          time.Duration  // for the host to choose the gadget's configuration
	Clock         timeline.Clock // nil: the rig's
}

// kind is what a function is.
type kind string

// The kinds, by the names that addresses have for them.
const (
	bootKeyboard  kind = "keyboard"
	fullKeyboard  kind = "full-keyboard"
	absoluteMouse kind = "mouse"
	relativeMouse kind = "relative-mouse"
	touchScreen   kind = "touch"
)

func kinds() []kind {
	return []kind{bootKeyboard, fullKeyboard, absoluteMouse, relativeMouse, touchScreen}
}

// defaults returns the options of a gadget with all that there is, for a screen of the usual size.
func defaults() driverOptions {
	return driverOptions{Keyboard: boot, Mouse: pointingAbsolute, Touch: true, Width: 1920, Height: 1080,
		Wait: 10 * time.Second}
}

// Open opens the gadget of an address. "hid:/dev/hidg3?size=1080x2400" uses an existing one, and
// "hid:?keyboard=full&pointer=relative&touch=no" sets one up. path is the text before the question
// mark.
//
// Parameters are size, layout and wait. An existing gadget also has as, see kind. A new one has
// these:
//
//	udc        its port
//	keyboard   boot, full or no
//	pointer    absolute, relative or no
//	touch      yes or no
//	mm         size of the touch screen
func Open(ctx context.Context, path string, params url.Values) (input.Driver, error) {
	o, err := parse(path, params)
	if err != nil {
		return nil, fmt.Errorf("hid:%s: %w", path, err)
	}
	d, err := newDriver(ctx, o)
	if err != nil {
		return nil, err
	}
	return d, nil
}

var (
	nodePath = pattern.New(`^/dev/[A-Za-z0-9_./-]{1,200}$`)
	udcName  = pattern.New(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,100}$`)
)

// parse reads an address, see Open.
func parse(path string, params url.Values) (driverOptions, error) {
	o := defaults()
	parsers := map[string]func(string) error{
		"size":   o.parseSize,
		"layout": func(v string) error { return oneOf(v, "us", func(string) {}) },
		"wait":   o.parseWait,
	}
	if path == "" {
		parsers["udc"] = o.parseUDC
		parsers["keyboard"] = func(v string) error {
			return choose(v, &o.Keyboard, map[string]rollover{"boot": boot, "full": full, "no": noKeyboard})
		}
		parsers["pointer"] = func(v string) error {
			return choose(v, &o.Mouse, map[string]pointing{"absolute": pointingAbsolute,
				"relative": pointingRelative, "no": pointingNone})
		}
		parsers["touch"] = func(v string) error {
			return choose(v, &o.Touch, map[string]bool{"yes": true, "no": false})
		}
		parsers["mm"] = o.parseMM
	} else {
		if !nodePath.MatchString(path) || strings.Contains(path, "..") {
			return o, fmt.Errorf("%.80q is not a node below /dev", path)
		}
		o.Node = path
		parsers["as"] = func(v string) error {
			all := map[string]kind{}
			for _, k := range kinds() {
				all[string(k)] = k
			}
			return choose(v, &o.As, all)
		}
	}
	for name, values := range params {
		parse, ok := parsers[name]
		switch {
		case !ok:
			return o, fmt.Errorf("unknown parameter %.40q: here are %s", name, strings.Join(sortedKeys(parsers), ", "))
		case len(values) != 1:
			return o, fmt.Errorf("parameter %s is given %d times", name, len(values))
		}
		if err := parse(values[0]); err != nil {
			return o, fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	return o, o.validate()
}

func sortedKeys[V any](m map[string]V) []string {
	var all []string
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// choose takes the value of a name.
func choose[V any](name string, to *V, of map[string]V) error {
	v, ok := of[name]
	if !ok {
		return fmt.Errorf("%.40q is none of %s", name, strings.Join(sortedKeys(of), ", "))
	}
	*to = v
	return nil
}

func oneOf(v, only string, take func(string)) error {
	if v != only {
		return fmt.Errorf("%.40q: only %s is known", v, only)
	}
	take(v)
	return nil
}

func (o *driverOptions) parseSize(v string) error {
	s, err := hand.ParseScreen(v)
	o.Width, o.Height = s.Width, s.Height
	return err
}

func (o *driverOptions) parseWait(v string) (err error) {
	o.Wait, err = time.ParseDuration(v)
	return err
}

func (o *driverOptions) parseUDC(v string) error {
	o.UDC = v
	return nil
}

// maxMM bounds a side of a touch screen: what a descriptor can say in tenths of millimetres with 16
// bits.
const maxMM = 3000

func (o *driverOptions) parseMM(v string) error {
	w, h, ok := strings.Cut(v, "x")
	var errW, errH error
	o.WidthMM, errW = strconv.Atoi(w)
	o.HeightMM, errH = strconv.Atoi(h)
	if !ok || errW != nil || errH != nil || o.WidthMM < 1 || o.HeightMM < 1 {
		return fmt.Errorf("%.40q is not a size in millimetres like 68x150", v)
	}
	return nil
}

// validate checks the options and sets defaults.
func (o *driverOptions) validate() error {
	if err := (hand.Screen{Width: o.Width, Height: o.Height}).Validate(); err != nil {
		return err
	}
	if o.Wait < 0 || o.Wait > time.Hour {
		return fmt.Errorf("a wait of %v: from 0 to 1h", o.Wait)
	}
	if o.WidthMM == 0 && o.HeightMM == 0 {
		o.WidthMM, o.HeightMM = min(max(o.Width*254/960, 1), maxMM), min(max(o.Height*254/960, 1), maxMM)
	}
	if o.WidthMM < 1 || o.WidthMM > maxMM || o.HeightMM < 1 || o.HeightMM > maxMM {
		return fmt.Errorf("touch screen of %dx%d mm: from 1 to %d", o.WidthMM, o.HeightMM, maxMM)
	}
	if o.Node == "" && o.Keyboard == noKeyboard && o.Mouse == pointingNone && !o.Touch {
		return errors.New("no keyboard, no mouse and no touch screen leave nothing to plug in")
	}
	if o.UDC != "" && !udcName.MatchString(o.UDC) {
		return fmt.Errorf("%.80q is not a name of a port", o.UDC)
	}
	return nil
}
