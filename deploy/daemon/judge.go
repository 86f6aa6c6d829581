package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/store"
)

// baseline is what runs are held against.
type baseline struct {
	name        string // by which it was asked for; empty: its ID
	id          string // of a run or a folder of runs
	judgeUnlike bool   // also runs that were not measured alike
}

// checkBaseline returns an error for a wrong baseline of a client. It is looked up again after the
// runs, since the name may then be another run's.
func (d *Daemon) checkBaseline(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	base, err := d.baselineNamed(ctx, name)
	if err == nil {
		_, err = d.store.Path(base.id)
	}
	return StoreError(err)
}

// baselineNamed returns what a name stands for, which is an ID or that of a baseline.
func (d *Daemon) baselineNamed(ctx context.Context, name string) (baseline, error) {
	id, err := d.store.Baseline(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return baseline{id: name}, store.CheckID(name)
	}
	return baseline{name: name, id: id}, err
}

// judge compares the runs of each variant of a set with their baseline, and stores the verdict.
// Plain runs stand for profiled ones. Runs of a schedule with measuring code are not judged. The
// set is complete without it: errors go to the log.
func (d *Daemon) judge(j *job, o session.SetOptions, set *session.Set) {
	if j.start.Origin != nil && j.start.Script != nil {
		return
	}
	for i, dir := range set.Dirs {
		if o.HasPlain(i) {
			continue
		}
		id, err := d.store.ID(dir)
		if err == nil {
			err = d.judgeVariant(j, o, id, i)
		}
		if err != nil && j.context.Err() == nil {
			d.log.Warn("the runs could not be held against a baseline", "job", j.ID, "variant", o.Variants[i].Name(),
				"error", err)
		}
	}
}

func (d *Daemon) judgeVariant(j *job, o session.SetOptions, id string, variant int) error {
	v, t := o.Variants[variant], o.TestOf(variant)
	like := store.Query{Test: t.Name, Device: v.Device.Name(), Browser: v.Browser, State: session.Passed,
		Limit: store.MaxLimit}
	base, err := d.baselineOf(j.context, j.start.Baseline, like, v.Called)
	if err != nil || base.id == "" {
		return err
	}
	base.judgeUnlike = j.start.JudgeUnlike
	_, end := o.Progress.Phase("holding the runs against their baseline", 0)
	defer end()
	return d.holdAgainst(j.context, id, base, t)
}

// baselineOf returns the baseline of runs. Without a name, it is the only one with runs of the same
// test, browser and device. With several such baselines, it returns none. called is the variant's
// name, if it has its own.
func (d *Daemon) baselineOf(ctx context.Context, name string, like store.Query, called string) (baseline, error) {
	if name != "" {
		base, err := d.baselineNamed(ctx, name)
		if err != nil {
			return base, err
		}
		folder, err := d.part(ctx, base.id, like, called)
		base.id = cmp.Or(folder, base.id)
		return base, err
	}
	all, err := d.store.Baselines()
	if err != nil {
		return baseline{}, err
	}
	var found baseline
	for _, name := range slices.Sorted(maps.Keys(all)) {
		folder, err := d.part(ctx, all[name], like, called)
		switch {
		case err != nil:
			return baseline{}, err
		case folder == "" || folder == found.id:
		case found.id != "":
			return baseline{}, fmt.Errorf("baselines %s and %s both have such runs: name one of them", found.name, name)
		default:
			found = baseline{name: name, id: folder}
		}
	}
	return found, nil
}

// part returns the folder in a baseline that has runs like those that are wanted: itself, or that
// of one of its variants. Of several such folders, it returns the variant of the same name.
// Otherwise it returns the only one without profiled runs beside plain ones. Empty is that there
// are none.
func (d *Daemon) part(ctx context.Context, base string, like store.Query, called string) (string, error) {
	var folders []string
	for like.Set = base; ; {
		page, err := d.store.List(ctx, like)
		if err != nil {
			return "", err
		}
		for _, r := range page.Runs {
			if !r.Counts() || r.Browser != like.Browser { // no browser is the device's first, not any
				continue
			}
			folder := base
			if end := strings.LastIndexByte(r.ID, '~'); end > len(base) {
				folder = r.ID[:end]
			}
			if folder == base+"~"+called {
				return folder, nil
			}
			if !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
		if like.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	if len(folders) > 1 {
		profiled, err := d.profiledBesidePlain(base)
		if err != nil {
			return "", err
		}
		folders = slices.DeleteFunc(folders, func(f string) bool { return slices.Contains(profiled, f) })
	}
	if len(folders) != 1 {
		return "", nil
	}
	return folders[0], nil
}

// profiledBesidePlain returns the folders of a set that have profiled runs and plain ones beside
// them.
func (d *Daemon) profiledBesidePlain(set string) (folders []string, err error) {
	dir, err := d.store.Path(set)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, session.SetFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // somebody pushed the set without it
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	pairs, err := compare.PlainPairs(f)
	if err != nil {
		return nil, fmt.Errorf("read the plan of %s: %w", set, err)
	}
	for _, pair := range pairs {
		folders = append(folders, set+"~"+pair[1])
	}
	return folders, nil
}

// holdAgainst compares the runs in a folder with a baseline, as compare does for the test. It
// stores the verdict on its primary values.
func (d *Daemon) holdAgainst(ctx context.Context, id string, base baseline, t *suite.Test) error {
	release, err := d.store.Use(base.id)
	if err != nil {
		return err
	}
	defer release()
	var sets [2]*compare.Set
	for i, of := range []string{base.id, id} {
		dir, err := d.store.Path(of)
		if err != nil {
			return err
		}
		if sets[i], err = compare.Load(ctx, dir); err != nil {
			return err
		}
		sets[i].Path = filepath.Base(dir)
		compare.SetThresholds(sets[i], t.Thresholds)
	}
	c, err := compare.Compare(sets[0], sets[1], compare.Options{Declared: t.Primary, JudgeUnlike: base.judgeUnlike})
	if err != nil {
		return err
	}
	p := c.Deciding()
	v := &store.Verdict{
		Verdict: p.Verdict, Primary: p.Key.String(), Sentence: p.Sentence(), Baseline: base.name, Base: base.id,
		JudgeUnlike: base.judgeUnlike, JudgedWallNS: d.now().UnixNano(),
	}
	if err := d.store.SetVerdict(context.WithoutCancel(ctx), id, v); err != nil {
		return err
	}
	d.log.Info("runs were held against their baseline", "run", id, "verdict", string(v.Verdict), "primary", v.Primary,
		"baseline", cmp.Or(base.name, base.id), "found", v.Sentence)
	return nil
}

// judgeAgain holds runs of which one was measured anew against what they were held against before.
// Where that cannot be, the old verdict is not theirs any more.
func (d *Daemon) judgeAgain(ctx context.Context, run, test string) {
	folder, v, err := d.store.Judged(run)
	if err != nil || folder == "" {
		return
	}
	t := &suite.Test{Name: test}
	if known, e := d.Test(test); e == nil {
		t = known // with its thresholds
	}
	if v != nil {
		err = d.holdAgainst(ctx, folder, baseline{v.Baseline, v.Base, v.JudgeUnlike}, t)
	}
	if v == nil || err != nil {
		d.log.Warn("remeasured runs lose their verdict: comparison failed", "run", folder, "error", err)
		err = d.store.SetVerdict(context.WithoutCancel(ctx), folder, nil)
	}
	if err != nil {
		d.log.Warn("a verdict stays that is not true any more", "run", folder, "error", err)
	}
}
