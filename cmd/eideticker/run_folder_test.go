package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunSiteRefused: folders that cannot be played are refused before a run begins.
//
// Fault: `--site` is missing, or its folder lacks the test's page
func TestRunSiteRefused(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"shop.yaml": "name: shop\nsite: /cart.html?x=1\nend: 2s\n",
		"old/dist/cart.html": "", "new/dist/cart.html": "", "empty/a.txt": ""} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"run shop.yaml": "test shop: it plays a build of a site; give --site DIR",

		"run load --site old/dist":           "test load: it does not play a build of a site; give it site: /",
		"run shop.yaml load --site old/dist": "test load: it does not play a build of a site",
		"run shop.yaml --site nosuch":        "--site nosuch: no such file or directory",
		"run shop.yaml --site shop.yaml":     "--site shop.yaml: it is not a folder",
		"run shop.yaml --site empty":         "--site empty: it has no /cart.html, which test shop plays",
		"run --site old/dist":                "it has no /index.html, which test dist plays",
		"run --site old/dist --url a.test":   "--url cannot be used with --site",
		"run --site old/dist --type=":        "--type has no text",
		"run old/dist":                       "old/dist is a folder; use --site old/dist",

		"run shop.yaml --site old/dist --rig x:1":  "--site is of this machine; a rig has builds of feeds",
		"run shop.yaml load --site old --site new": "--site is given 2 times, which compares one test",

		"run shop.yaml --site old/dist --site old/dist/":                 "--site old/dist/ is given twice",
		"run shop.yaml --variant a=site:old/dist --variant b=site:empty": "--site empty: it has no /cart.html",
		"run shop.yaml --site old/dist --why-changed":                    "--why-changed: it needs two tests",
	} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &out, &errOut); code != exitUsage ||
			!strings.Contains(errOut.String(), want) {
			t.Errorf("%s: exit code %d\n%s%s", args, code, &out, &errOut)
		}
	}
}
