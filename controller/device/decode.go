package device

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/strict"
	"github.com/eideticker/eideticker/pattern"
)

// Bounds of a file of devices.
const (
	maxFile     = 64 << 10 // bytes
	maxDevices  = 256
	maxBrowsers = 16
)

// Error is an error in a file of devices, with its place.
type Error = strict.Error

// Known has the names that devices are checked against. A nil list is not checked.
type Known struct {
	Sources []string // schemes of sources
}

// read reads a file of devices. Errors are *Error, or of the file system.
func read(path string, known Known) ([]Description, error) {
	if st, err := os.Stat(path); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() { // to open a pipe is to wait for whoever writes into it
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return parse(path, text, known)
}

// parse reads a file's text, and returns its devices in the file's order. The file's name is for
// messages alone. Errors are *Error.
func parse(file string, text []byte, known Known) ([]Description, error) {
	r := &reader{known: known, Reader: strict.Reader{
		File: file, What: "list of devices",
		Least: `write a device, such as local: {source: x11, input: x11}`, Max: maxFile,
	}}
	body, err := r.Syntax(text)
	if err != nil {
		return nil, err
	}
	if body, err = r.Resolve(body); err != nil {
		return nil, err
	}
	pairs, err := r.Pairs(body, "a list of devices")
	if err != nil {
		return nil, err
	}
	if len(pairs) > maxDevices {
		return nil, r.Errorf(pairs[maxDevices].At, "more than %d devices", maxDevices)
	}
	var all []Description
	for _, p := range pairs {
		d, err := r.device(p)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

type reader struct {
	strict.Reader
	known Known
}

var deviceName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// keys are those of a device, and what reads each.
func keys() map[string]func(r *reader, d *Description, n ast.Node) error {
	return map[string]func(r *reader, d *Description, n ast.Node) error{
		"about":        word(checkAbout, func(d *Description) *string { return &d.About }),
		"source":       (*reader).source,
		"input":        (*reader).input,
		"network":      word(checkInterface, func(d *Description) *string { return &d.Network }),
		"access-point": word(checkAccessPoint, func(d *Description) *string { return &d.AccessPoint }),
		"power":        (*reader).power,
		"browsers":     (*reader).browsers,
		"adb":          word(checkSerial, func(d *Description) *string { return &d.ADB }),
		"profile":      word(checkProfile, func(d *Description) *string { return (*string)(&d.Profile) }),
		"address-bar":  (*reader).addressBar,
		"hottest":      whole("°C", 20, 80, func(d *Description) *int { return &d.Hottest }),
		"least-charge": whole("percent", 0, 100, func(d *Description) *int { return &d.MinCharge }),
	}
}

func (r *reader) device(p strict.Pair) (Description, error) {
	d := blank(p.Key)
	if !deviceName.MatchString(p.Key) {
		return d, r.Errorf(p.At, "device %q: must be letters, digits, dots, dashes and underscores, at most 64",
			strict.Clip(p.Key))
	}
	n, err := r.Resolve(p.Value)
	if err != nil {
		return d, err
	}
	what := "device " + p.Key
	pairs, err := r.Pairs(n, what)
	if err != nil {
		return d, err
	}
	all, given := keys(), map[string]strict.Pair{}
	for _, k := range pairs {
		read, ok := all[k.Key]
		if !ok {
			var names []string
			for name := range all {
				names = append(names, name)
			}
			return d, r.Errorf(k.At, "%s has no key %q%s", what, strict.Clip(k.Key), wording.Meant(k.Key, names))
		}
		value, err := r.Resolve(k.Value)
		if err != nil {
			return d, err
		}
		if value.Type() == ast.NullType {
			return d, r.Errorf(value, "%s has no value", k.Key)
		}
		if err := read(r, &d, value); err != nil {
			return d, err
		}
		given[k.Key] = k
	}
	for _, need := range []string{"source", "input"} {
		if _, ok := given[need]; !ok {
			return d, r.Errorf(p.At, "%s lacks %s", what, need)
		}
	}
	return d, r.together(&d, given)
}

// together holds the keys against each other.
func (r *reader) together(d *Description, given map[string]strict.Pair) error {
	ownDisplay := d.Source == Virtual
	_, android := d.Android()
	switch {
	case d.Input.Kind == InputX11 && d.Input.Target == "" && !ownDisplay:
		return r.Errorf(given["input"].Value,
			"input x11 is that of the virtual display: name the display, such as x11::0, or take source: x11")
	case ownDisplay && (d.Input.Kind != InputX11 && d.Input.Kind != InputNone && d.Input.Kind != InputWebdriver ||
		d.Input.Target != ""):
		return r.Errorf(given["input"].Value,
			"input %s does not reach a virtual display: must be x11, webdriver or none", d.Input)
	case d.Input.Kind == InputWebdriver && !ownDisplay:
		return r.Errorf(given["input"].Value,
			"input webdriver needs source: x11")
	case d.ADB != "" && d.Input.Kind == InputADB:
		return r.Errorf(given["adb"].At, "input already names the adb device; omit this key")
	case d.ADB != "" && ownDisplay:
		return r.Errorf(given["adb"].At, "a virtual display is not an Android device")
	case ownDisplay && strings.HasPrefix(string(d.Profile), "agent:"):
		return r.Errorf(given["profile"].At, "programs of this machine need no agent: omit profile")
	case d.Profile == profileFresh && !android:
		return r.Errorf(given["profile"].At,
			"whose data are cleared is known by adb only: say adb: SERIAL, or leave this key out")
	}
	if d.AccessPoint != "" && d.Network == "" {
		return r.Errorf(given["access-point"].At,
			"an access point needs a wireless interface of this machine, such as network: wlan0")
	}
	if d.elsewhere() && !android && d.Network == "" {
		return r.Errorf(given["input"].Value,
			"input %s feeds another machine: add network: eth3, its interface, or adb: SERIAL",
			d.Input.Kind)
	}
	if !d.startsHere() {
		return nil
	}
	there := []string{"chromium", "firefox"}
	if !ownDisplay {
		there = append(there, Running)
	}
	for i, b := range d.Browsers {
		switch {
		case b == "chromium" && d.Input.Kind == InputWebdriver:
			return r.Errorf(r.element(given["browsers"].Value, i),
				"chromium does not support WebDriver BiDi; use firefox")
		case !slices.Contains(there, b):
			return r.Errorf(r.element(given["browsers"].Value, i), "browser %q cannot be started on this machine%s",
				strict.Clip(b), wording.Meant(b, there))
		}
	}
	return nil
}

// elsewhere says that the input is that of another machine.
func (d Description) elsewhere() bool {
	return d.Input.Kind == InputHID || d.Input.Kind == InputAgent || d.Input.Kind == InputWindows
}

// starts says that browsers of the device are started by their names.
func (d Description) starts() bool {
	_, android := d.Android()
	return android || d.startsHere()
}

// startsHere says that the device's browsers are programs of this machine.
func (d Description) startsHere() bool { return d.Input.Kind == InputX11 || d.Source == Virtual }

func (r *reader) element(n ast.Node, i int) ast.Node {
	n, err := r.Resolve(n)
	if list, ok := n.(*ast.SequenceNode); err == nil && ok && i < len(list.Values) {
		return list.Values[i]
	}
	return n
}

// scalar returns a value written as one word.
func (r *reader) scalar(n ast.Node, what string) (string, error) {
	n, err := r.Resolve(n)
	if err != nil {
		return "", err
	}
	s, _, ok := strict.Text(n)
	if !ok {
		return "", r.Errorf(n, "%s is %s: must be text", what, strict.Kind(n))
	}
	return s, nil
}

// word reads a word that check takes.
func word(check func(string) error, field func(*Description) *string) func(*reader, *Description, ast.Node) error {
	return func(r *reader, d *Description, n ast.Node) error {
		s, err := r.scalar(n, "this")
		if err != nil {
			return err
		}
		if err := check(s); err != nil {
			return r.Errorf(n, "%v", err)
		}
		*field(d) = s
		return nil
	}
}

func whole(unit string, low, high int, field func(*Description) *int) func(*reader, *Description, ast.Node) error {
	return func(r *reader, d *Description, n ast.Node) error {
		s, _, _ := strict.Text(n)
		v, err := strconv.Atoi(s)
		if err != nil || n.Type() != ast.IntegerType || v < low || v > high {
			return r.Errorf(n, "must be a whole number of %s, %d to %d", unit, low, high)
		}
		*field(d) = v
		return nil
	}
}

func checkAbout(s string) error {
	if len(s) > maxForm {
		return fmt.Errorf("about: must be at most %d bytes", maxForm)
	}
	return nil
}

// interfaceName is as Linux takes them: fewer than 16 bytes.
var interfaceName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$`)

func checkInterface(s string) error {
	if !interfaceName.MatchString(s) {
		return fmt.Errorf("network %q: must be the name of an interface of this machine, such as eth3", strict.Clip(s))
	}
	return nil
}

func checkSerial(s string) error {
	if !serialNumber.MatchString(s) {
		return fmt.Errorf("adb %q: must be a serial number as adb devices lists it, or any", strict.Clip(s))
	}
	return nil
}

func checkProfile(s string) error {
	if p := Profile(s); p == profileKept || p == profileFresh {
		return nil
	}
	if strings.HasPrefix(s, "agent") {
		_, err := parseAgent(s)
		return err
	}
	return fmt.Errorf("profile %q: must be fresh (clears the browser's data before each run), kept or an agent",
		strict.Clip(s))
}

func (r *reader) source(d *Description, n ast.Node) error {
	s, err := r.scalar(n, "source")
	if err != nil {
		return err
	}
	scheme, _, uri := strings.Cut(s, ":")
	switch {
	case len(s) > maxForm:
		return r.Errorf(n, "source %q is too long", strict.Clip(s))
	case s == Virtual:
	case !uri:
		return r.Errorf(n, "source %q: must be x11 (a new virtual display), or a source such as v4l2:/dev/video0",
			strict.Clip(s))
	case r.known.Sources != nil && !slices.Contains(r.known.Sources, scheme):
		return r.Errorf(n, "unknown source %q%s", strict.Clip(scheme), wording.Meant(scheme, r.known.Sources))
	}
	d.Source = s
	return nil
}

func (r *reader) input(d *Description, n ast.Node) error {
	s, err := r.scalar(n, "input")
	if err == nil {
		if d.Input, err = ParseInput(s); err != nil {
			err = r.Errorf(n, "input: %v", err)
		}
	}
	return err
}

var browserName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

func (r *reader) browsers(d *Description, n ast.Node) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return r.Errorf(n, "browsers is %s: must be a list, such as [chromium, firefox]", strict.Kind(n))
	}
	if len(list.Values) > maxBrowsers {
		return r.Errorf(list.Values[maxBrowsers], "more than %d browsers", maxBrowsers)
	}
	for _, e := range list.Values {
		s, err := r.scalar(e, "a browser")
		if err != nil {
			return err
		}
		switch {
		case !browserName.MatchString(s):
			return r.Errorf(e, "browser %q: must be a name such as chrome, or an Android package", strict.Clip(s))
		case slices.Contains(d.Browsers, s):
			return r.Errorf(e, "browser %s is given twice", s)
		}
		d.Browsers = append(d.Browsers, s)
	}
	return nil
}

func (r *reader) addressBar(d *Description, n ast.Node) error {
	const want = "must be keys such as Control+L, or pixels such as [540, 160]"
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		s, err := r.scalar(n, "address-bar")
		if err != nil {
			return r.Errorf(n, "address-bar is %s: %s", strict.Kind(n), want)
		}
		chord, err := input.ParseChord(s)
		if err != nil {
			return r.Errorf(n, "address-bar: %v", err)
		}
		d.AddressBar = AddressBar{Keys: chord}
		return nil
	}
	if len(list.Values) != 2 {
		return r.Errorf(n, "address-bar is a list of %d: %s", len(list.Values), want)
	}
	var place [2]int
	for i, e := range list.Values {
		s, _, _ := strict.Text(e)
		v, err := strconv.ParseUint(s, 10, 31)
		if err != nil || e.Type() != ast.IntegerType || v > input.MaxPlace {
			return r.Errorf(e, "address-bar: must be pixels, 0 to %d", input.MaxPlace)
		}
		place[i] = int(v)
	}
	d.AddressBar = AddressBar{X: place[0], Y: place[1]}
	return nil
}

// power is "gpio:17", or command: with what switches the device on and off.
func (r *reader) power(d *Description, n ast.Node) error {
	if s, _, ok := strict.Text(n); ok {
		p, err := parseGPIO(s)
		if err != nil {
			return r.Errorf(n, "power: %v", err)
		}
		d.Power = p
		return nil
	}
	pairs, err := r.Pairs(n, "power")
	if err != nil {
		return err
	}
	if len(pairs) != 1 || pairs[0].Key != "command" {
		return r.Errorf(n, "power: must be gpio:17, or {command: {on: …, off: …}}")
	}
	if n, err = r.Resolve(pairs[0].Value); err != nil {
		return err
	}
	if pairs, err = r.Pairs(n, "command"); err != nil {
		return err
	}
	for _, p := range pairs {
		into, ok := map[string]*[]string{"on": &d.Power.On, "off": &d.Power.Off}[p.Key]
		if !ok {
			return r.Errorf(p.At, "command has no key %q%s", strict.Clip(p.Key),
				wording.Meant(p.Key, []string{"on", "off"}))
		}
		if *into, err = r.words(p.Value, p.Key); err != nil {
			return err
		}
	}
	if len(d.Power.On) == 0 || len(d.Power.Off) == 0 {
		return r.Errorf(n, "command lacks %s", map[bool]string{true: "on", false: "off"}[len(d.Power.On) == 0])
	}
	return nil
}

// words is a program and its arguments: a list, or a text that is cut at its spaces.
func (r *reader) words(n ast.Node, what string) ([]string, error) {
	n, err := r.Resolve(n)
	if err != nil {
		return nil, err
	}
	var words []string
	if list, ok := n.(*ast.SequenceNode); ok {
		for _, e := range list.Values {
			s, err := r.scalar(e, what)
			if err != nil {
				return nil, err
			}
			words = append(words, s)
		}
	} else {
		s, err := r.scalar(n, what)
		if err != nil {
			return nil, err
		}
		if strings.ContainsAny(s, "'\"`$&|;<>\\*?") {
			return nil, r.Errorf(n, "%s: must be a list of words, such as [uhubctl, -a, \"on\"], or a script", what)
		}
		words = strings.Fields(s)
	}
	if err := checkWords(words); err != nil {
		return nil, r.Errorf(n, "%s: %v", what, err)
	}
	return words, nil
}

func checkWords(words []string) error {
	size := 0
	for _, w := range words {
		size += len(w)
		if strings.ContainsRune(w, 0) {
			return errors.New("a word contains a zero byte")
		}
	}
	switch {
	case len(words) == 0 || words[0] == "":
		return errors.New("must be a program and its arguments")
	case len(words) > 100 || size > 4<<10:
		return errors.New("must be at most 100 words, of 4 KiB")
	}
	return nil
}
