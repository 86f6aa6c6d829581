package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNobodyHelper is what TestNetsimOfNobody runs as somebody else.
func TestNobodyHelper(t *testing.T) {
	if os.Getenv(aloneEnv) == "" {
		return // it is not asked
	}
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	site, archive := filepath.Join(dir, "site"), filepath.Join(dir, "a.har")
	for path, content := range map[string]string{
		filepath.Join(site, "a"): "", archive: `{"log":{"version":"1.2","entries":[]}}`,
		filepath.Join(dir, "t.yaml"): "name: far\npage: /load.html\nmeasures: [speedindex]\nnetwork: {profile: 3g}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const takes = "a packet link takes root, or the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN, " +
		"and /dev/net/tun; a stream link takes nothing, and is approximate"
	for want, args := range map[string][]string{
		"--stream --forward PORT=HOST:PORT forwards": {"netsim", "link", "--", "true"},
		"--stream serves at addresses of this":       {"netsim", "serve", site, "--profile", "3g", "--", "true"},
		"--proxy ADDR records without a line": {"netsim", "record", "--dns", "-o", filepath.Join(dir, "b.zip"),
			"--", "true"},
		"--http, --https and --proxy replay at": {"netsim", "replay", archive, "--", "true"},
		"--stream measures one":                 {"netsim", "certify", "3g"},
		"omit network: in the test": {"run", filepath.Join(dir, "t.yaml"), "-o",
			filepath.Join(dir, "run")},
	} {
		var out, told bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &out, &told); code != exitFailure ||
			!strings.Contains(told.String(), takes) ||
			!strings.Contains(told.String(), want) {
			t.Errorf("%q: exit code %d: %s, want %s", args, code, &told, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "b.zip")); err == nil {
		t.Error("an archive is there of which nothing was recorded")
	}
}

// TestNetsimOfNobody: who may not make a line is told what that takes, and what can be done
// instead.
func TestNetsimOfNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("it takes root to be somebody else")
		}
		t.Skip("it takes root to be somebody else")
	}
	asNobody(t, "TestNobodyHelper")
}
