package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/frame"
)

// printResults writes results for people: quality first, then a table for each window.
func printResults(w io.Writer, r *result.Results) error {
	if err := printQuality(w, r); err != nil {
		return err
	}
	for i := range r.Windows {
		if err := printWindow(w, &r.Windows[i]); err != nil {
			return err
		}
	}
	return nil
}

func printQuality(w io.Writer, r *result.Results) error {
	stored, _ := r.Quality.Find("stored_frames")
	lost, _ := r.Quality.Find("lost_frames")
	if _, err := fmt.Fprintf(w, "capture: %s stored, %s lost%s\n", wording.Number(stored.Value),
		wording.Number(lost.Value), cutOff(r)); err != nil {
		return err
	}
	if err := printLines(w, append(slices.Clone(r.Quality.Warnings), r.Notes...)); err != nil || len(r.Windows) > 0 {
		return err
	}
	return printTable(w, valueHeading(), valueRows(&r.Quality))
}

func cutOff(r *result.Results) string {
	if r.Recording.Unclosed {
		return ", and its end is missing"
	}
	return ""
}

// valueHeading is that of the rows of valueRows.
func valueHeading() []string { return []string{"", "", ">value", "bounds"} }

// valueRows are a result's values; only the first has the measure's name.
func valueRows(r *analyze.Result) (rows [][]string) {
	name := r.Measure
	for _, v := range r.Values {
		if repeats(r, v) {
			continue
		}
		rows = append(rows, []string{name, v.Name, result.ValueText(v), shownBounds(v)})
		name = ""
	}
	return rows
}

func printLines(w io.Writer, lines []string) error {
	const bullet = "  ! "
	for _, line := range lines {
		lead := bullet
		for _, part := range wrap(line, columns(w)-len(bullet)) {
			if _, err := fmt.Fprintf(w, "%s%s\n", lead, part); err != nil {
				return err
			}
			lead = "    "
		}
	}
	return nil
}

func printWindow(w io.Writer, win *result.Window) error {
	title := "frames"
	if win.Name != "" {
		title = win.Name + ", frames"
	}
	if _, err := fmt.Fprintf(w, "\n%s %d to %d, %s (--frames %d:%d)\n", title, win.Start, win.End,
		regionText(win.Region), win.Start, win.End+1); err != nil {
		return err
	}
	if err := printLines(w, win.Warnings); err != nil {
		return err
	}
	var rows [][]string
	var said []string
	for i := range win.Results {
		res := &win.Results[i]
		if res.State == analyze.Refused {
			said = append(said, res.Measure+": "+res.Refusal)
			continue
		}
		rows = append(rows, valueRows(res)...)
		for _, warning := range res.Warnings {
			said = append(said, res.Measure+": "+warning)
		}
	}
	if len(rows) > 0 {
		if err := printTable(w, valueHeading(), rows); err != nil {
			return err
		}
	}
	return printLines(w, said)
}

// repeats reports whether a value says what another one says already: most loads never fall back,
// so the time at which a level is crossed is the time from which on it is kept.
func repeats(r *analyze.Result, v analyze.Value) bool {
	complete, ok := r.Find(strings.Replace(v.Name, ".crossed_", ".complete_", 1))
	return ok && complete.Name != v.Name && complete.Value == v.Value
}

// shownBounds is the state of a value that has no bounds.
func shownBounds(v analyze.Value) string {
	bounds := result.BoundsText(v)
	switch {
	case bounds == "":
		return string(v.State)
	case strings.Contains(v.Note, analyze.WorstCase):
		return bounds + " at worst"
	}
	return bounds
}

func regionText(r []int) string {
	if len(r) != 4 {
		return "all of the picture"
	}
	return frame.Region{X: r[0], Y: r[1], Width: r[2], Height: r[3]}.String()
}
