package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/suite"
)

// TestRunAB: a test with replacements becomes two variants, and only one test can have them.
func TestRunAB(t *testing.T) {
	dir := t.TempDir()
	faster, empty := filepath.Join(dir, "faster.js"), filepath.Join(dir, "empty.js")
	for path, text := range map[string]string{faster: "() => 1", empty: ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	given := suite.Scripts{Policies: []string{"calls"}}
	if err := (runCmd{AB: []string{"a=b (app.js:12)=" + faster}}).replacing(&given); err != nil ||
		strings.Join(given.Policies, ",") != "calls,ab" || len(given.AB) != 1 ||
		given.AB[0].Function != "a=b (app.js:12)" ||
		given.AB[0].Text != "() => 1" {
		t.Errorf("%+v, %v", given, err)
	}
	for text, want := range map[string]string{"f=" + empty: "empty.js is empty", "f=" + dir: "--ab: ",
		"=x": "must be NAME=FILE"} {
		err := (runCmd{AB: []string{text}}).replacing(&suite.Scripts{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
