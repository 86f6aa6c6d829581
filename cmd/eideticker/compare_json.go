package main

import (
	"github.com/eideticker/eideticker/analyze/stats"
)

// compareJSON is what compare --json prints.
type compareJSON struct {
	A           compareSetJSON         `json:"a"`
	B           compareSetJSON         `json:"b"`
	Outcome     string                 `json:"outcome"` // passed, regressed, inconclusive: what --fail-on-regression goes by
	Primary     string                 `json:"primary"`
	Threshold   *float64               `json:"threshold_fraction"` // null: each measure's own
	Alike       bool                   `json:"alike"`
	Differences []compareEnvJSON       `json:"environment_differences"`
	Warnings    []string               `json:"warnings"`
	Counts      map[stats.Verdict]int  `json:"counts"`
	Measures    []compareMeasureJSON   `json:"measures"`
	Heat        *compareHeatJSON       `json:"heat_map,omitempty"`
	Divergence  *compareDivergenceJSON `json:"divergence,omitempty"`
	Pair        *comparePairJSON       `json:"pair,omitempty"`
}

type compareSetJSON struct {
	Path    string           `json:"path"`
	Runs    []compareRunJSON `json:"runs"`
	Shown   string           `json:"shown_run"`
	Retried int              `json:"retried_runs"`
	Without []string         `json:"runs_without_results"`
}

type compareRunJSON struct {
	Name    string `json:"name"`
	Retried int    `json:"retried_runs"`
}

type compareEnvJSON struct {
	Name string   `json:"name"`
	A    []string `json:"a"`
	B    []string `json:"b"`
}

type compareMeasureJSON struct {
	Name      string            `json:"name"`
	Window    string            `json:"window"`
	Measure   string            `json:"measure"`
	Version   int               `json:"version"`
	Value     string            `json:"value"`
	Unit      string            `json:"unit"`
	Better    string            `json:"better"`
	Threshold float64           `json:"threshold_fraction"`
	A         compareSampleJSON `json:"a"`
	B         compareSampleJSON `json:"b"`
	Shift     intervalJSON      `json:"shift"`
	Change    *intervalJSON     `json:"change_fraction"` // null where the base is 0
	Delta     float64           `json:"cliffs_delta"`
	P         *float64          `json:"p"` // null where nothing was tested
	AdjustedP *float64          `json:"adjusted_p"`
	Verdict   stats.Verdict     `json:"verdict"`
	Direction stats.Direction   `json:"direction"`
	MoreA     int               `json:"more_runs_a"`
	MoreB     int               `json:"more_runs_b"`
	Sentence  string            `json:"sentence"`
}

type compareSampleJSON struct {
	Values []comparePointJSON `json:"values"`
	Median intervalJSON       `json:"median"`
}

type comparePointJSON struct {
	Run   string  `json:"run"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// intervalJSON has null for bounds that too few runs have, and for the confidence of single runs' bounds.
type intervalJSON struct {
	Estimate   float64  `json:"estimate"`
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	Confidence *float64 `json:"confidence"`
}

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

func (c *comparison) json() compareJSON {
	outcome, _ := c.outcome()
	j := compareJSON{
		A: c.a.json(c.shownA), B: c.b.json(c.shownB), Outcome: outcome, Primary: c.primary.fullName(), Alike: len(c.environment) == 0,
		Differences: []compareEnvJSON{}, Warnings: append([]string{}, c.warnings...), Counts: c.counts(),
		Heat: c.heat.json(), Divergence: c.divergence.json(), Pair: c.pair.json(),
	}
	if c.threshold.given {
		j.Threshold = &c.threshold.value
	}
	for _, v := range verdicts() {
		j.Counts[v] += 0
	}
	for _, d := range c.environment {
		j.Differences = append(j.Differences, compareEnvJSON{d.name, d.a, d.b})
	}
	for i := range c.measures {
		j.Measures = append(j.Measures, c.measures[i].json())
	}
	return j
}

func (s *runSet) json(shown int) compareSetJSON {
	j := compareSetJSON{Path: s.path, Runs: []compareRunJSON{}, Without: append([]string{}, s.without...)}
	for _, r := range s.runs {
		j.Runs = append(j.Runs, compareRunJSON{r.name, r.retried})
	}
	j.Retried, _ = s.retried()
	if shown >= 0 {
		j.Shown = s.runs[shown].name
	}
	return j
}

func (m *compared) json() compareMeasureJSON {
	better := m.Measure.Better
	if better == "" {
		better = "neither"
	}
	j := compareMeasureJSON{
		Name: m.fullName(), Window: m.key.window, Measure: m.key.measure, Version: m.version, Value: m.key.value, Unit: m.Measure.Unit,
		Better: string(better), Threshold: m.Measure.Threshold, A: sampleJSON(m.A, m.MedianA), B: sampleJSON(m.B, m.MedianB),
		Shift: intervalOf(m.Shift), Delta: m.Delta, Verdict: m.Verdict, Direction: m.Direction,
		MoreA: m.MoreA, MoreB: m.MoreB, Sentence: m.Sentence(),
	}
	if m.HasChange {
		change := intervalOf(m.Change)
		j.Change = &change
	}
	if m.Tested {
		j.P, j.AdjustedP = &m.P, &m.AdjustedP
	}
	return j
}

func sampleJSON(s stats.Sample, median stats.Interval) compareSampleJSON {
	j := compareSampleJSON{Values: []comparePointJSON{}, Median: intervalOf(median)}
	for _, p := range s {
		j.Values = append(j.Values, comparePointJSON(p))
	}
	return j
}
