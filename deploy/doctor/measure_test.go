package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const shortly = 50 * time.Millisecond

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
	d, err := measureDisk(t.Context(), dir, shortly, create)
	if err != nil || d.Err != nil {
		t.Fatal(err, d.Err)
	}
	if d.Written < diskBlock || d.Took < shortly || d.Longest <= 0 || d.Longest > d.Took || !d.Direct ||
		d.bytesPerSecond() <= 0 {
		t.Errorf("%+v", d)
	}
	empty(t, dir)
}

// TestDiskIsWrittenInACircle writes far more than may be taken of the disk, for all of the time.
func TestDiskIsWrittenInACircle(t *testing.T) {
	for _, direct := range []bool{false, true} {
		f, err := create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		const circle = 2 * diskBlock
		d := Disk{Direct: direct}
		for duration := shortly; d.Written <= circle; duration *= 2 { // a slow disk needs longer to come round
			if err := d.write(t.Context(), f, circle, duration); err != nil {
				t.Fatal(err)
			}
			if d.Took < duration {
				t.Errorf("ended after %v of %v", d.Took, duration)
			}
		}
		if st, err := f.Stat(); err != nil || st.Size() != circle {
			t.Errorf("%v, %v, want %d bytes", st.Size(), err, circle)
		}
	}
}

// TestFolderWithoutFiles names one that is there and takes none.
func TestFolderWithoutFiles(t *testing.T) {
	d, err := measureDisk(t.Context(), t.TempDir(), shortly, func(path string) (*os.File, error) {
		return nil, &os.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	})
	if err != nil || !errors.Is(d.Err, errNoFiles) {
		t.Errorf("%v, %v", d.Err, err)
	}
	b := good(t)
	b.Disk = d
	if all := b.Examine(); len(find(all, "disk-space")) > 0 || find(all, "disk-speed")[0].Level != Fail {
		t.Errorf("%+v", find(all, "disk-speed"))
	}
}

func TestMeasureDiskWithoutDirect(t *testing.T) {
	dir := t.TempDir()
	d, err := measureDisk(t.Context(), dir, shortly, func(path string) (*os.File, error) {
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
			d, err := measureDisk(t.Context(), tc.dir, shortly, tc.open)
			if err != nil || d.Err == nil || tc.want != nil && !errors.Is(d.Err, tc.want) {
				t.Errorf("%v, %v, want %v", d.Err, err, tc.want)
			}
		})
	}
}

func TestMeasurementsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	_, err := measureDisk(ctx, dir, shortly, func(path string) (*os.File, error) {
		cancel() // while the file is open
		return create(path)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("disk: %v", err)
	}
	empty(t, dir)
	if _, err := measureClock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("clock: %v", err)
	}
}

func TestMeasureClock(t *testing.T) {
	c, err := measureClock(t.Context())
	if err != nil || c.Err != nil {
		t.Fatal(err, c.Err)
	}
	if c.ReadNS <= 0 || c.CallNS <= 0 || c.LateP50 < 0 || c.LateP99 < c.LateP50 || c.LateMax < c.LateP99 {
		t.Errorf("%+v", c)
	}
}
