package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/machine"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// disturbed is the activity of the machines beside the runs of a set.
type disturbed struct {
	shares   []float64 // of the CPU time, of the runs that state it
	noisy    int
	programs map[string]int // runs that each program disturbed
	unknown  int            // runs of eideticker run that do not state it
}

func (s *Set) disturbed() disturbed {
	d := disturbed{programs: map[string]int{}}
	for _, r := range s.Runs {
		share, known := r.Machine.Disturbance()
		switch {
		case known:
			d.shares = append(d.shares, share)
		case r.made:
			d.unknown++
		}
		if known && share >= machine.Noisy {
			d.noisy++
			for _, name := range r.Machine.Programs {
				d.programs[name]++
			}
		}
	}
	return d
}

// median returns the median share; 0: it is unknown.
func (d disturbed) median() float64 {
	if len(d.shares) == 0 {
		return 0
	}
	return stats.NewSpread(d.shares).Median
}

// noisyRuns describes the noisy runs of both sides; "": there are none.
func noisyRuns(a, b disturbed) string {
	programs := maps.Clone(a.programs)
	for name, n := range b.programs {
		programs[name] += n
	}
	var runs, shares []string
	for i, d := range []disturbed{a, b} {
		if n := len(d.shares); n > 0 {
			runs = append(runs, fmt.Sprintf("%d of %s of %c", d.noisy, wording.Plural(n, "run"), 'A'+i))
			shares = append(shares, fmt.Sprintf("%.0f %%", 100*d.median()))
		}
	}
	if a.noisy+b.noisy == 0 {
		return ""
	}
	text := fmt.Sprintf("%s were noisy; others took %s of the CPU time", strings.Join(runs, " and "),
		strings.Join(shares, " and "))
	names := slices.SortedFunc(maps.Keys(programs), func(x, y string) int {
		return cmp.Or(programs[y]-programs[x], strings.Compare(x, y))
	})
	if len(names) > 0 {
		text += ": " + wording.Few(names)
	}
	return text
}

// machines warns of noisy runs, and of unlike machines. Sides that took turns saw the same noise.
// Others are not judged if the browser was on such a machine.
func (c *Comparison) machines(tookTurns bool) {
	a, b := c.A.disturbed(), c.B.disturbed()
	if n := a.unknown + b.unknown; n > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("noise of the machine is unknown for %s; see compare --help",
			wording.Plural(n, "run")))
	}
	noise, why := noisyRuns(a, b), c.unlikeMachines()
	if why == "" && noise != "" && notAlike(a, b) {
		why = noise
	}
	if why == "" || tookTurns {
		if noise != "" && tookTurns {
			noise += "; they took turns"
		}
		if noise != "" {
			c.Warnings = append(c.Warnings, noise)
		}
		return
	}
	why = "A and B were not measured alike: " + why
	c.Warnings = append(c.Warnings, why)
	shared := func(r Run) bool { return r.Environment[result.EnvMachineShared] == "yes" }
	if !c.options.JudgeUnlike && slices.ContainsFunc(slices.Concat(c.A.Runs, c.B.Runs), shared) {
		c.withhold(why, "not measured alike")
	}
}

// notAlike reports whether one side had more noise: more noisy runs by Fisher's exact test, or a
// larger median by as much as makes a run noisy.
func notAlike(a, b disturbed) bool {
	if len(a.shares) == 0 || len(b.shares) == 0 {
		return false
	}
	return math.Abs(a.median()-b.median()) >= machine.Noisy ||
		stats.Fisher(a.noisy, len(a.shares), b.noisy, len(b.shares)) < stats.Alpha
}

// unlikeMachines names the first difference between the machines of one device; "": there is none,
// or it is unknown.
func (c *Comparison) unlikeMachines() string {
	device := func(r *Run) string { return r.Environment[result.EnvDUT] }
	if !slices.Equal(c.A.each(device), c.B.each(device)) {
		return "" // the comparison is about the devices
	}
	for _, p := range []struct {
		name string
		of   func(*machine.Activity) string
	}{
		{"number of processors", func(a *machine.Activity) string { return strconv.Itoa(a.Processors) }},
		{"processor", func(a *machine.Activity) string { return a.Model }},
		{"governor", func(a *machine.Activity) string { return strings.Join(a.Governors, ", ") }},
	} {
		unknown := false
		of := func(r *Run) string {
			if r.Machine == nil || slices.Contains([]string{"", "0"}, p.of(r.Machine)) {
				unknown = true
				return ""
			}
			return p.of(r.Machine)
		}
		if a, b := c.A.each(of), c.B.each(of); !unknown && !slices.Equal(a, b) {
			return fmt.Sprintf("the %s is %s in A, %s in B", p.name, wording.Few(a), wording.Few(b))
		}
	}
	return ""
}

// withhold takes back all verdicts. note follows the size of each difference.
func (c *Comparison) withhold(why, note string) {
	c.withheld = why
	for _, all := range [][]Value{c.Values, c.Functions} {
		for i := range all {
			if v := &all[i]; v.Verdict != stats.Untested {
				v.Verdict, v.Direction, v.MoreA, v.MoreB, v.withheld = stats.Inconclusive, "", 0, 0, note
			}
		}
	}
}

// Sentence describes a value, as [stats.Difference.Sentence] does.
func (v *Value) Sentence() string {
	if v.withheld == "" {
		return v.Difference.Sentence()
	}
	d := v.Difference
	d.Verdict = stats.Untested // so it has its size alone
	return d.Sentence() + "; " + v.withheld
}

// noise states why a run was noisy; "": it was not, or this is unknown.
func (r *Run) noise() string {
	if r.Machine == nil {
		return ""
	}
	return r.Machine.Noise
}
