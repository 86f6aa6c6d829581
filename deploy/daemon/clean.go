package daemon

import (
	"cmp"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/store/unused"
)

// Clean lists or removes archives of sites, traces and caches.
func (d *Daemon) Clean(p api.CleanParams) (api.Cleaned, error) {
	if p.AgeNS < 0 || p.MaxBytes < 0 {
		return api.Cleaned{}, api.Errorf(api.InvalidParams, "age_ns and max_bytes must be positive")
	}
	done, err := Clean(d.options.Dir, d.options.Retain.UnusedAge, p)
	if err != nil {
		return done, api.Errorf(api.Failed, "%v", err)
	}
	return done, nil
}

// Clean lists or removes unused files of a data directory. usual is their age if none is asked for.
func Clean(dir string, usual time.Duration, p api.CleanParams) (api.Cleaned, error) {
	old, left, err := unused.Clean(dir, unused.Options{Age: cmp.Or(time.Duration(p.AgeNS), usual), Bytes: p.MaxBytes,
		Limit: p.MaxBytes > 0, Remove: p.Remove})
	done := api.Cleaned{Removed: p.Remove, LeftBytes: left, Files: []api.UnusedFile{}}
	for _, f := range old {
		done.Files = append(done.Files, api.UnusedFile{Name: f.Name, Bytes: f.Bytes, UsedWallNS: f.Used.UnixNano(),
			Why: f.Why})
	}
	return done, err
}
