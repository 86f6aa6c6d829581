package session

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/harm"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/plan"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// planned is the plan of a run's scripts. A nil one measures all functions.
type planned struct {
	plan   *plan.Plan
	choice *plan.Choice
	plain  bool // this load has no insertions in scripts
	off    bool // no policy that changes scripts is left
	meta   bool
	report plan.Report
}

// readPlan reads the plan that the test asks for, or begins one. A file that cannot be used is
// replaced, with a note.
func (r *run) readPlan() error {
	s := r.Test.Script
	if !s.Given() || !s.Planned() && (!r.Meta || r.WarmUp) {
		return nil
	}
	share := 0.0
	if s.Share != nil {
		share = float64(*s.Share) / 100
	}
	seed := uint64(s.Seed)
	p, err := plan.New(s.Adapt, share, cmp.Or(seed, r.Seed))
	if err != nil {
		return fmt.Errorf("plan of scripts: %w", err)
	}
	if p, err = ContinuePlan(r.Plan, p, s.Seed != 0); err != nil {
		r.note("%s was not used: %v", plan.File, staging.WithoutPath(err))
	}
	all, err := policiesOf(r.Test)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(one policy.Policy) bool { return p.IsOff(one.Name) })
	off := len(p.Off) > 0 && !slices.ContainsFunc(all, changes)
	r.plan = &planned{plan: p, choice: p.Next(), meta: r.Meta, plain: r.Meta && p.Plain() || off, off: off}
	for _, o := range p.Off {
		r.note("a policy stays off: %s", o)
	}
	switch {
	case off:
		r.note("the scripts are not instrumented, since all policies that change them are off")
	case r.plan.plain:
		r.note("the scripts of this run stay plain, for comparison")
	}
	return nil
}

// ContinuePlan returns the plan of a file if it adapts as a new one does. With sameSeed, its seed
// must be the same, too. Otherwise it returns the new one. The error is that of an invalid file.
func ContinuePlan(path string, p *plan.Plan, sameSeed bool) (*plan.Plan, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	var kept *plan.Plan
	if err == nil {
		kept, err = plan.Read(file)
		err = errors.Join(err, file.Close())
	}
	if err != nil || kept.Adapt != p.Adapt || kept.Share != p.Share || sameSeed && kept.Seed != p.Seed {
		return p, err
	}
	return kept, nil
}

// WritePlan writes a plan as a whole.
func WritePlan(path string, p *plan.Plan) error {
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return fmt.Errorf("write %s: %w", plan.File, err)
	}
	return staging.WriteFile(path, text.Bytes(), 0o644)
}

// changes reports whether a policy changes scripts.
func changes(p policy.Policy) bool { return p.Times || len(p.Points) > 0 }

// policies returns those of the load. A plain load has only those that do not change scripts.
func (p *planned) policies(all []policy.Policy) []policy.Policy {
	all = slices.DeleteFunc(slices.Clone(all), func(one policy.Policy) bool { return p.plan.IsOff(one.Name) })
	if !p.meta && !p.plain {
		return all
	}
	kept, err := policy.Named("errors") // loads are compared by their errors
	if err != nil {
		panic(err) // it exists
	}
	for _, one := range all {
		if one.Name != "errors" && !(p.plain && changes(one)) {
			kept = append(kept, one)
		}
	}
	return kept
}

func (p *planned) choose(o *instrument.Options) {
	if p == nil || p.plain {
		return
	}
	if p.plan.Share > 0 { // it replaces the policies' own
		o.Active = p.choice.Active
	}
	if gates, live := p.choice.Gates(); gates && !p.plan.IsOff("calls") {
		o.Gate, o.Live = p.choice.Gate, live
	}
}

// updatePlan adds a load to its plan and writes it. Loads that failed teach nothing.
func (r *run) updatePlan(s *scripts.Run, ok bool) error {
	if r.plan == nil || s == nil || !ok || r.WarmUp && !r.Test.Script.Planned() {
		return nil
	}
	p := r.plan.plan
	r.plan.report = p.Update(s.Load(r.plan.plain))
	if !r.plan.plain {
		p.Spend(slices.DeleteFunc(s.Costs(), func(c plan.Cost) bool {
			all, err := policy.Named(c.Policy)
			return err != nil || !changes(all[0])
		}))
	}
	if r.plan.meta && !r.WarmUp && len(p.On()) > 0 {
		if look := harm.Add(&p.Trial, s.Past(r.plan.plain)); look != nil {
			if found := look(); found.Reason != "" {
				r.note("later runs are without policy %s", harm.SwitchOff(p, found))
			}
		}
	}
	if n := r.plan.report.Unknown; n > 0 {
		r.note("functions with calls that the plan cannot use: %d", n)
	}
	if err := os.MkdirAll(filepath.Dir(r.Plan), 0o755); err != nil {
		return err
	}
	return WritePlan(r.Plan, p)
}

const maxOff = 4000 // bytes

// results returns the part of results.json.
func (p *planned) results() *result.ScriptPlan {
	if p == nil {
		return nil
	}
	r := p.report
	var off []string
	for _, o := range p.plan.Off {
		off = append(off, o.String())
	}
	return &result.ScriptPlan{Adapt: p.plan.Adapt, Probability: p.plan.Share, Points: r.Points, Active: r.Active,
		Slow: r.Slow, Share: r.Tested, Loads: p.plan.Count, Needed: r.Needed, Stable: p.plan.Stable, Plain: p.plain,
		Dropped: p.plan.Dropped, Off: cut(strings.Join(off, "; "), maxOff)}
}
