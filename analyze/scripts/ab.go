package scripts

import (
	"net/url"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// CompareAB joins the A/B tests of several runs. Each run is a load with one version. Nil: no run
// has an A/B test.
func CompareAB(runs []*result.Script) *result.PolicyReport {
	type function struct {
		name, url    string
		line, column int
	}
	all, err := policy.Named(policy.NameAB)
	if err != nil {
		return nil
	}
	state, numbers := newState(all[0]), map[function]uint32{}
	var functions []policy.Point
	has := false
	for i, run := range runs {
		if run == nil {
			continue
		}
		for _, r := range run.Reports {
			has = has || r.Policy == policy.NameAB
			for _, row := range r.Rows {
				if r.Policy != policy.NameAB {
					break
				}
				of := function{row.Name, withoutPort(row.URL), row.Line, row.Column}
				n, known := numbers[of]
				if !known {
					n = uint32(len(functions))
					numbers[of] = n
					functions = append(functions, policy.Point{Number: n, Name: row.Name, URL: row.URL, Line: row.Line,
						Column: row.Column})
				}
				for field, x := range policy.ABRun(row.Values) {
					state.Add(policy.Value{Realm: i, Point: n, Field: field, Number: x})
				}
			}
		}
	}
	if !has {
		return nil
	}
	find := func(n uint32) policy.Point { return functions[n] }
	joined := reportOf(report{Report: state.Report(find), name: policy.NameAB}, find)
	joined.Fill()
	return &joined
}

// withoutPort removes the port of a URL. Pages of this program have another one in each run.
func withoutPort(of string) string {
	u, err := url.Parse(of)
	if err != nil {
		return of
	}
	u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	return u.String()
}
