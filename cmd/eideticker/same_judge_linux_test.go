package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/session"
)

// sameJudged is what one comparison of a browser with itself came to.
type sameJudged struct {
	sameComparison
	why     string // it does not count; "": it does
	values  []sameValue
	samples []compare.Sample // of both sets
	took    []time.Duration  // of each run

	browsers []string // as they call themselves
}

// sameValue is one value of a comparison that counts.
type sameValue struct {
	key     compare.Key
	family  compare.Family
	primary bool // the first one
	able    bool // other deals of the same runs would have been an alarm
	alarm   bool
	tested  bool
	low     bool // p is below the level, before what makes up for many values and before the threshold
}

// judge goes through all comparisons of a plan; those that were not made do not count.
func (p *samePlan) judge(ctx context.Context) (all []sameJudged) {
	for _, c := range p.Comparisons {
		all = append(all, p.judgeOne(ctx, c))
	}
	return all
}

// judgeOne compares the two sets of a folder as compare does.
func (p *samePlan) judgeOne(ctx context.Context, c sameComparison) sameJudged {
	j := sameJudged{sameComparison: c}
	dir := filepath.Join(p.dir, c.Dir)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		j.why = "not made"
		return j
	}
	var sets [2]*compare.Set
	for i, name := range []string{sameA, sameB} {
		s, err := compare.Load(ctx, filepath.Join(dir, name))
		if err != nil {
			j.why = err.Error()
			return j
		}
		compare.SetThresholds(s, p.test(c.Test).Thresholds)
		sets[i] = s
	}
	j.take(sets[0], sets[1], p.test(c.Test).Primary)
	return j
}

// take compares two sets and keeps what is counted.
func (j *sameJudged) take(a, b *compare.Set, primary []string) {
	cmp, err := compare.Compare(a, b, compare.Options{Declared: primary})
	if err != nil {
		j.why = err.Error()
		return
	}
	j.samples = cmp.Samples()
	j.about(a, b)
	if least := min(len(a.Runs), len(b.Runs)); least < stats.FewestRuns {
		j.why = "only " + plural(least, "run") + " of a set"
		return
	}
	families := map[compare.Family][]stats.Difference{}
	for _, v := range cmp.Values {
		families[v.Family] = append(families[v.Family], v.Difference)
	}
	able := map[compare.Family][]bool{}
	for family, differences := range families {
		able[family] = stats.Detectable(differences)
	}
	for i := range cmp.Values {
		m := &cmp.Values[i]
		j.values = append(j.values, sameValue{
			key: m.Key, family: m.Family, primary: m == cmp.Primary, able: able[m.Family][0], alarm: m.Found(),
			tested: m.Tested, low: m.Tested && m.P < stats.Alpha,
		})
		able[m.Family] = able[m.Family][1:]
	}
}

// about keeps how long the runs took, and which browsers they were of.
func (j *sameJudged) about(sets ...*compare.Set) {
	for _, s := range sets {
		for _, r := range s.Runs {
			if name := cmp.Or(r.Environment[result.EnvBrowser], "unknown"); !slices.Contains(j.browsers, name) {
				j.browsers = append(j.browsers, name)
			}
			if took, ok := runTook(r.Dir); ok {
				j.took = append(j.took, took)
			}
		}
	}
}

// runTook is how long a run took, as its folder says.
func runTook(dir string) (time.Duration, bool) {
	f, err := os.Open(filepath.Join(dir, session.RecordFile))
	if err != nil {
		return 0, false
	}
	defer f.Close() // was only read
	r, err := session.ReadRecord(f)
	if err != nil || r.ElapsedNS <= 0 {
		return 0, false
	}
	return time.Duration(r.ElapsedNS), true
}

func (j *sameJudged) counts() bool { return j.why == "" }

func (j *sameJudged) able() bool {
	return slices.ContainsFunc(j.values, func(v sameValue) bool { return v.able && v.family == compare.PrimaryFamily })
}

// alarms are the primary values that are said to differ. Other families have a level of their own.
func (j *sameJudged) alarms() (names []string) {
	for _, v := range j.values {
		if v.alarm && v.family == compare.PrimaryFamily {
			names = append(names, v.key.String())
		}
	}
	return names
}

// text says in a word what came out.
func (j sameJudged) text() string {
	alarms := j.alarms()
	switch {
	case !j.counts():
		return "does not count: " + j.why
	case len(alarms) > 0:
		return "a false alarm, " + wording.Few(alarms)
	case !j.able():
		return "no verdict was possible"
	}
	return "no alarm"
}
