package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/vitals"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/frame"
)

// printResults writes results for people: quality first, then the answer of each window. With all,
// a table of all values follows.
func Results(w io.Writer, r *result.Results, all bool) error {
	r, err := r.Complete()
	if err != nil {
		return err
	}
	if err := Quality(w, r); err != nil {
		return err
	}
	for i := range r.Windows {
		if err := Window(w, &r.Windows[i], r.Settings, all); err != nil {
			return err
		}
	}
	return errors.Join(printScript(w, r.Script, all), printProfile(w, r.Profile, all), printVitals(w, r.Vitals, all))
}

// printVitals writes the page's claims: the one that was compared with the pixels, or all.
func printVitals(w io.Writer, v *vitals.Claims, all bool) error {
	if v == nil {
		return nil
	}
	text := cmp.Or(v.Sentence, "The page claims no largest contentful paint.")
	if v.Result.Refusal != "" {
		text = "The page's claims are unknown: " + v.Result.Refusal + "."
	}
	if _, err := io.WriteString(w, Indented(text, "", Columns(w))); err != nil || !all {
		return err
	}
	rows, said := valueRows(&v.Result), slices.Clone(v.Result.Warnings)
	for i, one := range v.Result.Values {
		switch {
		case one.Note == vitals.FromNetwork:
			rows[i][3] = one.Note
			continue
		case one.State == analyze.Exact:
			rows[i][3] = "claimed"
		}
		if one.Note != "" {
			said = append(said, one.Name+": "+one.Note)
		}
	}
	return errors.Join(Table(w, valueHeading(), rows), Lines(w, said))
}

func Quality(w io.Writer, r *result.Results) error {
	stored, _ := r.Quality.Find("stored_frames")
	lost, _ := r.Quality.Find("lost_frames")
	if _, err := fmt.Fprintf(w, "capture: %s stored, %s lost%s\n", wording.Number(stored.Value),
		wording.Number(lost.Value), cutOff(r)); err != nil {
		return err
	}
	if err := Lines(w, append(slices.Clone(r.Quality.Warnings), r.Notes...)); err != nil || len(r.Windows) > 0 {
		return err
	}
	return Table(w, valueHeading(), valueRows(&r.Quality))
}

func cutOff(r *result.Results) string {
	if r.Recording.Unclosed {
		return ", and its end is missing"
	}
	return ""
}

// valueHeading is the heading of valueRows.
func valueHeading() []string { return []string{"", "", ">value", "bounds"} }

// valueRows returns the rows of a result. Only the first has the name of the measure.
func valueRows(r *analyze.Result) (rows [][]string) {
	name := r.Measure
	for _, v := range r.Values {
		if repeats(r, v) {
			continue
		}
		rows = append(rows, []string{name, v.Name, result.ValueText(v), Bounds(v)})
		name = ""
	}
	return rows
}

func Lines(w io.Writer, lines []string) error {
	const bullet = "  ! "
	for _, line := range lines {
		lead := bullet
		for _, part := range Wrap(line, Columns(w)-len(bullet)) {
			if _, err := fmt.Fprintf(w, "%s%s\n", lead, part); err != nil {
				return err
			}
			lead = "    "
		}
	}
	return nil
}

func Window(w io.Writer, win *result.Window, s result.Settings, all bool) error {
	title := "frames"
	if win.Name != "" {
		title = win.Name + ", frames"
	}
	title = fmt.Sprintf("%s %d to %d, %s (--frames %d:%d)", title, win.Start, win.End, regionText(win.Region),
		win.Start, win.End+1)
	if _, err := fmt.Fprintf(w, "\n%s\n", strings.Join(fold(title, Width(w)), "\n")); err != nil {
		return err
	}
	if err := Lines(w, win.Warnings); err != nil {
		return err
	}
	answer := win.Answer
	if err := InStyle(w, Bold, Indented(answer.Sentence, "", Columns(w))); err != nil {
		return err
	}
	var rows [][]string
	var said []string
	for i := range win.Results {
		res := &win.Results[i]
		if all || toldOf(res, s.Measures, answer) {
			said = append(said, saidOf(res, all)...)
		}
		if res.State != analyze.Refused {
			rows = append(rows, valueRows(res)...)
		}
	}
	more := len(rows)
	if !all {
		rows = answerRows(win, answer)
		more -= len(rows)
	}
	if len(rows) > 0 {
		if err := Table(w, valueHeading(), rows); err != nil {
			return err
		}
	}
	if err := errors.Join(printMoments(w, answer.Moments), Lines(w, said)); err != nil {
		return err
	}
	return moreValues(w, more, all)
}

// toldOf reports whether to print the refusal and the warnings of a measure: it was asked for by
// name, or it has a primary value.
func toldOf(r *analyze.Result, asked []string, a result.Answer) bool {
	return slices.Contains(asked, r.Measure) ||
		slices.ContainsFunc(a.Primary, func(name string) bool { return strings.HasPrefix(name, r.Measure+".") })
}

// saidOf returns the refusal or the warnings of a measure. Only all of them state which values lack
// samples.
func saidOf(r *analyze.Result, all bool) (said []string) {
	if r.State == analyze.Refused {
		return []string{r.Measure + ": " + r.Refusal}
	}
	for _, warning := range r.Warnings {
		if all || !strings.Contains(warning, analyze.TooFew) {
			said = append(said, r.Measure+": "+warning)
		}
	}
	return said
}

// answerRows returns the rows of the primary values, in their order.
func answerRows(win *result.Window, a result.Answer) (rows [][]string) {
	for _, name := range a.Primary {
		measure, of, _ := strings.Cut(name, ".")
		at := slices.IndexFunc(win.Results, func(r analyze.Result) bool { return r.Measure == measure })
		if at < 0 {
			continue
		}
		v, _ := win.Results[at].Find(of)
		if n := len(rows); n > 0 && slices.ContainsFunc(rows, func(row []string) bool { return row[0] == measure }) {
			measure = ""
		}
		rows = append(rows, []string{measure, of, result.ValueText(v), Bounds(v)})
	}
	return rows
}

func printMoments(w io.Writer, moments []result.Moment) error {
	if len(moments) == 0 {
		return nil
	}
	var rows [][]string
	for _, m := range moments {
		rows = append(rows, []string{m.At, wording.Count(m.Frame), m.What})
	}
	fmt.Fprintln(w)
	return Wrapped(w, []string{"at", "frame", ""}, rows, Columns(w))
}

// moreValues states how many values are left out.
func moreValues(w io.Writer, n int, all bool) error {
	if all || n <= 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s: --all\n", wording.Plural(n, "more value"))
	return err
}

// repeats reports whether a value is equal to another one. Most loads cross a level only once.
func repeats(r *analyze.Result, v analyze.Value) bool {
	complete, ok := r.Find(strings.Replace(v.Name, ".crossed_", ".complete_", 1))
	return ok && complete.Name != v.Name && complete.Value == v.Value
}

// shownBounds returns the bounds of a value, or its state if it has none.
func Bounds(v analyze.Value) string {
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
