package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/suite"
)

// An agent's address reaches the driver, which says who does not answer.
func TestInputThroughAnAgent(t *testing.T) {
	for _, kind := range []string{"windows", "agent"} {
		in, err := device.ParseInput(kind + ":127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		if d, err := openInput(t.Context(), in); d != nil || err == nil ||
			!strings.Contains(err.Error(), "agent at 127.0.0.1:1") {
			t.Errorf("%v, %v", d, err)
		}
	}
}

// TestInputIsToldAfterTheRun: run.json has what the input says of itself when the test is over.
func TestInputIsToldAfterTheRun(t *testing.T) {
	t.Parallel()
	d := &scene{name: "d", uri: paced, note: "before"}
	d.acted = func(*sceneStage) { d.note = "after" }
	o := options(t, d)
	o.Test.Steps = []suite.Step{typed}
	if _, _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(o.Dir, RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	var record Record
	if err := json.Unmarshal(b, &record); err != nil || record.Input == nil || record.Input.Note != "after" ||
		record.Input.Driver != "scene" {
		t.Errorf("%+v, %v", record.Input, err)
	}
}
