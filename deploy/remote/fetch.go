package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
)

// Bounds of the files of another machine, bytes.
const (
	maxResults = 1 << 30
	maxSet     = 64 << 20
)

// Results are the runs of a job. Options are complete as far as the job describes them.
type Results struct {
	Options session.SetOptions
	Set     *session.Set
}

// Fetch gets records and results of all runs of a job, in a folder with the layout of a set.
func (j *Job) Fetch(ctx context.Context, dir string) (*Results, error) {
	r := &Results{Set: &session.Set{Dir: dir, Single: j.Total == 1}}
	o := &r.Options
	o.Test, o.Seed, o.Dir = &suite.Test{Name: j.Test}, j.Seed, j.ID
	if p := j.Params; p != nil {
		o.Repeat, o.WarmUp, o.UntilFail = p.Repeat, p.WarmUp, p.UntilFail
		for _, name := range p.Variants {
			o.Variants = append(o.Variants, session.Variant{Device: elsewhere(""), Called: name,
				Plain: slices.Contains(p.Plain, name)})
		}
	}
	ids, err := j.made(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the runs of job %s: %w", j.ID, err)
	}
	// compare finds the blocks of a plan by this file, and in the runs' records.
	if err := os.WriteFile(filepath.Join(dir, session.SetFile), []byte("{}\n"), 0o644); err != nil {
		return nil, err
	}
	for _, id := range ids {
		m, err := j.fetchRun(ctx, dir, id)
		if err != nil {
			return nil, fmt.Errorf("get run %s: %w", id, err)
		}
		r.add(m)
	}
	for _, v := range o.Variants {
		of := dir
		if len(o.Variants) > 1 {
			of = filepath.Join(dir, v.Name())
		}
		r.Set.Dirs = append(r.Set.Dirs, of)
	}
	return r, nil
}

// add adds a run to its variant.
func (r *Results) add(m *session.Made) {
	o := &r.Options
	v := session.Variant{Device: elsewhere(m.Record.Device), Browser: m.Record.Browser}
	if n := len(o.Variants); n == 1 {
		v.Called = o.Variants[0].Called
	} else if n > 1 {
		v.Called, _, _ = strings.Cut(filepath.ToSlash(m.Dir), "/")
	}
	at := slices.IndexFunc(o.Variants, func(o session.Variant) bool { return o.Name() == v.Name() })
	if at < 0 {
		at = len(o.Variants)
		o.Variants = append(o.Variants, v)
	}
	v.Plain = o.Variants[at].Plain
	v.Test = &suite.Test{Name: m.Record.Test, Primary: m.Record.Primary}
	m.Variant, o.Variants[at] = at, v
	o.Test.Primary = o.TestOf(0).Primary
	r.Set.Made = append(r.Set.Made, m)
}

// made returns the IDs of the job's runs in their order. A job lists only its last runs, and none
// after a restart.
func (j *Job) made(ctx context.Context) (ids []string, err error) {
	if len(j.Runs) >= max(j.Done, j.ran) {
		for _, made := range j.Runs {
			ids = append(ids, made.Run)
		}
		return ids, nil
	}
	p := api.ListParams{Set: j.ID, Limit: api.MaxLimit}
	for {
		var page api.Runs
		if err := j.rig.Call(ctx, "run.list", p, &page); err != nil {
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

// FetchFurther gets the results of the runs with measuring code, if the job made any. It returns
// the reasons of failed ones.
func (j *Job) FetchFurther(ctx context.Context, dir string) (failed []string, err error) {
	id := j.ID + "~" + session.WhyDir
	var set struct {
		Runs []struct {
			Dir    string        `json:"dir"`
			State  session.State `json:"state"`
			Reason string        `json:"reason"`
		} `json:"runs"`
	}
	raw, err := readFile(ctx, j.rig, id, session.SetFile)
	if isMissing(err) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &set)
	}
	if err != nil {
		return nil, err
	}
	for _, one := range set.Runs {
		switch one.State {
		case session.Passed:
			if _, err := j.fetchRun(ctx, dir, id+"~"+strings.ReplaceAll(one.Dir, "/", "~")); err != nil {
				return failed, err
			}
		case session.Failed:
			failed = append(failed, one.Reason)
		}
	}
	return failed, writeFile(filepath.Join(dir, session.WhyDir), session.SetFile, raw)
}

// fetchRun gets the record and results of a run.
func (j *Job) fetchRun(ctx context.Context, dir, id string) (*session.Made, error) {
	place := strings.TrimPrefix(strings.TrimPrefix(id, j.ID), "~")
	rel := filepath.FromSlash(strings.ReplaceAll(place, "~", "/"))
	if rel != "" && !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("invalid run ID %q", id)
	}
	into := filepath.Join(dir, rel)
	m := &session.Made{Dir: rel}
	body, err := open(ctx, j.rig, id, session.RecordFile)
	if err != nil {
		return nil, err
	}
	m.Record, err = session.ReadRecord(body)
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(m.Record)
	if err == nil {
		err = writeFile(into, session.RecordFile, raw)
	}
	if err != nil {
		return nil, err
	}
	body, err = open(ctx, j.rig, id, result.FileName)
	if isMissing(err) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	kept := filepath.Join(into, result.FileName)
	if err := errors.Join(copyResults(kept, body), body.Close()); err != nil {
		return nil, err
	}
	results, err := result.Read(kept)
	if err == nil {
		m.Found = &runfolder.Found{Results: *results}
	}
	return m, err
}

// open opens a file of a run of a rig, or of a fleet.
func open(ctx context.Context, rig *client.Client, id, name string) (io.ReadCloser, error) {
	if strings.Contains(id, "/") {
		return rig.FleetFile(ctx, id, name)
	}
	return rig.File(ctx, id, name)
}

// readFile returns the record of a set.
func readFile(ctx context.Context, rig *client.Client, id, name string) ([]byte, error) {
	body, err := open(ctx, rig, id, name)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(body, maxSet+1))
	if len(raw) > maxSet {
		err = fmt.Errorf("%s has more than %d MiB", name, maxSet>>20)
	}
	return raw, errors.Join(err, body.Close())
}

func writeFile(dir, name string, content []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), content, 0o644)
}

// copyResults writes the results of a run.
func copyResults(name string, from io.Reader) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, io.LimitReader(from, maxResults))
	return errors.Join(err, file.Close())
}

// isMissing reports whether a rig does not have a file.
func isMissing(err error) bool {
	var status *client.StatusError
	return errors.As(err, &status) && status.Status == http.StatusNotFound
}

// Against compares the folder of a run of the job with a baseline of the rig. A single run is
// compared itself. The sides of the parameters are set here.
func (j *Job) Against(ctx context.Context, baseline, run string, p api.CompareParams) (got api.Compared, err error) {
	id := j.ID
	p.Base, p.With = baseline, j.ID
	if run = filepath.ToSlash(run); run != "" && run != "." {
		id += "~" + strings.ReplaceAll(run, "/", "~")
		if folder := path.Dir(run); folder != "." {
			p.With += "~" + strings.ReplaceAll(folder, "/", "~")
		}
	}
	var detail api.RunDetail
	if err := j.rig.Call(ctx, "run.get", api.RunID{Run: id}, &detail); err != nil {
		return got, err
	}
	if detail.Base != "" {
		p.Base = detail.Base
	}
	return got, j.rig.Call(ctx, "compare", p, &got)
}

// elsewhere is a device of a rig, known by its name.
type elsewhere string

func (e elsewhere) Name() string { return string(e) }

func (elsewhere) Open(context.Context, session.Wanted) (session.Stage, error) {
	return nil, errors.ErrUnsupported
}
