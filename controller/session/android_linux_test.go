package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/adb/adbtest"
)

// pocket is a phone behind an adb server. Its screen is a virtual display that shows a page as its
// colour. A finger changes the colour of pages of others.
type pocket struct {
	t       *testing.T
	server  *adbtest.Server
	screen  *painter
	content *colours // pages of site.example
	battery string
	touched func() // what a finger does; read under mu

	mu sync.Mutex
}

const serial = "PHONE1"

// newPocket returns a phone, and the device that it is in a file of devices.
func newPocket(t *testing.T) (*pocket, Device) { return newPocketOf(t, "") }

// newPocketOf returns a phone with further keys in the file, and further commands.
func newPocketOf(t *testing.T, keys string, more ...adbtest.Command) (*pocket, Device) {
	t.Helper()
	display, err := device.StartDisplay(t.Context(), device.DisplayOptions{Width: 320, Height: 240})
	needProgram(t, err)
	p := &pocket{t: t, content: serveColours(t), battery: said(t, "battery")}
	if p.screen, err = newPainter(display.Name()); err != nil {
		t.Fatal(err)
	}
	p.touched = func() { p.paint(0x8020a0) }
	hand := adbtest.NewPhone(func(line string) {
		if strings.Contains(line, ",1,330,1,") { // BTN_TOUCH
			p.mu.Lock()
			defer p.mu.Unlock()
			p.touched()
		}
	})
	shells := []adbtest.Command{
		{Name: "dumpsys battery", Run: func(s *adbtest.Session) byte {
			p.mu.Lock()
			defer p.mu.Unlock()
			return s.Say(p.battery)
		}},
		{Name: "am start", Run: p.view},
	}
	p.server = adbtest.New(t, serial+"\tdevice\n", slices.Concat(more, shells, phoneSays(t), hand.Shells("uinput"))...)
	t.Cleanup(func() {
		p.screen.close()
		if err := display.Close(); err != nil {
			t.Error(err)
		}
	})
	_, port, err := net.SplitHostPort(p.server.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ANDROID_ADB_SERVER_PORT", port)
	d, err := devices(t, fmt.Sprintf("phone: {source: \"x11:%s?fps=60&cursor=0\", input: adb, browsers: [chrome]%s}\n",
		display.Name(), keys)).Find("phone")
	if err != nil {
		t.Fatal(err)
	}
	return p, d
}

// phoneSays are the commands to which a phone in good health always says the same.
func phoneSays(t *testing.T) (all []adbtest.Command) {
	t.Helper()
	for command, says := range map[string]string{
		"dumpsys thermalservice": said(t, "thermal"), "dumpsys power": said(t, "power"),
		"dumpsys window policy": said(t, "policy"),
		"dumpsys package":       "    versionName=148.0.1\n", "getprop ro.product.manufacturer": "Maker\n",
		"getprop ro.product.model":         "Model 7\n",
		"getprop ro.build.version.release": "15\n", "pm path": "package:/data/app/base.apk\n", "am force-stop": "",
	} {
		all = append(all, adbtest.Command{Name: command, Run: adbtest.Say(says)})
	}
	return all
}

// said is what a real device said.
func said(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "device", "testdata", "android", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (p *pocket) paint(rgb uint32) {
	if err := p.screen.fill(rgb); err != nil {
		p.t.Errorf("paint %06x: %v", rgb, err)
	}
}

// nothingThere is what the browser shows of a site that it does not reach.
const nothingThere = 0x808080

var intent = regexp.MustCompile(`-d '([^']+)'`)

// view shows the page of an intent. This machine's loopback is reached by ports that lead there,
// and by no others.
func (p *pocket) view(s *adbtest.Session) byte {
	m := intent.FindStringSubmatch(s.Line)
	if m == nil {
		return s.Say("Error: no address\n")
	}
	u, err := url.Parse(m[1])
	if err != nil {
		return s.Say("Error: " + err.Error() + "\n")
	}
	if u.Host == "site.example" {
		u.Host = strings.TrimPrefix(p.content.URL, "http://")
	} else if p.server.Reversed()["tcp:"+u.Port()] != "tcp:"+u.Port() {
		p.paint(nothingThere)
		return 0
	}
	rgb, err := colourOf(u.String())
	if err != nil {
		rgb = nothingThere
	}
	p.paint(rgb)
	return s.Say("Starting: Intent { act=android.intent.action.VIEW }\n")
}

// tapped is a run of a page that draws no green and no red, and answers a finger.
func tapped(t *testing.T, d Device) Options {
	o := options(t, d)
	o.Test = readTest(t, `name: tapped
url: http://site.example/2040c0
end: still 500ms
timeout: 5m
measures: [fps, response]
steps:
  - wait: {colour: "#2040c0", timeout: 2m}
  - tap: [100, 100]
  - wait: {colour: "#8020a0", timeout: 2m}
`)
	return o
}

// TestRunOnAPhone makes a run through adb: health, ports, intents and input. Afterwards the phone
// is as before.
func TestRunOnAPhone(t *testing.T) {
	if testing.Short() {
		t.Skip("a run in real time on a display")
	}
	p, d := newPocket(t)
	o := tapped(t, d)
	record, found, err := Run(t.Context(), o)
	if err != nil || record.State != Passed {
		t.Fatalf("%s: %s, %v", record.State, record.Reason, err)
	}
	if left := p.server.Reversed(); len(left) > 0 {
		t.Errorf("ways are left: %v", left)
	}
	if record.Input == nil || record.Input.Driver != "adb-uinput" || record.Input.Device != serial ||
		record.Input.Realism != input.System {
		t.Errorf("input %+v", record.Input)
	}
	env := found.Results.Environment
	for key, want := range map[string]string{
		result.EnvDUT: "phone, Maker Model 7, Android 15", result.EnvBrowser: "chrome 148.0.1",
		result.EnvInput: "adb-uinput, system", result.EnvMachineShared: "yes",
	} {
		if env[key] != want {
			t.Errorf("%s is %q, want %q", key, env[key], want)
		}
	}
	var kept Record
	raw, err := os.ReadFile(filepath.Join(o.Dir, RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(o.Dir, LogFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range []string{"its battery has 83 % left", "its battery has 28.7 °C", "its screen is on",
		"it is unlocked"} {
		if !strings.Contains(kept.Environment[result.EnvHealth], sentence) || !strings.Contains(string(log), sentence) {
			t.Errorf("%q stands not in both: %q\n%s", sentence, kept.Environment[result.EnvHealth], log)
		}
	}
	if n := count(t, o.Dir, input.EventSource, input.EventKind); n != 2 {
		t.Errorf("%d events of input", n)
	}
	r, err := recording.Open(filepath.Join(o.Dir, runfolder.RecordingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, e := range r.Events() {
		if e.Source == input.EventSource && e.Uncertainty <= 0 {
			t.Errorf("what was sent is known to the nanosecond: %+v", e)
		}
	}
	var did []string
	for _, c := range p.server.Commands() {
		if verb, ok := strings.CutPrefix(c, "shell,v2,raw:am "); ok {
			did = append(did, strings.Fields(verb)[0])
		}
	}
	// Before it starts and after it has ended the browser is stopped; between are the green page,
	// the test's, and the red one.
	if want := []string{"force-stop", "start", "start", "start", "force-stop"}; !slices.Equal(did, want) {
		t.Errorf("it was told %q, want %q", did, want)
	}
	if got := p.content.seen(); !slices.Equal(got, []string{"2040c0"}) {
		t.Errorf("the site was asked for %q", got)
	}
}

// TestRunOfABuildOnAPhone: two builds of an app take turns. Each is installed before its run, which
// names it.
func TestRunOfABuildOnAPhone(t *testing.T) {
	if testing.Short() {
		t.Skip("a run in real time on a display")
	}
	const app = "org.mozilla.fenix"
	var mu sync.Mutex
	var has string // the installed APK
	installs := 0
	dump := func(s *adbtest.Session) byte {
		mu.Lock()
		defer mu.Unlock()
		return s.Say(fmt.Sprintf("    versionName=%s\n    lastUpdateTime=2026-11-30 19:00:%02d\n", has, installs))
	}
	install := func(s *adbtest.Session) byte {
		var got []byte
		size, err := strconv.Atoi(s.Line[strings.LastIndex(s.Line, " ")+1:])
		for err == nil && len(got) < size {
			part, more := s.Hear()
			if got = append(got, part...); !more {
				return 1
			}
		}
		mu.Lock()
		defer mu.Unlock()
		has = string(got)
		installs++
		return s.Say("Success\n")
	}
	_, d := newPocketOf(t, ", profile: fresh", adbtest.Command{Name: "dumpsys package " + app, Run: dump},
		adbtest.Command{Name: "cmd package install -r -d -S ", Run: install},
		adbtest.Command{Name: "pm uninstall", Run: adbtest.Say("Success\n")},
		adbtest.Command{Name: "pm clear", Run: adbtest.Say("Success\n")})
	dir := t.TempDir()
	o := SetOptions{Test: tapped(t, d).Test, Repeat: 1, Dir: filepath.Join(dir, "set"), Program: "test", Seed: 1,
		MaxLost: 1, NoVideo: true, NoPictures: true, Progress: untold{}}
	for _, version := range []string{"150", "151"} {
		file := filepath.Join(dir, version+".apk")
		if err := os.WriteFile(file, []byte(version), 0o600); err != nil {
			t.Fatal(err)
		}
		o.Variants = append(o.Variants, Variant{Device: d, Browser: app, Program: file,
			Build: "firefox@fenix:" + version, Called: "fenix-" + version})
	}
	set, err := RunSet(t.Context(), o)
	if err != nil || len(set.Made) != 2 || installs != 2 {
		t.Fatalf("%d runs with %d installations: %v", len(set.Made), installs, err)
	}
	for _, m := range set.Made {
		want := o.Variants[m.Variant].Build
		env := m.Record.Environment
		if m.Record.State != Passed || env[result.EnvBuild] != want ||
			env[result.EnvBrowser] != app+" "+strings.TrimPrefix(want, "firefox@fenix:") {
			t.Errorf("%s: %s %s, %v", want, m.Record.State, m.Record.Reason, env)
		}
	}
}

// TestPhoneLostInARun: it is unplugged while a finger is down. The run fails and says in which
// step; when the phone is back, the next one finds all as it was.
//
// Fault: A phone is unplugged during a run and returns
func TestPhoneLostInARun(t *testing.T) {
	if testing.Short() {
		t.Skip("a run in real time on a display")
	}
	p, d := newPocket(t)
	p.mu.Lock()
	p.touched = p.server.Unplug
	p.mu.Unlock()
	o := tapped(t, d)
	record, _, err := Run(t.Context(), o)
	if err != nil || record.State != Failed || !strings.HasPrefix(record.Reason, "step tap in line 8: ") ||
		!strings.Contains(record.Reason, "the device is gone") {
		t.Errorf("%s: %q, %v", record.State, record.Reason, err)
	}
	if _, err := recording.Open(filepath.Join(o.Dir, runfolder.RecordingFile)); err != nil {
		t.Error(err)
	}
	o = tapped(t, d)
	if record, _, err := Run(t.Context(), o); err != nil || record.State != Failed ||
		!strings.Contains(record.Reason, "device phone: adb: no usable device is attached") {
		t.Errorf("while it is not there: %s: %q, %v", record.State, record.Reason, err)
	}
	p.mu.Lock()
	p.touched = func() { p.paint(0x8020a0) }
	p.mu.Unlock()
	p.server.Plug(serial + "\tdevice\n")
	o = tapped(t, d)
	if record, _, err := Run(t.Context(), o); err != nil || record.State != Passed {
		t.Errorf("the next one: %s: %q, %v", record.State, record.Reason, err)
	}
	if left := p.server.Reversed(); len(left) > 0 {
		t.Errorf("ways are left: %v", left)
	}
}

// TestPhoneThatIsRefused: nothing is started on a phone that cannot be used, and the reason says
// what to do.
//
// Fault: A phone is not authorised, is hot, empty or locked
func TestPhoneThatIsRefused(t *testing.T) {
	p, d := newPocket(t)
	well := p.battery
	for name, tc := range map[string]struct{ attached, battery, want string }{
		"unauthorised": {serial + "\tunauthorized\n", well,
			"the device does not trust this machine: unlock it and allow debugging"},
		"two": {serial + "\tdevice\nPHONE2\tdevice\n", well,
			"several devices are attached: name one, as adb:SERIAL, of PHONE1, PHONE2"},
		"none": {"", well, "no usable device is attached"},
		"hot": {serial + "\tdevice\n", strings.Replace(well, "temperature: 287", "temperature: 455", 1),
			"not fit for a run: its battery has 45.5 °C, more than 40 °C"},
	} {
		t.Run(name, func(t *testing.T) {
			p.server.Plug(tc.attached)
			p.mu.Lock()
			p.battery = tc.battery
			p.mu.Unlock()
			before := len(p.server.Commands())
			o := tapped(t, d)
			record, _, err := Run(t.Context(), o)
			if err != nil || record.State != Failed || !strings.Contains(record.Reason, tc.want) {
				t.Errorf("%s: %q, %v", record.State, record.Reason, err)
			}
			for _, c := range p.server.Commands()[before:] {
				if strings.Contains(c, "raw:am ") || strings.HasPrefix(c, "reverse:") || strings.Contains(c, "uinput") {
					t.Errorf("it was told %s", c)
				}
			}
			log, err := os.ReadFile(filepath.Join(o.Dir, LogFile))
			if err != nil || name == "hot" && !strings.Contains(string(log), "refused=true") {
				t.Errorf("%s, %v", log, err)
			}
			if left := p.server.Reversed(); !maps.Equal(left, map[string]string{}) {
				t.Errorf("ways are left: %v", left)
			}
		})
	}
}
