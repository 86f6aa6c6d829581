package main

import (
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/codec/recording"
)

// writeResults makes a results.json of a recording with two windows, frames 1 to 3 and 5 to 6.
func writeResults(t *testing.T, change func(*result.Results)) string {
	t.Helper()
	progress := func(holds bool, frames []int, values ...float64) []analyze.Result {
		return []analyze.Result{{Measure: "loadhist", Version: 1, State: analyze.Exact, Series: []analyze.Series{
			{Name: "progress", Unit: "fraction", Holds: holds, Frames: frames, Values: values},
			{Name: "empty", Unit: "pixels"},
		}}}
	}
	window := func(name string, start, end int, r []analyze.Result) result.Window {
		return result.Window{Name: name, Kind: result.Frames, Green: -1, Red: -1, Start: start, End: end, Results: r}
	}
	r := &result.Results{
		Schema: result.Schema, Version: result.Version,
		Recording: result.Recording{Frames: 8},
		Quality: analyze.Result{Measure: "quality", Version: 1, State: analyze.Exact, Series: []analyze.Series{
			{Name: "stall", Unit: "GB/s", Frames: []int{2, 7}, Values: []float64{1e-9, 123456789}},
		}},
		Windows: []result.Window{
			window("first", 1, 3, progress(true, []int{1, 3}, 0.25, 1)),
			window("second", 5, 6, progress(true, []int{5}, 0.1)),
		},
	}
	if change != nil {
		change(r)
	}
	path := filepath.Join(t.TempDir(), "results.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := printJSON(f, r); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSeriesInCSV(t *testing.T) {
	in := writeTimeline(t)
	r, err := recording.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprintf("%x", r.Info().ID)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		change func(*result.Results)
		frames string
		want   []string // each column, its values of all frames
	}{
		{"held", nil, "", []string{
			"quality.stall_GB_per_s: - - 1e-09 - - - - 1.23456789e+08",
			"loadhist.progress_fraction: - 0.25 0.25 1 - 0.1 0.1 -",
		}},
		{"not held", func(r *result.Results) { r.Windows[0].Results[0].Series[0].Holds = false }, "", []string{
			"quality.stall_GB_per_s: - - 1e-09 - - - - 1.23456789e+08",
			"loadhist.progress_fraction: - 0.25 - 1 - 0.1 0.1 -",
		}},
		{"part", nil, "2:6", []string{"quality.stall_GB_per_s: 1e-09 - - -",
			"loadhist.progress_fraction: 0.25 1 - 0.1"}},
		{"windows with frames of both", func(r *result.Results) {
			r.Windows[1].Start, r.Windows[1].Results[0].Series[0].Frames[0] = 3, 3
		}, "", []string{
			"quality.stall_GB_per_s: - - 1e-09 - - - - 1.23456789e+08",
			"loadhist.progress_fraction: - 0.25 0.25 1 - - - -",
			"loadhist.progress_fraction (second): - - - 0.1 0.1 0.1 0.1 -",
		}},
		{"from the command", func(r *result.Results) {
			w := &r.Windows[0]
			w.Results, r.Quality.Series = nil, nil
			w.StartNS, w.EndNS, w.T0 = 3e9, 4e9, &result.T0{AtNS: 1e9, Source: "navigation"}
			w.Times = result.FrameTimes{First: 1, Time: []int64{0, 5e8}, Earliest: []int64{0, 0}, Latest: []int64{0, 0}}
		}, "", []string{"seconds_from_t0: - 2 2.5 - - - - -", "loadhist.progress_fraction: - - - - - 0.1 0.1 -"}},
		{"of this recording", func(r *result.Results) { r.Recording.ID = id; r.Windows = nil; r.Quality.Series = nil },
			"", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			flags := []string{"--results", writeResults(t, tc.change)}
			if tc.frames != "" {
				flags = append(flags, "--frames", tc.frames)
			}
			f, err := os.Open(exported(t, in, ".csv", flags...))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			rows, err := csv.NewReader(f).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			const ours = 11 // columns that are always there
			var got []string
			for c := ours; c < len(rows[0]); c++ {
				column := rows[0][c] + ":"
				for _, row := range rows[1:] {
					if row[c] == "" {
						row[c] = "-"
					}
					column += " " + row[c]
				}
				got = append(got, column)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want\n%q", got, tc.want)
			}
		})
	}
}

// An array has an element per frame: six integers, and a number for each series.
func TestSeriesInNPY(t *testing.T) {
	b, err := os.ReadFile(exported(t, writeTimeline(t), ".npy", "--results", writeResults(t, nil)))
	if err != nil {
		t.Fatal(err)
	}
	start := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	const head = "{'descr': [('frame', '<i8'), ('sequence', '<i8'), ('earliest_ns', '<i8'), ('latest_ns', '<i8'), " +
		"('changed_bytes', '<i8'), ('missing_before', '<i8'), ('quality.stall_GB_per_s', '<f8'), " +
		"('loadhist.progress_fraction', '<f8')], 'fortran_order': False, 'shape': (8,), }"
	if got := strings.TrimRight(string(b[10:start]), " \n"); got != head || start%64 != 0 {
		t.Fatalf("%s\nwant %s", got, head)
	}
	const frames, fields = 8, 8
	at := func(frame, field int) uint64 { return binary.LittleEndian.Uint64(b[start+8*(fields*frame+field):]) }
	if len(b) != start+8*frames*fields || at(5, 0) != 5 || math.Float64frombits(at(5, 7)) != 0.1 ||
		!math.IsNaN(math.Float64frombits(at(0, 6))) {
		t.Errorf("%d bytes of elements: % x", len(b)-start, b[start:])
	}
}

func TestSeriesRefused(t *testing.T) {
	in := writeTimeline(t)
	for _, tc := range []struct {
		name   string
		change func(*result.Results)
		want   string
	}{
		{"another recording", func(r *result.Results) { r.Recording.ID = strings.Repeat("ab", 16) },
			"results are of recording abab"},
		{"another length", func(r *result.Results) { r.Recording.Frames = 9 }, "of 9 frames, and"},
		{"another version", func(r *result.Results) { r.Version = 99 }, "another version of the results' schema"},
		{"something else", func(r *result.Results) { r.Schema = "x" }, "is this a results.json?"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.csv")
			code, _, errOut := command(t, "export", in, "-o", out, "--results", writeResults(t, tc.change))
			if _, err := os.Stat(out); code != exitFailure || err == nil || !strings.Contains(errOut, tc.want) {
				t.Errorf("exit code %d, %v: %q, want %q", code, err, errOut, tc.want)
			}
		})
	}
}
