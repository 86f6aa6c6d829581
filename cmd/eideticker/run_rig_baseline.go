package main

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/deploy/api"
)

// against compares the runs of each variant with the baseline on the rig, and prints the outcomes.
func (r *remoteRun) against(ctx context.Context, t *testRun) error {
	if r.cmd.Baseline == "" || r.job.State != "ok" {
		return nil
	}
	out := r.out
	if r.cmd.JSON { // it has one object
		out = r.err
	}
	var all []api.Compared
	for i, v := range t.options.Variants {
		runs := t.set.Of(i)
		if len(runs) == 0 || t.options.HasPlain(i) {
			continue
		}
		got, err := r.compare(ctx, runs[0].Dir)
		if err != nil {
			return fmt.Errorf("compare the runs of %s with %s: %w", v.Name(), r.cmd.Baseline, err)
		}
		if _, err := fmt.Fprintf(out, "%s against %s: %s\n", terminal.Clean(v.Name()), terminal.Clean(r.cmd.Baseline),
			terminal.Clean(cmp.Or(got.Sentence, got.Outcome))); err != nil {
			return err
		}
		all = append(all, got)
	}
	if !r.cmd.FailOnRegression {
		return nil
	}
	return worst(all)
}

// compare compares the folder of a run, or a single run, with the rig's baseline for it.
func (r *remoteRun) compare(ctx context.Context, run string) (got api.Compared, err error) {
	id, with := r.job.ID, r.job.ID
	if run = filepath.ToSlash(run); run != "" && run != "." {
		id += "~" + strings.ReplaceAll(run, "/", "~")
		if folder := path.Dir(run); folder != "." {
			with += "~" + strings.ReplaceAll(folder, "/", "~")
		}
	}
	var detail api.RunDetail
	if err := r.client.Call(ctx, "run.get", api.RunID{Run: id}, &detail); err != nil {
		return got, err
	}
	p := api.CompareParams{Base: cmp.Or(detail.Base, r.cmd.Baseline), With: with, Threshold: r.cmd.Threshold.value,
		Primary: strings.Join(r.cmd.Primary, ","), JudgeAll: r.cmd.JudgeAll,
		JudgeUnlike: r.cmd.JudgeUnlike}
	return got, r.client.Call(ctx, "compare", p, &got)
}

// worst returns the error of several comparisons. A regression comes before an inconclusive one.
func worst(all []api.Compared) error {
	var found []error
	for _, c := range all {
		found = append(found, verdictOf(compare.Outcome(c.Outcome), c.Sentence))
	}
	return gravest(found...)
}
