package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/scripts"
)

// TestExportOfCalls: other programs get every call with its function's place.
func TestExportOfCalls(t *testing.T) {
	dir := writeScripts(t)
	read := func(ending string) string {
		b, err := os.ReadFile(exported(t, dir, ending))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := "window https://a.test/;slow https://a.test/app.js:12;inner https://a.test/app.js:40 8000000\n"
	if folded := read(".folded"); !strings.Contains(folded, want) || !strings.Contains(folded, "function 99 ") {
		t.Errorf("folded stacks:\n%s", folded)
	}
	if grind := read(".callgrind"); !strings.Contains(grind, " inner https://a.test/app.js:40 #2\n") ||
		!strings.Contains(grind, "\n40 21000000\n") {
		t.Errorf("callgrind:\n%s", grind)
	}
	if p, err := pprof.ParseData([]byte(read(".pb.gz"))); err != nil || len(p.Sample) < 3 ||
		p.Sample[0].Location[0].Line[0].Function.Name == "" {
		t.Errorf("pprof: %v, %v", err, p)
	}
	if svg := read(".svg"); !strings.Contains(svg, "<title>inner https://a.test/app.js:40: 8.00 ms") {
		t.Errorf("flame graph:\n%s", svg)
	}
	var profile struct {
		Nodes []struct {
			CallFrame struct {
				FunctionName string
				LineNumber   int
			}
		}
		Samples []int
	}
	if err := json.Unmarshal([]byte(read(".cpuprofile")), &profile); err != nil || len(profile.Samples) == 0 {
		t.Errorf("cpuprofile: %v, %d samples", err, len(profile.Samples))
	}
	names := map[string]int{}
	for _, n := range profile.Nodes {
		names[n.CallFrame.FunctionName] = n.CallFrame.LineNumber
	}
	if names["slow"] != 11 || names["load"] != 6 {
		t.Errorf("functions of the cpuprofile: %v", names)
	}
}

// Fault: Calls are exported from a run without scripts, or from damaged records
func TestExportOfNoCalls(t *testing.T) {
	dir := writeScripts(t)
	out := filepath.Join(t.TempDir(), "a.folded")
	code, _, errOut := command(t, "export", filepath.Join(dir, runfolder.RecordingFile), "-o", out)
	if code != exitFailure || exists(out) ||
		!strings.Contains(errOut, "no records of scripts; name the folder of a run") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	if code, _, errOut := command(t, "export", dir, "-o", out, "--frames", "1:2"); code != exitUsage {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	log := filepath.Join(dir, scripts.LogFile)
	whole, err := os.ReadFile(log)
	if err := errors.Join(err, os.WriteFile(log, whole[:len(whole)-3], 0o644)); err != nil {
		t.Fatal(err)
	}
	code, _, errOut = command(t, "export", dir, "-o", out)
	if code != exitOK || !strings.Contains(errOut, "warning: ") || !strings.Contains(errOut, "the file is cut") {
		t.Errorf("a cut log: exit code %d: %s", code, errOut)
	}
}
