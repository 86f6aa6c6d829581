// Package glossary explains the values of results, with unit and formula. A number that its reader
// cannot explain is not evidence, so a test requires an entry for each value. Command line, report
// and reference print the same texts.
package glossary

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Entry explains a value.
type Entry struct {
	Name    string `json:"name"` // MEASURE.VALUE
	Meaning string `json:"meaning"`
	Unit    string `json:"unit"`
	Better  string `json:"better"` // higher, lower, neither
	Formula string `json:"formula"`
	Example string `json:"example,omitempty"`
}

// Terms are the symbols of formulas, in the order of a recording.
const Terms = `T0  time of the navigation, launch or input command
g   last frame of the held green
s   first content frame
e   last content frame
r   first full red frame
R   content region, without masks and the code strip
U   unique frames: s, and each frame up to e that differs from the frame before it
p   progress of a frame towards e, from 0 to 1`

// Explain returns the entry of a value of a measure, and false if there is none.
func Explain(measure, value string) (Entry, bool) {
	e, ok := find(measure, value)
	e.Name = measure + "." + value
	return e, ok
}

// Names returns the names of all entries but those of load figures, which are composed.
func Names() []string { return slices.Sorted(maps.Keys(entries)) }

func find(measure, value string) (Entry, bool) {
	if e, ok := entries[measure+"."+value]; ok {
		return e, true
	}
	switch measure {
	case "speedindex":
		if rest, ok := strings.CutPrefix(value, "from_first_change."); ok {
			return load(rest, "the first visual change")
		}
		return load(value, "T0")
	case "windowopen":
		if e, ok := entries["loadhist."+value]; ok {
			return e, true
		}
		return load(value, "T0")
	}
	return Entry{}, false
}

// load composes the entry of a load figure: a figure of a variant of progress.
func load(value, from string) (Entry, bool) {
	if e, ok := loadEntries[value]; ok {
		e.Meaning = strings.ReplaceAll(e.Meaning, "FROM", from)
		e.Formula = strings.ReplaceAll(e.Formula, "FROM", from)
		return e, true
	}
	variant, figure, _ := strings.Cut(value, ".")
	progress, ok := variants[variant]
	if !ok {
		return Entry{}, false
	}
	e := Entry{Unit: "ms", Better: "lower"}
	kind, percent, _ := strings.Cut(figure, "_")
	whole := slices.Contains([]string{"85", "95", "99", "100"}, percent)
	switch {
	case figure == "speed_index":
		e.Meaning = fmt.Sprintf("Average time from %s until the pixels of the page appear.", from)
		e.Formula = fmt.Sprintf("Σ Δt·(1 − p) from %s to e; p: %s", from, progress)
		e.Example = "A page half drawn at 1 s and complete at 3 s: 1·1 s + ½·2 s = 2,000 ms."
	case kind == "complete" && whole:
		e.Meaning = fmt.Sprintf("Time from %s until the page is %s %% complete and stays so.", from, percent)
		e.Formula = fmt.Sprintf("first time after which p ≥ %s %%; p: %s", percent, progress)
	case kind == "crossed" && whole:
		e.Meaning = fmt.Sprintf("Time from %s until the page is %s %% complete for the first time.", from, percent)
		e.Formula = fmt.Sprintf("first time with p ≥ %s %%; p: %s", percent, progress)
	default:
		return Entry{}, false
	}
	return e, true
}

// variants are the definitions of progress.
var variants = map[string]string{
	"pixel":      "pixels that equal those of e, as a fraction of R",
	"histogram":  "similarity of the RGB histogram to that of e, as in WebPageTest",
	"perceptual": "SSIM of luma to e (Wang et al. 2004), also before s, where it is above 0",
	"contentful": "number of Canny edges, divided by the maximum of all frames",
}
