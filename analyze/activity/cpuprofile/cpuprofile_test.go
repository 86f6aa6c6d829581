package cpuprofile

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
)

// TestNode reads a profile of node --cpu-prof.
func TestNode(t *testing.T) {
	f, err := os.Open("testdata/node.cpuprofile")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s activitytest.Sink
	claims, err := Read(f, &s)
	if err != nil {
		t.Fatal(err)
	}
	lines := s.Lines()
	if len(lines) != 6 || lines[0] != "50160817089000 JavaScript sample (program) 10205000" ||
		!strings.HasSuffix(lines[5], ";work;heavy 0") {
		t.Errorf("samples %q", lines)
	}
	if claims.Begin != 50160814200000 || claims.SkippedRecords() != 0 || claims.Monotonic {
		t.Errorf("claims %+v", claims)
	}
	i := slices.IndexFunc(s.Functions, func(f activity.Function) bool { return f.Name == "heavy" })
	if f := s.Functions[i]; f.File != "file:///srv/app.js" || f.Line != 1 {
		t.Errorf("function %+v", f)
	}
}

const head = `{"startTime":1000,"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,3]},`

func TestHostile(t *testing.T) {
	for _, tc := range []struct{ name, text, skipped string }{
		{"cycle", head + `{"id":2,"callFrame":{"functionName":"a"},"parent":3},
			{"id":3,"callFrame":{"functionName":"b"},"parent":2}],"samples":[2],"timeDeltas":[1]}`,
			"samples with impossible stacks"},
		{"calls itself", head + `{"id":2,"callFrame":{"functionName":"a"},"parent":2}],"samples":[2],"timeDeltas":[1]}`,
			"samples with impossible stacks"},
		{"unknown node", head + `{"id":2,"callFrame":{}}],"samples":[77],"timeDeltas":[1]}`,
			"samples of unknown nodes"},
		{"impossible number", head + `{"id":9e99}],"samples":[],"timeDeltas":[]}`, "malformed nodes"},
		{"before the epoch", head + `{"id":2,"callFrame":{"functionName":"a"}}],"samples":[2],"timeDeltas":[-5000]}`,
			"impossible times"},
		{"lists differ", head + `{"id":2,"callFrame":{"functionName":"a"}}],"samples":[2,2],"timeDeltas":[1]}`,
			"lists of samples and times that differ in length"},
	} {
		var s activitytest.Sink
		claims, err := Read(strings.NewReader(tc.text), &s)
		if err != nil || claims.Skipped[tc.skipped] == 0 || len(s.Faults) > 0 {
			t.Errorf("%s: %v, %+v, %v", tc.name, err, claims, s.Faults)
		}
	}
	var s activitytest.Sink
	if claims, err := Read(strings.NewReader(head+`{"id":2`), &s); err != nil || !claims.Truncated {
		t.Errorf("truncated: %v, %+v", err, claims)
	}
	if _, err := Read(strings.NewReader(`{"nodes":[]}`), &s); err == nil {
		t.Error("a profile without a start time was read")
	}
}

func FuzzRead(f *testing.F) {
	node, err := os.ReadFile("testdata/node.cpuprofile")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(node)
	f.Add([]byte(head + `{"id":2,"callFrame":{"functionName":"a"},"parent":2}],"samples":[2],"timeDeltas":[1]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s activitytest.Sink
		_, _ = Read(bytes.NewReader(raw), &s)
		if len(s.Faults) > 0 {
			t.Errorf("impossible records: %v", s.Faults)
		}
	})
}
