package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
)

// TestRunRefusedBeforeTheStart: what cannot come to anything is a mistake in the command line, at
// once, and leaves no folder.
func TestRunRefusedBeforeTheStart(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	if err := os.WriteFile("event.yaml", []byte("name: event\nurl: https://example.org\nend: event foo\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"run framerate --primary fps.nonsense": "--primary: fps.nonsense is not a value of fps; " +
			"known: drawn_frames, ",
		"run framerate --primary fps.framrate": "--primary: fps.framrate is not a value of fps; " +
			"did you mean fps.framerate?",
		"run framerate --primary speedindex.index": "--primary: no measure speedindex here; known: fps",
		"run load --primary speedindex.index": "speedindex.index is not a value of speedindex; " +
			"known: contentful.complete_100, ",
		"run load --rig x:1 --primary fps.framrate": "--primary: fps.framrate is not a value of fps; " +
			"did you mean fps.framerate?",
		"run event.yaml --rig x:1 --primary response.p50": "--primary: response.p50 is not a value of response; " +
			"known: answered, ",
		"run framerate --rig x:1 --primary fsp.framerate": "--primary: no measure fsp here; did you mean fps?",
		"run framerate --browser firefox@b:v1": "browser firefox@b:v1: builds of feeds run on a rig; " +
			"add --rig URL",
		"run framerate --adapt live":                            "--adapt and --share need policies for scripts",
		"run framerate --script calls --adapt life":             "adapt \"life\": must be loads or live",
		"run framerate --script calls --share 0.2":              "--share: ",
		"run framerate --script errors --share 20%":             "adapt and share need the policy calls",
		"run framerate --rig http://a.test --adapt live":        "--share and --break cannot be used with --rig",
		"run framerate --rig http://a.test --break":             "--share and --break cannot be used with --rig",
		"run framerate --observer-effect 8":                     "--observer-effect needs something that adds load",
		"run framerate load --script calls --observer-effect 8": "--observer-effect compares one test with itself",
		"run stutter --script calls --observer-effect 0":        "--observer-effect 0: must be positive",
		"run stutter --script calls --observer-effect=-1":       "--observer-effect -1: must be positive",
		"run stutter --observer-effect 8 --repeat 3":            "--observer-effect has the number of runs",
		"run stutter --observer-effect 8 --rig x:1":             "--observer-effect cannot be used with --rig",
		"run stutter --ab f":                                    "--ab \"f\": must be NAME=FILE",
		"run stutter --ab f=run_test.go --rig x:1":              "--ab cannot be used with --rig",
		"run stutter --script=":                                 "--script: a policy is missing; known: errors, ",
		"run stutter --script calls,":                           "--script: a policy is missing; known: errors, ",
		"run stutter --script call --rig x:1":                   `--script: unknown policy "call"; did you mean calls?`,
		"run stutter --script calls --script calls":             "--script: policy calls is given twice",
		"run file:///nonexistent.html":                          "cannot be loaded: no such file",
		"run framerate --click 5,5": "--hover, --click, --type and --scroll need a URL; the test framerate has " +
			"its own steps",
		"run framerate --url example.org":                    "--url runs the test scroll on an address, not framerate",
		"run example.org --click 5":                          `click: invalid place "5": must be X,Y or a selector`,
		"run example.org --click 5,9999":                     "the point 5,9999 is outside of the screen, 1280x720",
		"run example.org --hover=-1,5":                       "hover: -1: must be 0 to 65536 pixels",
		"run example.org --type=":                            "--type has no text",
		"run example.org --end nosuch":                       `--end: unknown end "nosuch": `,
		"run example.org --end still=3s":                     `--end: unknown end "still=3s"`,
		"run example.org --end 0s":                           "--end: want more than none",
		"run example.org --rig x:1 --end 20s":                "--end cannot be used with --rig",
		"run nosuch --scroll":                                `invalid address "nosuch"`,
		"run example.org --rig x:1 --click 5":                `click: invalid place "5"`,
		"run example.org --network 3g -b firefox --click #a": "firefox on a test network finds no selector",
		"run framerate --repeat 0":                           "--repeat is 0: must be 1 to 10000",
		"run framerate --max-lost 700%":                      "--max-lost is 700%: must be 0% to 100%",
		"run framerate -b opera": `device local has no browser "opera"; ` +
			`known: chromium, firefox`,
		"run event.yaml":                        `no step makes the event "foo"`,
		"suite show nosuch":                     `unknown test "nosuch"`,
		"run framerate --rig x -n 0":            "--repeat is 0: must be 1 to 10000",
		"run framerate --primary taering.torn":  "no measure taering here; did you mean tearing?",
		"run framerate --cooldown 9999h":        "--cooldown is 9999h0m0s: must be 0s to 24h0m0s",
		"run framerate --wait-for-quiet 25h":    "--wait-for-quiet is 25h0m0s: must be 0s to 24h0m0s",
		"run x --rig x --wait-for-quiet 1m":     "--wait-for-quiet cannot be used with --rig",
		"run framerate --warm-up=-1":            "--warm-up is -1: must be 0 to 10000",
		"run framerate --rig x --retries 10001": "--retries is 10001: must be 0 to 10000",
		"run framerate --rig x --max-lost 101%": "--max-lost is 101%: must be 0% to 100%",
	} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &out, &errOut); code != exitUsage ||
			!strings.Contains(errOut.String(), want) {
			t.Errorf("%s: exit code %d\n%s%s", args, code, &out, &errOut)
		}
	}
	if made, err := filepath.Glob("out*"); err != nil || len(made) > 0 {
		t.Errorf("%q was made, %v", made, err)
	}
}

// TestPowerCommandOfThisFolder: a file of devices that lies in the folder, and was not named, runs
// no program. The error is a usage error.
func TestPowerCommandOfThisFolder(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv(device.FileVariable, "")
	t.Chdir(t.TempDir())
	const text = "board: {source: \"x11::0\", input: none, " +
		"power: {command: {on: [touch, switched], off: [touch, switched]}}}\n"
	if err := os.WriteFile("devices.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	code := run(t.Context(), strings.Fields("run framerate -d board --power on"), strings.NewReader(""), &out, &errOut)
	const want = "devices.yaml of this folder has a power command for device board; name the file with --devices"
	if code != exitUsage || !strings.Contains(errOut.String(), want) {
		t.Errorf("exit code %d\n%s%s", code, &out, &errOut)
	}
	if exists("switched") {
		t.Error("the command ran")
	}
	cmd := runCmd{Tests: []string{"framerate"}, Device: []string{"board"}, Devices: "devices.yaml", Power: "on"}
	if _, err := cmd.options(&env{ctx: t.Context()}); err != nil {
		t.Errorf("with --devices: %v", err)
	}
}

// TestRunRefusesUnknownValues: a test file that names a value which is none is wrong in that line,
// here and before a rig is asked.
func TestRunRefusesUnknownValues(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	for says, want := range map[string]string{
		"primary: fps.nonsense": "test.yaml:4:10: primary: fps.nonsense is not a value of fps; " +
			"known: drawn_frames, ",
		"primary: fps.framrate": "test.yaml:4:10: primary: fps.framrate is not a value of fps; " +
			"did you mean fps.framerate?",
		"thresholds: {fps.framrate: 3%}": "threshold of fps.framrate: fps.framrate is not a value of fps; " +
			"did you mean fps.framerate?",
		"primary: quality.stored_frame":    "test.yaml:4:10: primary: no measure quality here; known: fps",
		"primary: fps.unchanged_p95\nx: 1": `test.yaml:5:1: a test has no key "x"`, // the value is one
	} {
		if err := os.WriteFile("test.yaml", []byte("name: x\npage: /framerate.html\nmeasures: fps\n"+says+"\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{"run test.yaml", "run test.yaml --rig http://127.0.0.1:1",
			"suite check test.yaml"} {
			var out, errOut bytes.Buffer
			if code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &out,
				&errOut); code != exitFailure || !strings.Contains(out.String()+errOut.String(), want) {
				t.Errorf("%s: exit code %d, want %s\n%s%s", args, code, want, &out, &errOut)
			}
		}
	}
}

// TestRunOptions: the command line's numbers go before the test's own, also where they are none.
func TestRunOptions(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	if err := os.WriteFile("slow.yaml", []byte("name: slow\npage: /framerate.html\ncooldown: 5s\nrepeat: 10000\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	none := time.Duration(0)
	e := &env{ctx: t.Context()}
	o, err := runCmd{Tests: []string{"slow.yaml"}, Cooldown: &none, Browser: []string{"chromium", "firefox"}}.options(e)
	if err != nil || o.Cooldown != 0 || o.Retries != 10_000 {
		t.Errorf("%v, %d retries, %v", o.Cooldown, o.Retries, err)
	}
	if o, err = (runCmd{Tests: []string{"slow.yaml"}}).options(e); err != nil || o.Cooldown != 5*time.Second {
		t.Errorf("%v, %v", o.Cooldown, err)
	}
	if o, err = (runCmd{Tests: []string{"slow.yaml"}, Output: "runs/mine/", Label: "nightly"}).options(e); err != nil ||
		o.Labels != (session.Labels{Label: "nightly", Set: "mine"}) {
		t.Errorf("%+v, %v", o.Labels, err)
	}
}

func TestSuiteCheckTellsWhatIsNoUse(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("empty", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("link.yaml",
		[]byte("name: link\nurl: https://a.example/\nsync: {end: still 3s}\nnetwork: {rtt: 40ms}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for file, tc := range map[string]struct {
		code int
		want string
	}{
		"empty": {exitFailure, "empty: no test files"},
		"link.yaml": {exitOK, "ok  link.yaml, link; " +
			"it cannot be run: test link: a network needs a built-in page or an archive"},
	} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), []string{"suite", "check", file}, strings.NewReader(""), &out,
			&errOut); code != tc.code || !strings.Contains(out.String()+errOut.String(), tc.want) {
			t.Errorf("%s: exit code %d\n%s%s", file, code, &out, &errOut)
		}
	}
}
