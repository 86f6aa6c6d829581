package scripts

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// report is the report of a policy.
type report struct {
	policy.Report
	name           string
	points, active int
}

// report feeds the states of the run's policies, and returns their reports. Values of points that
// were not served are dropped, and so are those that no float64 counts exactly.
func (r *Run) report() (all []report) {
	policies, err := policy.Named(strings.Join(r.Info.Policies, ","))
	r.times = err != nil || slices.ContainsFunc(policies, func(p policy.Policy) bool { return p.Times })
	if err != nil {
		return nil // of another version of this program
	}
	states, fields := map[string]policy.State{}, map[string]int{}
	counts := map[string]*report{}
	for _, p := range policies {
		if p.New != nil {
			states[p.Name], fields[p.Name], counts[p.Name] = newState(p), len(p.Fields), &report{name: p.Name}
		}
	}
	known := map[uint32]bool{}
	for _, p := range r.pointed {
		if known[p.FirstPoint] {
			continue // the same text at another place
		}
		known[p.FirstPoint] = true
		for i := range p.Points {
			if of := counts[p.Points[i].Policy]; of != nil {
				if of.points++; !p.Points[i].Off {
					of.active++
				}
			}
		}
	}
	for i, realm := range r.Trace.Realms {
		for _, v := range realm.Values {
			_, p := r.Point(v.Point)
			if p == nil || states[p.Policy] == nil || int(v.Field) >= fields[p.Policy] ||
				math.Abs(v.Number) > result.MaxSpan {
				r.unknownValues++
				continue
			}
			states[p.Policy].Add(policy.Value{Realm: i, Point: v.Point, Field: int(v.Field), Number: v.Number,
				At: int64(realm.When(v.At).Mid())})
		}
	}
	for _, p := range policies {
		if of := counts[p.Name]; of != nil {
			of.Report = states[p.Name].Report(r.pointOf)
			all = append(all, *of)
		}
	}
	return all
}

// pointOf returns a point for a policy. Points that were not served have a number only.
func (r *Run) pointOf(number uint32) policy.Point {
	of := policy.Point{Number: number}
	if p, at := r.Point(number); p != nil {
		of = policy.Point{Number: number, Policy: at.Policy, Name: at.Name, URL: p.URL, Hash: p.Hash, Line: at.Line,
			Column: at.Column, Start: at.Start, End: at.End, Note: at.Note}
	}
	return of
}

// reportsTo adds the reports of policies.
func (r *Run) reportsTo(s *result.Script) {
	for _, from := range r.reports {
		s.Reports = append(s.Reports, reportOf(from, r.pointOf))
	}
	if r.unknownValues > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf(
			"Values that are out of range, or of points that were not served: %d.", r.unknownValues))
	}
}

// reportOf converts a report for results.json.
func reportOf(from report, points func(uint32) policy.Point) result.PolicyReport {
	to := result.PolicyReport{Policy: from.name, Sentence: from.Sentence, Points: from.points, Active: from.active,
		Left: from.Left}
	for _, c := range from.Columns {
		to.Columns = append(to.Columns, result.PolicyColumn{Name: c.Name, Unit: c.Unit})
	}
	for _, row := range from.Rows[:min(len(from.Rows), result.MaxPolicyRows)] {
		p := points(row.Point)
		one := result.PolicyRow{Name: p.Name, URL: p.URL, Line: p.Line, Column: p.Column,
			Verdict: string(row.Verdict), Text: row.Text}
		for _, x := range row.Values {
			one.Values = append(one.Values, min(max(x, -result.MaxSpan), result.MaxSpan))
		}
		to.Rows = append(to.Rows, one)
	}
	return to
}
