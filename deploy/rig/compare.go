package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/server"
)

// CompareFolders compares two folders of runs for a client, without their paths.
func CompareFolders(ctx context.Context, base, with string, o server.CompareOptions) (*api.Compared, error) {
	a, err := compare.Load(ctx, base)
	if err != nil {
		return nil, withoutFolders(err, base)
	}
	b, err := compare.Load(ctx, with)
	if err != nil {
		return nil, withoutFolders(err, with)
	}
	a.Path, b.Path = filepath.Base(base), filepath.Base(with)
	options := compare.Options{Primary: o.Primary, JudgeAll: o.JudgeAll, JudgeUnlike: o.JudgeUnlike}
	if o.Test != nil { // as the rig judges runs when they have ended
		compare.SetThresholds(a, o.Test.Thresholds)
		compare.SetThresholds(b, o.Test.Thresholds)
		options.Declared = o.Test.Primary
	}
	if o.Threshold > 0 {
		options.Threshold = &o.Threshold
	}
	cmp, err := compare.Compare(a, b, options)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(cmp.JSON())
	if err != nil {
		return nil, err
	}
	outcome, why := cmp.Outcome()
	return &api.Compared{Outcome: string(outcome), Sentence: why, Comparison: raw}, nil
}

// withoutFolders replaces folders in an error by the IDs of runs.
func withoutFolders(err error, dir string) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return errors.New("timeout")
	}
	if file := (*os.PathError)(nil); errors.As(err, &file) {
		return fmt.Errorf("the runs cannot be read: %w", file.Err)
	}
	if _, e := os.Stat(filepath.Join(dir, result.FileName)); errors.Is(e, fs.ErrNotExist) &&
		strings.Contains(err.Error(), result.FileName) {
		return fmt.Errorf("%s has no results; make them with analyze.start", filepath.Base(dir))
	}
	return errors.New(strings.ReplaceAll(err.Error(), filepath.Dir(dir)+string(filepath.Separator), ""))
}
