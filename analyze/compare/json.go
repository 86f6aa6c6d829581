package compare

import (
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// JSON is a comparison as compare --json prints it; its fields are promised in
// docs/reference/json.md.
type JSON struct {
	A setJSON `json:"a"`
	B setJSON `json:"b"`
	// passed, regressed, inconclusive: what --fail-on-regression goes by
	Outcome     Outcome               `json:"outcome"`
	Answer      string                `json:"answer"`          // a sentence
	Cause       string                `json:"cause,omitempty"` // a sentence about a function
	Primary     string                `json:"primary"`         // the first primary value
	Test        string                `json:"test"`            // in words
	Level       float64               `json:"level"`           // of each family
	Families    map[Family]int        `json:"families"`        // values that are tested in each
	JudgeAll    bool                  `json:"judge_all"`
	Threshold   *float64              `json:"threshold_fraction"` // null: each measure's own
	Alike       bool                  `json:"alike"`
	Differences []Unlike              `json:"environment_differences"`
	Warnings    []string              `json:"warnings"`
	Withheld    string                `json:"withheld,omitempty"` // why no verdict is given
	Cost        bool                  `json:"cost,omitempty"`     // differences are the cost of B's profile
	Counts      map[stats.Verdict]int `json:"counts"`
	Measures    []measureJSON         `json:"measures"`
	Functions   []measureJSON         `json:"functions,omitempty"` // total times, which decide nothing
	// further runs of each side, which measured the functions; absent: those of the sets did
	FurtherRuns int             `json:"further_runs,omitempty"`
	Heat        *heatDifference `json:"heat_map,omitempty"`
	Divergence  *divergence     `json:"divergence,omitempty"`
	Pair        *pairVideo      `json:"pair,omitempty"`
	Strips      *strips         `json:"filmstrips,omitempty"`
	Page        string          `json:"page,omitempty"`
}

type setJSON struct {
	Path    string    `json:"path"`
	Runs    []runJSON `json:"runs"`
	Shown   string    `json:"shown_run"`    // closest to the median of the primary measure
	Retried int       `json:"retried_runs"` // begun again
	Without []string  `json:"runs_without_results"`
}

type runJSON struct {
	Name    string `json:"name"`
	Retried int    `json:"retried_runs"`
	Noise   string `json:"noise,omitempty"`
}

type measureJSON struct {
	Name      string          `json:"name"` // as in --primary
	Window    string          `json:"window"`
	Measure   string          `json:"measure"`
	Version   int             `json:"version"`
	Value     string          `json:"value"`
	Unit      string          `json:"unit"`
	Better    string          `json:"better"` // higher, lower or neither
	Threshold float64         `json:"threshold_fraction"`
	A         sampleJSON      `json:"a"`
	B         sampleJSON      `json:"b"`
	Shift     intervalJSON    `json:"shift"`           // Hodges-Lehmann interval of B − A, in the unit
	Change    *intervalJSON   `json:"change_fraction"` // null where the base is 0
	Delta     float64         `json:"cliffs_delta"`    // -1 to 1
	P         *float64        `json:"p"`               // null where nothing was tested
	AdjustedP *float64        `json:"adjusted_p"`      // by Holm's method over the family
	Primary   bool            `json:"primary"`         // tested or not
	Family    Family          `json:"family"`          // primary, second or empty
	Test      stats.Test      `json:"test"`
	Untested  string          `json:"untested,omitempty"` // why it is not tested
	Verdict   stats.Verdict   `json:"verdict"`            // regressed, improved, different, …
	Direction stats.Direction `json:"direction"`          // worse, better or empty
	MoreA     int             `json:"more_runs_a"`        // 0: no number up to 1,000 decides
	MoreB     int             `json:"more_runs_b"`        // 0: no number up to 1,000 decides
	Sentence  string          `json:"sentence"`
}

type sampleJSON struct {
	Values stats.Sample `json:"values"`
	Median intervalJSON `json:"median"`
	Text   string       `json:"text"` // the median with its unit
}

// intervalJSON is a stats.Interval. It has null for bounds that too few runs have, and for the
// confidence of single runs' bounds.
type intervalJSON struct {
	Estimate   float64  `json:"estimate"`
	Low        *float64 `json:"low"`        // null: too few runs
	High       *float64 `json:"high"`       // null: too few runs
	Confidence *float64 `json:"confidence"` // null for single runs
}

// intervalOf tells an interval.
func intervalOf(i stats.Interval) intervalJSON {
	j := intervalJSON{Estimate: i.Estimate}
	if i.Exists {
		j.Low, j.High = &i.Low, &i.High
	}
	if i.Confidence > 0 {
		j.Confidence = &i.Confidence
	}
	return j
}

// JSON tells the comparison, and what a folder has of it if one was written.
func (c *Comparison) JSON() *JSON {
	outcome, _ := c.Outcome()
	j := &JSON{
		A: c.A.json(c.shownA), B: c.B.json(c.shownB), Outcome: outcome, Answer: c.Answer(),
		Primary:   c.Primary.Key.String(),
		Threshold: c.options.Threshold, Alike: len(c.Unlike) == 0,
		Differences: append([]Unlike{}, c.Unlike...), Warnings: append([]string{}, c.Warnings...), Counts: c.counts(),
		Withheld: c.withheld, Cost: c.cost, Cause: c.Cause(), FurtherRuns: c.further,
		Test: c.Test(), Level: c.alpha(), JudgeAll: c.options.JudgeAll,
		Families: map[Family]int{PrimaryFamily: c.Tested(PrimaryFamily), SecondFamily: c.Tested(SecondFamily)},
		Heat:     c.heat, Divergence: c.divergence, Pair: c.pair,
		Strips: c.strips, Page: c.page,
	}
	for i := range c.Values {
		j.Measures = append(j.Measures, c.Values[i].json())
	}
	for i := range c.Functions {
		j.Functions = append(j.Functions, c.Functions[i].json())
	}
	return j
}

func (s *Set) json(shown int) setJSON {
	j := setJSON{Path: s.Path, Runs: []runJSON{}, Without: append([]string{}, s.Without...)}
	for _, r := range s.Runs {
		j.Runs = append(j.Runs, runJSON{r.Name, r.Retried, r.noise()})
	}
	j.Retried, _ = s.retried()
	if shown >= 0 {
		j.Shown = s.Runs[shown].Name
	}
	return j
}

func (v *Value) json() measureJSON {
	better := v.Measure.Better
	if better == "" {
		better = "neither"
	}
	j := measureJSON{
		Name: v.Key.String(), Window: v.Key.Window, Measure: v.Key.Measure, Version: v.Version, Value: v.Key.Value,
		Unit:   v.Measure.Unit,
		Better: string(better), Threshold: v.Measure.Threshold, A: sampleOf(v.A, v.MedianA, v.Measure.Unit),
		B:     sampleOf(v.B, v.MedianB, v.Measure.Unit),
		Shift: intervalOf(v.Shift), Delta: v.Delta, Verdict: v.Verdict, Direction: v.Direction,
		MoreA: v.MoreA, MoreB: v.MoreB, Sentence: v.Sentence(),
		Primary: v.Primary, Family: v.Family, Test: v.Difference.Test, Untested: v.Untested,
	}
	if v.HasChange {
		change := intervalOf(v.Change)
		j.Change = &change
	}
	if v.Tested {
		j.P, j.AdjustedP = &v.P, &v.AdjustedP
	}
	return j
}

func sampleOf(s stats.Sample, median stats.Interval, unit string) sampleJSON {
	m := wording.Measured{Value: median.Estimate, Low: median.Low, High: median.High, Unit: unit,
		Bounded: median.Exists}
	return sampleJSON{Values: append(stats.Sample{}, s...), Median: intervalOf(median), Text: m.Text()}
}
