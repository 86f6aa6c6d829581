package device

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/strict"
	"github.com/eideticker/eideticker/pattern"
)

// Description is a device as in a file of devices: its source, input, network and power.
type Description struct {
	// its key in the file: letters, digits and dots, dashes and underscores
	Name  string `yaml:"-"`
	About string `yaml:"about"` // one sentence for people

	Source string `yaml:"source" need:"true"` // a source's URI, or [Virtual]
	Input  Input  `yaml:"input" need:"true"`
	// this machine's interface that the device is fed by; "": it reaches this machine's loopback
	Network string `yaml:"network"`
	// AccessPoint makes the interface one while a test asks for a network; "": it has a cable. See
	// [ParseAccessPoint].
	AccessPoint string `yaml:"access-point"`

	Power    Power    `yaml:"power"`    // zero: it cannot be switched
	Browsers []string `yaml:"browsers"` // the first is the one that runs if none is asked for

	// serial number by which adb knows a device whose input is another; "any": the only one that is
	// attached
	ADB string `yaml:"adb"`
	// what becomes of an Android browser's data before a run, or the agent of a Linux board
	Profile    Profile    `yaml:"profile"`
	AddressBar AddressBar `yaml:"address-bar"` // how a browser's address bar is reached where it is typed into
	Hottest    int        `yaml:"hottest" min:"20" max:"80"`
	MinCharge  int        `yaml:"least-charge" min:"0" max:"100"`
}

// What health wants where a file says nothing.
const (
	defaultMaxTemperature = 40 // °C of the battery: phones begin to slow down some degrees above
	defaultMinCharge      = 15 // percent: below, phones save power
)

// Running is the browser that runs already, whichever it is: an address is typed into it.
const Running = "typed"

// Virtual is the source of a device that is a virtual X display, made for each run. The input x11
// without a display belongs to it.
const Virtual = "x11"

// Local describes this machine: the default where nothing is configured.
func Local() Description {
	d := blank("local")
	d.Source, d.Input, d.Browsers = Virtual, Input{Kind: InputX11}, []string{"chromium", "firefox"}
	return d
}

// blank is a device of which a file says nothing.
func blank(name string) Description {
	return Description{Name: name, Profile: profileKept, AddressBar: AddressBar{Keys: []input.Key{"ControlLeft", "l"}},
		Hottest: defaultMaxTemperature, MinCharge: defaultMinCharge}
}

// Profile says what becomes of the data of a browser that somebody else may use too. Another value
// names the agent that records the programs of a device; its data are kept.
type Profile string

// The profiles.
const (
	profileKept  Profile = "kept"  // the default: its data are not ours to clear
	profileFresh Profile = "fresh" // all data of the browser are cleared before each run
)

// AddressBar describes how an address is typed into a browser's address bar.
type AddressBar struct {
	Keys []input.Key // pressed together, or
	X, Y int         // a place of the device's screen that is touched or clicked
}

// pressed says that keys reach it.
func (a AddressBar) pressed() bool { return len(a.Keys) > 0 }

// InputKind is a way to reach a device.
type InputKind string

// The kinds of input.
const (
	InputX11       InputKind = "x11"
	InputUinput    InputKind = "uinput"
	InputHID       InputKind = "hid"
	InputADB       InputKind = "adb"
	InputWebdriver InputKind = "webdriver"
	InputWindows   InputKind = "windows"
	InputAgent     InputKind = "agent" // a small board that is the device's keyboard, mouse and touch screen
	InputNone      InputKind = "none"
)

// Input says which driver reaches a device: "hid:/dev/hidg3?size=1080x2400".
type Input struct {
	Kind   InputKind
	Target string // a display or a node, a serial number, or host:port
	Params string // the text after the question mark, for the driver
}

// String formats as ParseInput reads it.
func (i Input) String() string {
	s := string(i.Kind)
	if i.Target != "" || i.Params != "" {
		s += ":" + i.Target
	}
	if i.Params != "" {
		s += "?" + i.Params
	}
	return s
}

// inputForm is how an input is written.
type inputForm struct {
	kind   InputKind
	form   string
	target *pattern.Pattern // nil: there is none
	bare   bool             // the target may be left out
	params bool
}

func inputForms() []inputForm {
	return []inputForm{
		{InputX11, "x11[:DISPLAY]", pattern.New(`^[A-Za-z0-9._-]{0,255}:[0-9]{1,5}(\.[0-9]{1,3})?$`), true,
			false},
		{InputUinput, "uinput", pattern.New(`^/dev/uinput$`), true, true},
		{InputHID, "hid:/dev/hidgN", pattern.New(`^/dev/[A-Za-z0-9/._-]{1,200}$`), true, true},
		{InputADB, "adb[:SERIAL]", serialNumber, true, false},
		{InputWebdriver, "webdriver", nil, true, false},
		{InputWindows, "windows:HOST:PORT", hostPort, false, true},
		{InputAgent, "agent:HOST:PORT", hostPort, false, true},
		{InputNone, "none", nil, true, false},
	}
}

var hostPort = pattern.New(`^([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}$`)

// serialNumber is as adb has them, host:port among them.
var serialNumber = pattern.New(`^[A-Za-z0-9._:\[\]-]{1,127}$`)

// maxForm bounds a value written in one word.
const maxForm = 1000

// ParseInput reads "x11", "x11::9", "uinput"; also "hid:/dev/hidg3", "adb:SERIAL" and so on.
func ParseInput(s string) (Input, error) {
	if len(s) > maxForm {
		return Input{}, fmt.Errorf("%q is too long", strict.Clip(s))
	}
	kind, rest, colon := strings.Cut(s, ":")
	target, params, asked := strings.Cut(rest, "?")
	if !colon {
		kind, params, asked = strings.Cut(kind, "?")
	}
	forms := inputForms()
	i := slices.IndexFunc(forms, func(f inputForm) bool { return string(f.kind) == kind })
	if i < 0 {
		return Input{}, fmt.Errorf("%q is not an input%s", strict.Clip(s), meantInput(kind))
	}
	f := forms[i]
	in := Input{Kind: f.kind, Target: target, Params: params}
	switch {
	case asked && !f.params:
		return in, fmt.Errorf("%q: %s takes no parameters", strict.Clip(s), kind)
	case target == "" && f.bare && (f.kind != InputHID || params != ""): // a gadget is set up as the parameters say
		if colon && params == "" {
			return in, fmt.Errorf("%q ends in a colon; did you mean %s?", strict.Clip(s), kind)
		}
		return in, nil
	case f.target == nil || !f.target.MatchString(target):
		return in, fmt.Errorf("%q: must be %s", strict.Clip(s), f.form)
	}
	return in, nil
}

func meantInput(kind string) string {
	var names, forms []string
	for _, f := range inputForms() {
		names, forms = append(names, string(f.kind)), append(forms, f.form)
	}
	if near := wording.Near(kind, names); near != "" {
		return near
	}
	return "; known: " + strings.Join(forms, ", ")
}

// RunsBuilds returns the reason why builds of feeds cannot run on the device; nil: they can. A
// build for Android replaces an app and its data.
func (d Description) RunsBuilds(android bool) error {
	_, is := d.Android()
	switch {
	case !android && d.Source != Virtual:
		return fmt.Errorf("device %s is not a virtual display of this machine, which builds need", d.Name)
	case android && !is:
		return fmt.Errorf("device %s is not an Android device, which builds for Android need", d.Name)
	case android && d.Profile != profileFresh:
		return fmt.Errorf("device %s keeps the data of its browsers, which builds replace; set profile: fresh", d.Name)
	}
	return nil
}

// Android is the serial number by which adb knows the device, and whether it is there by adb at
// all; "" is the only one that is attached.
func (d Description) Android() (serial string, ok bool) {
	switch {
	case d.ADB == "any":
		return "", true
	case d.ADB != "":
		return d.ADB, true
	}
	return d.Input.Target, d.Input.Kind == InputADB
}
