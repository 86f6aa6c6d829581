package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/schematest"
)

// example is every key that there is; its first two lines are those of the interface that is
// promised.
const example = `pixel7-03: {source: "v4l2:/dev/capture/3", input: "hid:/dev/hidg3", network: eth3, power: "gpio:17",
  browsers: [chrome, firefox]}
local:     {source: x11, input: x11, browsers: [chromium, firefox]}
lab.1:
  about: on the upper shelf
  source: v4l2:/dev/video0?input=1
  input: hid:/dev/hidg0?size=1080x2400
  network: eth0
  power:
    command:
      on: uhubctl -l 1-1 -p 3 -a 1
      off: [uhubctl, -l, "1-1", -p, 3, -a, 0, ""]
  browsers: [org.mozilla.fenix]
  adb: 192.168.1.20:5555
  profile: fresh
  address-bar: [540, 160]
  hottest: 45
  least-charge: 50
desk: {source: "x11::0", input: "x11::0", browsers: [firefox, typed], address-bar: F6}
phone: {source: "v4l2:/dev/video1", input: adb, network: wlan0, power: "gpio:/dev/gpiochip1:3?active=low",
  access-point: "rig-03?passphrase=/etc/eideticker/wifi&channel=36&country=DE"}
board: {source: "v4l2:/dev/video2", input: "agent:board.local:7070?token=/etc/eideticker/token", network: eth1,
  browsers: [typed], profile: "agent:10.0.0.3:4724?token=/etc/eideticker/token&of=chromium"}
laptop: {source: "v4l2:/dev/video2", input: "windows:10.0.0.2:7070", network: eth2}
tower: {source: "v4l2:/dev/video2", input: "windows:[fe80::1]:7070?token=/etc/eideticker/token", network: eth2}
`

func TestParse(t *testing.T) {
	all, err := parse("devices.yaml", []byte(example), Known{Sources: []string{"v4l2", "x11"}})
	if err != nil {
		t.Fatal(err)
	}
	bar := AddressBar{Keys: []input.Key{"ControlLeft", "l"}}
	want := []Description{
		{
			Name: "pixel7-03", Source: "v4l2:/dev/capture/3", Input: Input{Kind: InputHID, Target: "/dev/hidg3"},
			Network: "eth3",
			Power:   Power{Chip: "/dev/gpiochip0", Line: 17}, Browsers: []string{"chrome", "firefox"},
			Profile:    profileKept,
			AddressBar: bar, Hottest: 40, MinCharge: 15,
		},
		Local(),
		{
			Name: "lab.1", About: "on the upper shelf", Source: "v4l2:/dev/video0?input=1",
			Input: Input{InputHID, "/dev/hidg0", "size=1080x2400"}, Network: "eth0",
			Power: Power{On: strings.Fields("uhubctl -l 1-1 -p 3 -a 1"),
				Off: append(strings.Fields("uhubctl -l 1-1 -p 3 -a 0"), "")},
			Browsers: []string{"org.mozilla.fenix"}, ADB: "192.168.1.20:5555", Profile: profileFresh,
			AddressBar: AddressBar{X: 540, Y: 160}, Hottest: 45, MinCharge: 50,
		},
		{
			Name: "desk", Source: "x11::0", Input: Input{Kind: InputX11, Target: ":0"},
			Browsers: []string{"firefox", "typed"}, Profile: profileKept,
			AddressBar: AddressBar{Keys: []input.Key{"F6"}}, Hottest: 40, MinCharge: 15,
		},
		{
			Name: "phone", Source: "v4l2:/dev/video1", Input: Input{Kind: InputADB}, Network: "wlan0",
			AccessPoint: "rig-03?passphrase=/etc/eideticker/wifi&channel=36&country=DE",
			Power:       Power{Chip: "/dev/gpiochip1", Line: 3, Low: true},
			Profile:     profileKept, AddressBar: bar, Hottest: 40, MinCharge: 15,
		},
		{
			Name: "board", Source: "v4l2:/dev/video2",
			Input: Input{InputAgent, "board.local:7070", "token=/etc/eideticker/token"}, Network: "eth1",
			Browsers: []string{Running},
			Profile:  "agent:10.0.0.3:4724?token=/etc/eideticker/token&of=chromium", AddressBar: bar,
			Hottest: 40, MinCharge: 15,
		},
		{
			Name: "laptop", Source: "v4l2:/dev/video2", Input: Input{Kind: InputWindows, Target: "10.0.0.2:7070"},
			Network: "eth2",
			Profile: profileKept, AddressBar: bar, Hottest: 40, MinCharge: 15,
		},
		{
			Name: "tower", Source: "v4l2:/dev/video2",
			Input: Input{InputWindows, "[fe80::1]:7070", "token=/etc/eideticker/token"}, Network: "eth2",
			Profile: profileKept, AddressBar: bar, Hottest: 40, MinCharge: 15,
		},
	}
	for i, d := range all {
		if !reflect.DeepEqual(d, want[i]) {
			t.Errorf("%s:\n%+v\nwant\n%+v", d.Name, d, want[i])
		}
	}
	if len(all) != len(want) {
		t.Errorf("%d devices", len(all))
	}
	if serial, ok := all[2].Android(); !ok || serial != "192.168.1.20:5555" {
		t.Errorf("%q, %v", serial, ok)
	}
	if serial, ok := all[4].Android(); !ok || serial != "" {
		t.Errorf("%q, %v", serial, ok)
	}
	if _, ok := all[0].Android(); ok {
		t.Error("a device without adb is reached by it")
	}
}

// bad are files that are refused; beyond says that the schema cannot know.
var bad = []struct {
	name, file, want string
	beyond           bool
}{
	{"empty", "# nothing\n", "d.yaml: is empty: write a device, such as local: {source: x11, input: x11}", true},
	{"list", "- a\n", "d.yaml:1:1: a list of devices is a list: must be keys and values", false},
	{"two documents", "a: {source: x11, input: x11}\n---\nb: {source: x11, input: x11}\n",
		"d.yaml:3:1: a second document begins here: a file has one list of devices", true},
	{"twice", "a: {source: x11, input: x11}\na: {source: x11, input: x11}\n",
		"d.yaml:2:1: a list of devices has a twice: first in line 1", true},
	{"name", "a b: {source: x11, input: x11}\n",
		`d.yaml:1:1: device "a b": must be letters, digits, dots, dashes and underscores, at most 64`, false},
	{"word", "a: x11\n", "d.yaml:1:4: device a is text: must be keys and values", false},
	{"key", "a:\n  source: x11\n  inptu: x11\n", `d.yaml:3:3: device a has no key "inptu"; did you mean input?`, false},
	{"nothing", "a: {source: , input: x11}\n", "d.yaml:1:12: source has no value", false},
	{"no source", "a: {input: x11}\n", "d.yaml:1:1: device a lacks source", false},
	{"no input", "a: {source: x11}\n", "d.yaml:1:1: device a lacks input", false},
	{"source", "a: {source: video0, input: x11}\n",
		`d.yaml:1:13: source "video0": must be x11 (a new virtual display), or a source such as v4l2:/dev/video0`,
		false},
	{"scheme", "a: {source: \"vl42:/dev/video0\", input: none}\n",
		`d.yaml:1:13: unknown source "vl42"; did you mean v4l2?`, true},
	{"input", "a: {source: x11, input: x1}\n", `d.yaml:1:25: input: "x1" is not an input; did you mean x11?`, false},
	{"input of none", "a: {source: x11, input: gamepad}\n",
		`d.yaml:1:25: input: "gamepad" is not an input; known: x11[:DISPLAY], uinput, hid:/dev/hidgN, adb[:SERIAL], ` +
			`webdriver, windows:HOST:PORT, agent:HOST:PORT, none`, false},
	{"input without node", "a: {source: \"v4l2:/dev/video0\", input: hid}\n",
		`d.yaml:1:40: input: "hid": must be hid:/dev/hidgN`, false},
	{"input without node, asked for nothing", "a: {source: \"v4l2:/dev/video0\", input: \"hid?\"}\n",
		`d.yaml:1:40: input: "hid?": must be hid:/dev/hidgN`, false},
	{"input without host", "a: {source: \"v4l2:/dev/video0\", input: windows}\n",
		`d.yaml:1:40: input: "windows": must be windows:HOST:PORT`, false},
	{"input without host, with parameters", "a: {source: \"v4l2:/dev/video0\", input: \"windows?token=t\"}\n",
		`d.yaml:1:40: input: "windows?token=t": must be windows:HOST:PORT`, false},
	{"input with a colon", "a: {source: x11, input: \"x11:\"}\n",
		`d.yaml:1:25: input: "x11:" ends in a colon; did you mean x11?`, false},
	{"input with parameters", "a: {source: x11, input: \"x11?a=b\"}\n",
		`d.yaml:1:25: input: "x11?a=b": x11 takes no parameters`, false},
	{"input of a target", "a: {source: x11, input: \"none:1\"}\n", `d.yaml:1:25: input: "none:1": must be none`, false},
	{"input of another display", "a: {source: x11, input: \"x11::0\"}\n",
		"d.yaml:1:25: input x11::0 does not reach a virtual display: must be x11, webdriver or none", true},
	{"input of no display", "a: {source: \"x11::0\", input: x11}\n",
		"d.yaml:1:30: input x11 is that of the virtual display: name the display, such as x11::0, or take source: x11",
		true},
	{"network", "a: {source: x11, input: x11, network: \"eth 3\"}\n",
		`d.yaml:1:39: network "eth 3": must be the name of an interface of this machine, such as eth3`, false},
	{"power", "a: {source: x11, input: x11, power: \"gpio:x\"}\n",
		`d.yaml:1:37: power: "gpio:x": must be gpio:17 or gpio:/dev/gpiochip1:17[?active=low], ` +
			`or {command: {on: …, off: …}}`, false},
	{"power of nothing", "a: {source: x11, input: x11, power: {cmd: a}}\n",
		"d.yaml:1:37: power: must be gpio:17, or {command: {on: …, off: …}}", false},
	{"power, half", "a: {source: x11, input: x11, power: {command: {on: a}}}\n", "d.yaml:1:47: command lacks off",
		false},
	{"power, key", "a: {source: x11, input: x11, power: {command: {on: a, of: b}}}\n",
		`d.yaml:1:55: command has no key "of"; did you mean off?`, false},
	{"power, shell", "a: {source: x11, input: x11, power: {command: {on: a && b, off: b}}}\n",
		`d.yaml:1:52: on: must be a list of words, such as [uhubctl, -a, "on"], or a script`,
		false},
	{"power, no word", "a: {source: x11, input: x11, power: {command: {on: [], off: b}}}\n",
		"d.yaml:1:52: on: must be a program and its arguments", false},
	{"browsers", "a: {source: x11, input: x11, browsers: chromium}\n",
		"d.yaml:1:40: browsers is text: must be a list, such as [chromium, firefox]", false},
	{"browser that takes no WebDriver", "a: {source: x11, input: webdriver, browsers: [chromium]}\n",
		"d.yaml:1:47: chromium does not support WebDriver BiDi; use firefox", true},
	{"WebDriver of what is not started", "a: {source: \"x11::0\", input: webdriver}\n",
		"d.yaml:1:30: input webdriver needs source: x11", true},
	{"agent without a port", "a: {source: \"v4l2:/dev/video0\", input: \"agent:board\"}\n",
		`d.yaml:1:40: input: "agent:board": must be agent:HOST:PORT`, false},
	{"browser", "a: {source: x11, input: x11, browsers: [chromium, firefx]}\n",
		`d.yaml:1:51: browser "firefx" cannot be started on this machine; did you mean firefox?`, true},
	{"browser that runs, on a new display", "a: {source: x11, input: x11, browsers: [typed]}\n",
		`d.yaml:1:41: browser "typed" cannot be started on this machine; known: chromium, firefox`, true},
	{"no way to a gadget's device", "a: {source: \"v4l2:/dev/video0\", input: \"hid:/dev/hidg0\"}\n",
		"d.yaml:1:40: input hid feeds another machine: add network: eth3, its interface, or adb: SERIAL", true},
	{"no way to an agent's device", "a: {source: \"v4l2:/dev/video0\", input: \"agent:b:1\"}\n",
		"d.yaml:1:40: input agent feeds another machine: add network: eth3, its interface, or adb: SERIAL", true},
	{"no way to a Windows machine", "a: {source: \"v4l2:/dev/video0\", input: \"windows:b:1\"}\n",
		"d.yaml:1:40: input windows feeds another machine: add network: eth3, its interface, or adb: SERIAL", true},
	{"browser twice", "a: {source: x11, input: x11, browsers: [firefox, firefox]}\n",
		"d.yaml:1:50: browser firefox is given twice", false},
	{"browser's name", "a: {source: x11, input: x11, browsers: [\"a;b\"]}\n",
		`d.yaml:1:41: browser "a;b": must be a name such as chrome, or an Android package`, false},
	{"adb", "a: {source: x11, input: none, adb: \"a b\"}\n",
		`d.yaml:1:36: adb "a b": must be a serial number as adb devices lists it, or any`, false},
	{"adb twice", "a: {source: \"v4l2:/dev/video0\", input: adb, adb: x}\n",
		"d.yaml:1:45: input already names the adb device; omit this key", true},
	{"adb of a display", "a: {source: x11, input: x11, adb: any}\n",
		"d.yaml:1:30: a virtual display is not an Android device", true},
	{"profile", "a: {source: x11, input: x11, profile: new}\n",
		`d.yaml:1:39: profile "new": must be fresh (clears the browser's data before each run), kept or an agent`,
		false},
	{"profile of none", "a: {source: \"v4l2:/dev/video0\", input: none, profile: fresh}\n",
		"d.yaml:1:46: whose data are cleared is known by adb only: say adb: SERIAL, or leave this key out", true},
	{"agent without a token", "a: {source: \"v4l2:/dev/video0\", input: none, profile: \"agent:b:1\"}\n",
		`d.yaml:1:55: "agent:b:1" has no token: must be agent:HOST:PORT?token=FILE[&of=PROGRAM]`, false},
	{"agent of a path", "a: {source: \"v4l2:/dev/video0\", input: none, profile: \"agent:b:1?token=x&of=../x\"}\n",
		`d.yaml:1:55: of "../x": must be the name of a program, such as chromium`, true},
	{"agent of a display", "a: {source: x11, input: x11, profile: \"agent:b:1?token=x\"}\n",
		"d.yaml:1:30: programs of this machine need no agent: omit profile", true},
	{"address bar", "a: {source: x11, input: x11, address-bar: {}}\n",
		"d.yaml:1:43: address-bar is a mapping: must be keys such as Control+L, or pixels such as [540, 160]", false},
	{"address bar, keys", "a: {source: x11, input: x11, address-bar: Control+}\n",
		`d.yaml:1:43: address-bar: keys "Control+" end in a plus: the key itself is called Plus`, true},
	{"address bar, place", "a: {source: x11, input: x11, address-bar: [1]}\n",
		"d.yaml:1:43: address-bar is a list of 1: must be keys such as Control+L, or pixels such as [540, 160]", false},
	{"address bar, nowhere", "a: {source: x11, input: x11, address-bar: [1, -1]}\n",
		"d.yaml:1:47: address-bar: must be pixels, 0 to 65536", false},
	{"access point", "a: {source: x11, input: x11, network: wlan0, access-point: rig}\n",
		`d.yaml:1:60: access-point "rig": must be NAME?passphrase=/FILE[&channel=36][&country=DE]`, false},
	{"access point of nothing", "a: {source: \"v4l2:/dev/video0\", input: adb, access-point: \"rig?passphrase=/x\"}\n",
		"d.yaml:1:45: an access point needs a wireless interface of this machine, such as network: wlan0", true},
	{"hottest", "a: {source: x11, input: x11, hottest: 400}\n", "d.yaml:1:39: must be a whole number of °C, 20 to 80",
		false},
	{"hottest, unit", "a: {source: x11, input: x11, hottest: 40C}\n",
		"d.yaml:1:39: must be a whole number of °C, 20 to 80", false},
	{"charge", "a: {source: x11, input: x11, least-charge: 1.5}\n",
		"d.yaml:1:44: must be a whole number of percent, 0 to 100", false},
	{"alias", "a: *b\n", "d.yaml:1:4: nothing above is called &b", true},
	{"large", strings.Repeat("#", maxFile+1), "d.yaml: is larger than 64 KiB: no list of devices is", true},
}

func TestBadFiles(t *testing.T) {
	for _, tc := range bad {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parse("d.yaml", []byte(tc.file), Known{Sources: []string{"v4l2", "x11"}})
			var wrong *Error
			if !errors.As(err, &wrong) || err.Error() != tc.want {
				t.Errorf("%v\nwant %s", err, tc.want)
			}
		})
	}
}

// TestSchemaSaysWhatParseSays: it takes what parse takes, and refuses what parse refuses but for
// what it cannot know.
func TestSchemaSaysWhatParseSays(t *testing.T) {
	s := schematest.Compile(t, Schema(), "")
	v, err := schematest.Instance(example)
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Error(err)
	}
	for _, tc := range bad {
		if v, err := schematest.Instance(tc.file); err == nil && !tc.beyond && s.Validate(v) == nil {
			t.Errorf("%s: taken", tc.name)
		} else if err == nil && tc.beyond && v != nil && s.Validate(v) != nil {
			t.Errorf("%s: is not beyond the schema", tc.name)
		}
	}
}

// TestSchemaIsThatOfTheTypes: the type, the reader and the schema have the same keys, bounds and
// defaults. All keys are described with valid examples.
func TestSchemaIsThatOfTheTypes(t *testing.T) {
	type node = map[string]any
	var root node
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	of := root["$defs"].(node)["device"].(node)
	properties := of["properties"].(node)
	nothing := reflect.ValueOf(blank("x"))
	var names, needed []string
	for f := range nothing.Type().Fields() {
		name := f.Tag.Get("yaml")
		if name == "-" {
			continue
		}
		names = append(names, name)
		if f.Tag.Get("need") != "" {
			needed = append(needed, name)
		}
		p, ok := properties[name].(node)
		if !ok {
			t.Errorf("%s is not in the schema", name)
			continue
		}
		for tag, bound := range map[string]string{"min": "minimum", "max": "maximum"} {
			if want := f.Tag.Get(tag); want != "" && want != fmt.Sprint(p[bound]) {
				t.Errorf("%s: %s is %s in the type, %v in the schema", name, bound, want, p[bound])
			}
		}
		said, given := p["default"]
		if given == nothing.FieldByIndex(f.Index).IsZero() {
			t.Errorf("%s: default %v in the schema, %v in the type", name, said, nothing.FieldByIndex(f.Index))
		}
		if given {
			file := fmt.Sprintf("x: {source: \"v4l2:/dev/v\", input: adb, %s: %v}", name, said)
			d, err := parse("d", []byte(file), Known{})
			if err != nil || !reflect.DeepEqual(reflect.ValueOf(d[0]).FieldByIndex(f.Index).Interface(),
				nothing.FieldByIndex(f.Index).Interface()) {
				t.Errorf("%s: default %v is not the type's: %v", name, said, err)
			}
		}
		if p["description"] == nil {
			t.Errorf("%s has no description", name)
		}
		examples, _ := p["examples"].([]any)
		part := schematest.Compile(t, Schema(), "#/$defs/device/properties/"+name)
		for _, e := range examples {
			if err := part.Validate(e); err != nil {
				t.Errorf("%s: example %v: %v", name, e, err)
			}
			raw, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			fields := map[string]string{"source": `"x11::0"`, "input": "adb", "network": "eth0"}
			if name == "adb" {
				fields["input"] = "none"
			}
			fields[name] = string(raw)
			switch {
			case name == "input" && e == "x11", name == "source" && e == "x11":
				fields["source"], fields["input"] = "x11", "x11"
			case e == "webdriver":
				fields["source"] = "x11"
			}
			var text []string
			for k, v := range fields {
				text = append(text, k+": "+v)
			}
			if _, err := parse("d", []byte("x: {"+strings.Join(text, ", ")+"}"), Known{}); err != nil {
				t.Errorf("%s: example %s: %v", name, raw, err)
			}
		}
	}
	slices.Sort(names)
	if in := slices.Sorted(maps.Keys(properties)); !slices.Equal(in, names) {
		t.Errorf("the type has %v, the schema %v", names, in)
	}
	if in := slices.Sorted(maps.Keys(keys())); !slices.Equal(in, names) {
		t.Errorf("the type has %v, the reader %v", names, in)
	}
	var required []string
	for _, r := range of["required"].([]any) {
		required = append(required, r.(string))
	}
	slices.Sort(required)
	if slices.Sort(needed); !slices.Equal(needed, required) {
		t.Errorf("the type needs %v, the schema %v", needed, required)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example)
	for _, tc := range bad[:len(bad)-1] {
		f.Add(tc.file)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parse("d", []byte(text), Known{})
		var wrong *Error
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("%T: %v", err, err)
		}
		for _, d := range all {
			again, err := ParseInput(d.Input.String())
			if err != nil || again != d.Input {
				t.Errorf("input %q is read again as %q, %v", d.Input, again, err)
			}
		}
	})
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv(FileVariable, "")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	t.Setenv("HOME", dir)
	find := func(file, name, want string) {
		t.Helper()
		l, err := Load(file, Known{})
		if err == nil {
			_, err = l.Find(name)
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s in %q: %q\nwant %q", name, file, got, want)
		}
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	find("", "local", "")
	find("", "phone", `no device "phone": no devices.yaml is here, so there is local`)
	config, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	user := filepath.Join(config, "eideticker", "devices.yaml")
	write(user, "phone: {source: \"v4l2:/dev/video0\", input: none}\n")
	find("", "phone", "")
	find("", "local", "")
	find("", "tv", fmt.Sprintf("no device \"tv\": in %s there are phone, local", user))
	find("", "phne", `no device "phne"; did you mean phone?`)
	write("devices.yaml", "tablet: {source: x11, input: x11}\n")
	find("", "phone", `no device "phone": in devices.yaml there are tablet, local`)
	const switched = "board: {source: x11, input: x11, power: {command: {on: [true], off: [true]}}}\n"
	const unasked = "devices.yaml of this folder has a power command for device board; name the file with --devices"
	write("devices.yaml", switched)
	find("", "board", unasked)
	find("", "local", unasked)
	find("devices.yaml", "board", "")
	t.Setenv(FileVariable, "devices.yaml")
	find("", "board", "")
	t.Setenv(FileVariable, "")
	write("devices.yaml", "board: {source: x11, input: x11, power: \"gpio:17\"}\n") // it runs no program
	find("", "board", "")
	write("devices.yaml", "tablet: {source: x11, input: x11}\n")
	write("third.yaml", "tv: {source: x11, input: x11}\nlocal: {source: \"x11::0\", input: \"x11::0\"}\n")
	t.Setenv(FileVariable, "third.yaml")
	find("", "tv", "")
	find("devices.yaml", "tablet", "")
	if l, err := Load("", Known{}); err != nil || len(l.Devices) != 2 || l.Devices[1].Source != "x11::0" {
		t.Errorf("local is not the file's: %+v, %v", l, err)
	}
	if _, err := Load("missing.yaml", Known{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	write("devices.yaml", "tablet: {}\n")
	t.Setenv(FileVariable, "")
	find("", "tablet", "devices.yaml:1:1: device tablet lacks source")
}

func TestParseAccessPoint(t *testing.T) {
	for s, want := range map[string]AccessPoint{
		"":                                       {},
		"rig 03?passphrase=/etc/eideticker/wifi": {SSID: "rig 03", Passphrase: "/etc/eideticker/wifi"},
		"rig?passphrase=/p&channel=36&country=DE":         {SSID: "rig", Passphrase: "/p", Channel: 36, Country: "DE"},
		"rig?passphrase=/p&country=DE":                    {SSID: "rig", Passphrase: "/p", Country: "DE"},
		"rig?passphrase=secret":                           {},
		"rig?channel=36":                                  {},
		"rig\n?passphrase=/p":                             {},
		"a-name-that-is-longer-than-32-byte?passphrase=/": {},
	} {
		if got, err := ParseAccessPoint(s); got != want || (err != nil) != (want == AccessPoint{} && s != "") {
			t.Errorf("%q: %+v (%v), want %+v", s, got, err, want)
		}
	}
}
