package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
)

// show prints the results of the rig like those of local runs.
func (r *remoteRun) show() error {
	dir, err := os.MkdirTemp("", "eideticker-run-*")
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.ctx)
	if err := r.client.Call(ctx, "job.get", api.JobID{Job: r.job.ID}, &r.job); err != nil && r.ctx.Err() == nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	t := &testRun{env: r.env, cmd: r.cmd, at: strings.TrimSuffix(r.cmd.Rig, "/") + "/#/runs/"}
	if r.cmd.Baseline != "" { // the baseline decides
		t.cmd.FailOnRegression = false
	}
	var verdict verdictError
	if err = r.fetch(ctx, t, dir); err == nil {
		err = t.tell()
	}
	if err == nil || errors.As(err, &verdict) {
		err = gravest(err, r.against(ctx, t))
	}
	return errors.Join(r.outcome(err, len(t.set.Made)), os.RemoveAll(dir))
}

// outcome returns the error of a job that did not finish, else the error of its runs.
func (r *remoteRun) outcome(told error, made int) error {
	j := &r.job
	var verdict verdictError
	switch {
	case told == nil && j.State == "ok" && made == 0:
		return errors.New("the job made no run")
	case j.EndedWallNS == 0 || j.State == "ok":
		return told
	case told != nil && j.State == "failed" && !errors.As(told, &verdict):
		return told // the failure of its runs
	}
	text := fmt.Sprintf("the job ended as %s after %s", j.State, plural(max(j.Done, r.told), "run"))
	if j.Reason != "" {
		text += ": " + j.Reason
	}
	return errors.New(text)
}

// made returns the IDs of the job's runs in their order. A job lists only its last runs, and none
// after a restart.
func (r *remoteRun) made(ctx context.Context) (ids []string, err error) {
	if len(r.job.Runs) >= max(r.job.Done, r.told) {
		for _, made := range r.job.Runs {
			ids = append(ids, made.Run)
		}
		return ids, nil
	}
	p := api.ListParams{Set: r.job.ID, Limit: api.MaxLimit}
	for {
		var page api.Runs
		if err := r.client.Call(ctx, "run.list", p, &page); err != nil {
			return nil, err
		}
		for i := range page.Runs {
			if page.Runs[i].State != string(session.Running) {
				ids = append(ids, page.Runs[i].ID)
			}
		}
		if p.Cursor = page.Next; p.Cursor == "" {
			slices.Reverse(ids)
			return ids, nil
		}
	}
}

// fetch gets the results of a job into a folder with the layout of a set.
func (r *remoteRun) fetch(ctx context.Context, t *testRun, dir string) error {
	t.options.Test = &suite.Test{Name: r.job.Test}
	t.options.Seed, t.options.Dir = r.job.Seed, r.job.ID
	if p := r.job.Params; p != nil {
		t.options.Repeat, t.options.WarmUp, t.options.UntilFail = p.Repeat, p.WarmUp, p.UntilFail
		for _, name := range p.Variants {
			t.options.Variants = append(t.options.Variants, session.Variant{Device: elsewhere(""), Called: name,
				Plain: slices.Contains(p.Plain, name)})
		}
	}
	t.set = &session.Set{Dir: dir, Single: r.job.Total == 1}
	ids, err := r.made(ctx)
	if err != nil {
		return fmt.Errorf("list the runs of job %s: %w", r.job.ID, err)
	}
	// compare finds the blocks of a plan by this file, and in the runs' records.
	if err := os.WriteFile(filepath.Join(dir, session.SetFile), []byte("{}\n"), 0o644); err != nil {
		return err
	}
	for _, id := range ids {
		m, v, err := r.fetchRun(ctx, dir, id)
		if err != nil {
			return fmt.Errorf("get run %s: %w", id, err)
		}
		if n := len(t.options.Variants); n == 1 {
			v.Called = t.options.Variants[0].Called
		} else if n > 1 {
			v.Called, _, _ = strings.Cut(filepath.ToSlash(m.Dir), "/")
		}
		at := slices.IndexFunc(t.options.Variants, func(o session.Variant) bool { return o.Name() == v.Name() })
		if at < 0 {
			at = len(t.options.Variants)
			t.options.Variants = append(t.options.Variants, v)
		}
		v.Plain = t.options.Variants[at].Plain
		v.Test = &suite.Test{Name: m.Record.Test, Primary: m.Record.Primary}
		m.Variant, t.options.Variants[at] = at, v
		t.options.Test.Primary = t.options.TestOf(0).Primary
		t.set.Made = append(t.set.Made, m)
	}
	for _, v := range t.options.Variants {
		of := dir
		if len(t.options.Variants) > 1 {
			of = filepath.Join(dir, v.Name())
		}
		t.set.Dirs = append(t.set.Dirs, of)
	}
	if !r.cmd.WhyChanged {
		return nil
	}
	if err := r.fetchFurther(ctx, dir); err != nil { // the plain runs decide
		fmt.Fprintf(r.err, "the change is not explained: %v\n", err)
	}
	return nil
}

// fetchFurther gets the results of the runs with measuring code, if the job made any.
func (r *remoteRun) fetchFurther(ctx context.Context, dir string) error {
	id := r.job.ID + "~" + session.WhyDir
	body, err := r.file(ctx, id, session.SetFile)
	var status *client.StatusError
	if errors.As(err, &status) && status.Status == 404 {
		return nil
	}
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(body, maxResults))
	var further struct {
		Runs []struct {
			Dir    string        `json:"dir"`
			State  session.State `json:"state"`
			Reason string        `json:"reason"`
		} `json:"runs"`
	}
	if err = errors.Join(err, body.Close()); err == nil {
		err = json.Unmarshal(raw, &further)
	}
	if err != nil {
		return err
	}
	for _, one := range further.Runs {
		switch one.State {
		case session.Passed:
			if _, _, err := r.fetchRun(ctx, dir, id+"~"+strings.ReplaceAll(one.Dir, "/", "~")); err != nil {
				return err
			}
		case session.Failed:
			fmt.Fprintf(r.err, "a further run failed: %s\n", terminal.Clean(one.Reason))
		}
	}
	why := filepath.Join(dir, session.WhyDir)
	return errors.Join(os.MkdirAll(why, 0o755), os.WriteFile(filepath.Join(why, session.SetFile), raw, 0o644))
}

// file opens a file of a run of the rig, or of a fleet.
func (r *remoteRun) file(ctx context.Context, id, name string) (io.ReadCloser, error) {
	if strings.Contains(id, "/") {
		return r.client.FleetFile(ctx, id, name)
	}
	return r.client.File(ctx, id, name)
}

// fetchRun gets the record and results of a run.
func (r *remoteRun) fetchRun(ctx context.Context, dir, id string) (*session.Made, session.Variant, error) {
	place := strings.TrimPrefix(strings.TrimPrefix(id, r.job.ID), "~")
	rel := filepath.FromSlash(strings.ReplaceAll(place, "~", "/"))
	if rel != "" && !filepath.IsLocal(rel) {
		return nil, session.Variant{}, fmt.Errorf("invalid run ID %q", id)
	}
	into := filepath.Join(dir, rel)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return nil, session.Variant{}, err
	}
	m := &session.Made{Dir: rel}
	body, err := r.file(ctx, id, session.RecordFile)
	if err != nil {
		return nil, session.Variant{}, err
	}
	m.Record, err = session.ReadRecord(body)
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, session.Variant{}, err
	}
	raw, err := json.Marshal(m.Record)
	if err == nil {
		err = os.WriteFile(filepath.Join(into, session.RecordFile), raw, 0o644)
	}
	if err != nil {
		return nil, session.Variant{}, err
	}
	v := session.Variant{Device: elsewhere(m.Record.Device), Browser: m.Record.Browser}
	return m, v, r.fetchResults(ctx, into, id, m)
}

// fetchResults gets a run's results, if it has any.
func (r *remoteRun) fetchResults(ctx context.Context, into, id string, m *session.Made) error {
	body, err := r.file(ctx, id, result.FileName)
	var status *client.StatusError
	if errors.As(err, &status) && status.Status == 404 {
		return nil
	}
	if err != nil {
		return err
	}
	file := filepath.Join(into, result.FileName)
	out, err := os.Create(file)
	if err == nil {
		_, err = io.Copy(out, io.LimitReader(body, maxResults))
		err = errors.Join(err, out.Close())
	}
	if err = errors.Join(err, body.Close()); err != nil {
		return err
	}
	results, err := result.Read(file)
	if err == nil {
		m.Found = &runfolder.Found{Results: *results}
	}
	return err
}

// maxResults bounds the size of results, bytes.
const maxResults = 1 << 30

// elsewhere is a device of a rig, known by its name.
type elsewhere string

func (e elsewhere) Name() string { return string(e) }

func (elsewhere) Open(context.Context, session.Wanted) (session.Stage, error) {
	return nil, errors.ErrUnsupported
}
