package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
)

// sameConfidence is how sure it is that a count which is called too high is not chance.
const sameConfidence = 0.99

// sameCount is how often something happened that is to happen with a chance of at most stats.Alpha.
type sameCount struct {
	hits, of int
	most     int // that chance allows
}

func newSameCount(hits, of int, confidence float64) sameCount {
	return sameCount{hits, of, stats.MaxByChance(of, stats.Alpha, confidence)}
}

func (c sameCount) exceeded() bool { return c.hits > c.most }

func (c sameCount) interval() stats.Interval { return stats.Rate(c.hits, c.of, stats.Level) }

// sameResult is what a browser held against itself comes to.
type sameResult struct {
	plan       *samePlan
	judged     []sameJudged
	made       int       // comparisons that count
	alarms     sameCount // of those that were able to: whether a primary value is said to differ
	primaries  sameCount // of the values that are looked at first: whether p is below the level
	rows       []*sameRow
	took       []time.Duration
	alarmed    []string // names of comparisons with an alarm
	browsers   []string // of all runs, each once
	notCounted []string
}

// sameRow is one value of one test over all comparisons.
type sameRow struct {
	test     string
	key      compare.Key
	unit     string
	primary  bool
	compared int
	tested   int
	low      int
	alarms   sameCount // of the comparisons that were able to
	values   []float64 // of all runs
}

// countSame counts.
func countSame(plan *samePlan, judged []sameJudged) *sameResult {
	r := &sameResult{plan: plan, judged: judged}
	able, alarms, tested, low := 0, 0, 0, 0
	for i := range judged {
		j := &judged[i]
		r.took = append(r.took, j.took...)
		r.browsers = append(r.browsers, j.browsers...)
		r.spread(j)
		if !j.counts() {
			r.notCounted = append(r.notCounted, fmt.Sprintf("%s: %s", j.Dir, j.why))
			continue
		}
		r.made++
		if j.able() {
			able++
		}
		if names := j.alarms(); len(names) > 0 {
			alarms++
			r.alarmed = append(r.alarmed, fmt.Sprintf("%s: %s", j.Dir, wording.Few(names)))
		}
		for _, v := range j.values {
			r.row(j.Test, v.key).take(v)
			if v.primary && v.tested {
				tested++
				if v.low {
					low++
				}
			}
		}
	}
	slices.Sort(r.browsers)
	r.browsers = slices.Compact(r.browsers)
	// Two counts decide together, so each has half of what may go wrong by chance.
	const each = 1 - (1-sameConfidence)/2
	r.alarms, r.primaries = newSameCount(alarms, able, each), newSameCount(low, tested, each)
	for _, row := range r.rows {
		row.alarms.most = stats.MaxByChance(row.alarms.of, stats.Alpha, sameConfidence)
	}
	return r
}

// spread takes in the values of all runs, also of comparisons that do not count.
func (r *sameResult) spread(j *sameJudged) {
	for _, s := range j.samples {
		row := r.row(j.Test, s.Key)
		row.unit = s.Unit
		row.values = append(row.values, s.Values...)
	}
}

// row finds the row of a value, or begins it. Rows of a test stand together.
func (r *sameResult) row(test string, key compare.Key) *sameRow {
	end := len(r.rows)
	for i, row := range r.rows {
		if row.test != test {
			continue
		}
		if row.key == key {
			return row
		}
		end = i + 1
	}
	row := &sameRow{test: test, key: key}
	r.rows = slices.Insert(r.rows, end, row)
	return row
}

func (row *sameRow) take(v sameValue) {
	row.compared++
	row.primary = row.primary || v.primary
	if v.able {
		row.alarms.of++
	}
	if v.alarm {
		row.alarms.hits++
	}
	if v.tested {
		row.tested++
	}
	if v.low {
		row.low++
	}
}

// failure is the error for what may not be: more alarms than the level allows, or nothing that
// could have been one.
func (r *sameResult) failure() error {
	switch {
	case r.made == 0:
		return errors.New("no comparison counts, so nothing is shown: " + wording.Few(r.notCounted))
	case r.alarms.of == 0:
		return fmt.Errorf("in none of %s was a verdict possible, so nothing is shown", plural(r.made, "comparison"))
	}
	var wrong []string
	if c := r.alarms; c.exceeded() {
		wrong = append(wrong, fmt.Sprintf(
			"%d of %s of a browser with itself are false alarms, and chance allows %d: %s", c.hits,
			plural(c.of, "comparison"), c.most, wording.Few(r.alarmed)))
	}
	if c := r.primaries; c.exceeded() {
		wrong = append(wrong, fmt.Sprintf(
			"p is below %.2g in %d of %s of a browser with itself, and chance allows %d: "+
				"runs of one browser are not alike",
			stats.Alpha, c.hits, plural(c.of, "comparison"), c.most))
	}
	if len(wrong) > 0 {
		return errors.New("" + strings.Join(wrong, "; "))
	}
	return nil
}
