package compare

import (
	"bytes"
	"encoding/csv"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// Each value has a line, and so has a run without results.
func TestSetCSV(t *testing.T) {
	p := plan{Test: "load", Variants: []string{"a", "b"}, Runs: []planRun{
		{Dir: "a/run-01", Variant: "a", State: "ok"}, {Dir: "b/run-01", Variant: "b", State: "ok"},
		{Dir: "a/failed/run-02.1", Variant: "a", State: "failed", Reason: "no green,\n\"at all\""},
		{Dir: "b/warm-up-01", Variant: "b", State: "ok", WarmUp: true},
	}}
	s := analyzetest.Must(OpenSet(t.Context(), setOf(t, p, "a/run-01", "b/run-01")))(t)
	var out bytes.Buffer
	lines := analyzetest.Must(s.CSV(&out))(t)
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != lines+1 || !slices.Equal(rows[0], tableColumns) {
		t.Fatalf("%d lines, %v: %q", lines, err, rows)
	}
	values := 0
	for _, w := range s.variants[0].Runs[0].Windows {
		for _, r := range w.Results {
			values += len(r.Values)
			for _, v := range r.Values {
				want := []string{"a", "run-01", "0", "ok", "", w.Name, r.Measure}
				number := []string{v.Name, v.Unit, cell(v.Value), cell(v.Low), cell(v.High), string(v.State)}
				if !slices.ContainsFunc(rows, func(row []string) bool {
					return slices.Equal(row[:7], want) && slices.Equal(row[8:14], number)
				}) {
					t.Errorf("no line for %s.%s", r.Measure, v.Name)
				}
			}
		}
	}
	if lines != 2*values+2 || values == 0 {
		t.Errorf("%d lines of two runs with %d values each, and two without results", lines, values)
	}
	for i, want := range [][]string{{"a", "run-02.1", "", "failed", "no green,\n\"at all\""},
		{"b", "warm-up-01", "", "warm-up", ""}} {
		if row := rows[len(rows)-2+i]; !slices.Equal(row[:5], want) || row[8] != "" {
			t.Errorf("%q, want %q", row, want)
		}
	}
}
