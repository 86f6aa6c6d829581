package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/scripts"
)

// TestScriptReport: a folder of records has functions, errors, coverage and cost in words.
func TestScriptReport(t *testing.T) {
	dir, only := writeScripts(t), t.TempDir()
	for _, name := range []string{scripts.InfoFile, scripts.LogFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(only, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	code, out, errOut := command(t, "script", "report", only)
	for _, want := range []string{"inner (app.js:40) ran longest", "\nslow app.js:12 ",
		"Only the policy calls measures its cost."} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("exit code %d, without %q:\n%s%s", code, want, out, errOut)
		}
	}
	var told struct{ Script result.Script }
	code, out, _ = command(t, "script", "report", only, "--json")
	if err := json.Unmarshal([]byte(out), &told); err != nil || code != exitOK || len(told.Script.Functions) < 2 ||
		told.Script.Sentence == "" {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
	if code, out, errOut = command(t, "script", "list", only); code != exitOK ||
		!strings.Contains(out, "https://a.test/app.js ") {
		t.Errorf("exit code %d:\n%s%s", code, out, errOut)
	}
	log := filepath.Join(only, scripts.LogFile)
	if err := os.Truncate(log, 30); err != nil {
		t.Fatal(err)
	}
	if code, out, _ = command(t, "script", "report", only); code != exitOK ||
		!strings.Contains(out, "Records of scripts are missing: read script log") {
		t.Errorf("a cut log: exit code %d:\n%s", code, out)
	}
	for _, args := range [][]string{{"report", t.TempDir()}, {"list", t.TempDir()}} {
		if code, _, errOut = command(t, append([]string{"script"}, args...)...); code != exitFailure ||
			!strings.Contains(errOut, "has no records of scripts; name the folder of one run") {
			t.Errorf("%s: exit code %d: %s", args, code, errOut)
		}
	}
	code, out, _ = command(t, "script", "list")
	if code != exitOK || !strings.Contains(out, "\nerrors     Uncaught errors") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestObserveAndServeRefused: wrong flags are refused before anything is served or written.
func TestObserveAndServeRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.CopyFS("site", fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}}); err != nil {
		t.Fatal(err)
	}
	const observe = "observe --upstream http://x --http :0 --script errors "
	for args, want := range map[string]string{
		"observe --script errors":                                   "observe needs one of --upstream and --proxy",
		"observe --upstream http://x --script errors":               "--upstream needs --http or --https",
		observe + "--upstream http://x/path":                        "must be an origin, such as https://app.test",
		observe + "--upstream ftp://x":                              "must be an origin, such as https://app.test",
		"observe --upstream http://x --http :0":                     "observe needs --script",
		observe + "--script error":                                  `unknown policy "error"; did you mean errors?`,
		observe + "--adapt life":                                    "--adapt \"life\": must be loads or live",
		observe + "--adapt live":                                    "--adapt needs the policy calls",
		observe + "--share 101%":                                    "--share must be 0% to 100%",
		"observe --proxy :0 --http :0 --script errors":              "--proxy excludes --http",
		observe + "--https :0 --cert a":                             "--cert needs --key and --https",
		observe + "--rotate 1s":                                     "--rotate must be at least 1m",
		observe + "--http 203.0.113.1:1 -o observed":                "another address with --http",
		"serve site -o served":                                      "-o needs --script",
		"serve site --script calls -o site":                         "site exists: choose another folder",
		"serve site --script calls --http 203.0.113.1:1":            "another address with --http",
		"serve site --script errors --http 203.0.113.1:1 -o served": "another address with --http",
	} {
		code, _, errOut := command(t, append([]string{"netsim"}, strings.Fields(args)...)...)
		if code == exitOK || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d: %s", args, code, errOut)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}
