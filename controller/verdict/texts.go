package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
)

// Needed is how many runs of each set a verdict needs, whatever the number of values.
func Needed(comparisons int, judgeAll bool) int {
	return stats.MannWhitney.Needed(judged(judgeAll)*comparisons, stats.Alpha)
}

// judged is the maximum number of values in a family that decides.
func judged(all bool) int {
	if all {
		return 50 // of a load
	}
	return compare.MaxPrimary
}

// NeededText states how many runs a verdict on planned runs needs. It is a warning if the plan has
// fewer. Without a later verdict it is empty.
func NeededText(o *session.SetOptions, judgeAll bool) string {
	sides := len(o.Compared())
	several := sides > 1
	if o.UntilFail || o.Looks != nil || !several && o.Repeat < 2 {
		return ""
	}
	comparisons := max(1, sides-1)
	runs := Needed(comparisons, judgeAll)
	if !several {
		return fmt.Sprintf("a verdict needs %d runs of each set", runs)
	}
	blocks := stats.SignedRank.Needed(judged(judgeAll)*comparisons, stats.Alpha)
	text := fmt.Sprintf("a verdict needs %d complete blocks", blocks)
	if runs < stats.FewestBlocks { // these are not paired
		text = fmt.Sprintf("a verdict needs %d runs each; from %d complete blocks on, runs of one block are compared",
			runs, stats.FewestBlocks)
	}
	if n := o.Repeat; n < runs || n >= stats.FewestBlocks && n < blocks {
		return "warning: " + text
	}
	return text
}

// PlanText describes planned runs.
func PlanText(o *session.SetOptions) string {
	var names []string
	for _, v := range o.Variants {
		names = append(names, v.Name())
	}
	times := wording.Plural(o.Repeat, "run")
	if o.UntilFail {
		times = "runs until one fails"
	}
	if o.Looks != nil {
		times = "up to " + times
	}
	text := fmt.Sprintf("%s: %s", o.Test.Name, times)
	if len(names) > 1 {
		text += " each of " + strings.Join(names, " and ") + ", in blocks of random order"
	}
	if o.Looks != nil {
		text += fmt.Sprintf(", judged after %s blocks", strings.Trim(strings.ReplaceAll(fmt.Sprint(o.Looks),
			" ", ", "), "[]"))
	}
	if o.WarmUp > 0 {
		text += fmt.Sprintf(", after %s to warm up", wording.Plural(o.WarmUp, "run"))
	}
	return text
}

// Decided counts the primary values of comparisons, and those of them that are decided.
func Decided(all []*compare.Comparison) (decided, values int) {
	for _, c := range all {
		for i := range c.Values {
			if v := &c.Values[i]; v.Family == compare.PrimaryFamily {
				values++
				if v.Verdict != stats.Inconclusive {
					decided++
				}
			}
		}
	}
	return decided, values
}

// ChecksText counts the values that agree with the drawn content, and names the others; "": unknown
// content.
func ChecksText(runs ...*session.Made) string {
	made, failed, left := 0, map[string]int{}, 0
	wrong := 0
	for _, m := range runs {
		made, left, wrong = made+m.Record.Checks, left+len(m.Record.ChecksNotMade), wrong+len(m.Record.ChecksFailed)
		for _, what := range m.Record.ChecksFailed {
			failed[what]++
		}
	}
	if made+left == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %s measured as drawn", made-wrong, wording.Plural(made, "number"))
	if left > 0 {
		text += fmt.Sprintf(", %d not checked", left)
	}
	var names []string
	for _, what := range slices.Sorted(maps.Keys(failed)) {
		if n := failed[what]; n > 1 {
			what += fmt.Sprintf(" (%d times)", n)
		}
		names = append(names, what)
	}
	if len(names) > 0 {
		text += "; DIFFERENT: " + strings.Join(names, ", ")
	}
	return text
}

// MissesText counts the requests that an archive had no answer to; "": none.
func (s Set) MissesText() string {
	missed := 0
	var names []string
	for _, m := range s.Made.Made {
		if m.Record.Network == nil || m.Record.Network.Replay == nil {
			continue
		}
		missed += m.Record.Network.Replay.Missed
		for _, one := range m.Record.Network.Replay.Misses {
			if name := one.Method + " " + wording.Short(one.URL, 100); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if missed == 0 {
		return ""
	}
	return fmt.Sprintf("%s not in the archive: %s", wording.Plural(missed, "request"), wording.Few(names))
}

// RedirectsText names the pages to which addresses were redirected; "": none.
func (s Set) RedirectsText() string {
	var to []string
	for _, m := range s.Made.Made {
		if page := m.Record.Redirected; page != "" && !slices.Contains(to, page) {
			to = append(to, page)
		}
	}
	if len(to) == 0 {
		return ""
	}
	return fmt.Sprintf("to %s; if that is a login, the login was measured", wording.Few(to))
}
