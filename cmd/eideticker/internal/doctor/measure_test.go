package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

func TestMeasureDisk(t *testing.T) {
	dir := t.TempDir()
	d, err := MeasureDisk(t.Context(), dir, create)
	if err != nil || d.Err != nil {
		t.Fatal(err, d.Err)
	}
	if d.Written < diskBlock || d.Written > diskBytes || d.Took <= 0 || d.Longest <= 0 || d.Longest > d.Took || !d.Direct || d.BytesPerSecond() <= 0 {
		t.Errorf("%+v", d)
	}
	empty(t, dir)
}

func TestMeasureDiskWithoutDirect(t *testing.T) {
	dir := t.TempDir()
	d, err := MeasureDisk(t.Context(), dir, func(path string) (*os.File, error) {
		f, err := create(path) // as a kernel may do: the file is there, and yet refused
		if err != nil {
			return nil, err
		}
		return nil, errors.Join(errors.ErrUnsupported, f.Close())
	})
	if err != nil || d.Err != nil || d.Direct || d.DirectNote == "" || d.Written == 0 {
		t.Errorf("%+v, %v", d, err)
	}
	empty(t, dir)
}

func TestMeasureDiskFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refuse := func(path string) (*os.File, error) {
		return nil, &os.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	for _, tc := range []struct {
		name, dir string
		open      func(string) (*os.File, error)
		want      error
	}{
		{"missing", filepath.Join(t.TempDir(), "missing"), create, fs.ErrNotExist},
		{"refused", t.TempDir(), refuse, fs.ErrPermission},
		{"a file", file, create, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := MeasureDisk(t.Context(), tc.dir, tc.open)
			if err != nil || d.Err == nil || tc.want != nil && !errors.Is(d.Err, tc.want) {
				t.Errorf("%v, %v, want %v", d.Err, err, tc.want)
			}
		})
	}
}

func TestMeasurementsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	_, err := MeasureDisk(ctx, dir, func(path string) (*os.File, error) {
		cancel() // while the file is open
		return create(path)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("disk: %v", err)
	}
	empty(t, dir)
	if _, err := MeasureClock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("clock: %v", err)
	}
}

func TestMeasureClock(t *testing.T) {
	c, err := MeasureClock(t.Context())
	if err != nil || c.Err != nil {
		t.Fatal(err, c.Err)
	}
	if c.ReadNS <= 0 || c.CallNS <= 0 || c.LateP50 < 0 || c.LateP99 < c.LateP50 || c.LateMax < c.LateP99 {
		t.Errorf("%+v", c)
	}
}
