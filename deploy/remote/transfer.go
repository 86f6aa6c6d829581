package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
	"github.com/eideticker/eideticker/deploy/store"
	"github.com/eideticker/eideticker/deploy/store/runzip"
)

// Meter begins a phase that moves bytes; less than 1: unknown. It returns functions to report moved
// bytes and the end.
type Meter func(phase string, bytes int64) (moved func(bytes int64), end func())

// Pushed is a run that a rig has accepted.
type Pushed struct {
	ID    string // on the rig
	Bytes int64  // of its files
	Known bool   // the rig had it
}

// Push sends the run or the set in a folder to a rig.
func Push(ctx context.Context, rig *client.Client, dir string, meter Meter) (p Pushed, err error) {
	content, err := runzip.Inspect(ctx, dir)
	if err != nil {
		return p, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return p, err
	}
	defer root.Close() // was only read
	if p.Bytes, err = runzip.Size(root); err != nil {
		return p, err
	}
	moved, end := meter(fmt.Sprintf("sending %s, %s", wording.Plural(len(content.Runs), "run"), wording.Bytes(p.Bytes)),
		p.Bytes)
	defer end()
	from, to := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := runzip.Pack(ctx, root, to, moved)
		packed <- err
		to.CloseWithError(err) // nil ends the file
	}()
	p.ID, p.Known, err = rig.Push(ctx, from)
	_ = from.Close() // ends packing if the rig has rejected the run
	if own := <-packed; own != nil && !errors.Is(own, io.ErrClosedPipe) {
		err = own // the cause of an incomplete file
	}
	return p, err
}

// Pull gets a run or a set into an empty folder, checks its files and verifies every frame. The ID
// may be the name of a baseline. verified reports the frames of each run.
func Pull(ctx context.Context, rig *client.Client, id, dir string, meter Meter,
	verified func(run string, done, total int)) (*runzip.Content, error) {
	file, err := os.CreateTemp(dir, ".zip-*")
	if err != nil {
		return nil, err
	}
	err = receive(ctx, rig, id, file, meter)
	if err == nil {
		err = unpack(ctx, file, dir, meter)
	}
	if err := errors.Join(err, file.Close(), os.Remove(file.Name())); err != nil {
		return nil, err
	}
	return runzip.Verify(ctx, dir, store.MaxPixels, verified)
}

func receive(ctx context.Context, rig *client.Client, id string, file *os.File, meter Meter) error {
	moved, end := meter("receiving "+id, -1)
	defer end()
	from, err := rig.Zip(ctx, id)
	if isMissing(err) {
		if run := baseline(ctx, rig, id); run != "" {
			from, err = rig.Zip(ctx, run)
		}
	}
	if err != nil {
		return err
	}
	defer from.Close() // was only read
	n, err := io.Copy(io.MultiWriter(file, meterWriter(moved)), io.LimitReader(from, runzip.MaxBytes+1))
	if err == nil && n > runzip.MaxBytes {
		err = fmt.Errorf("the rig sends more than %s", wording.Bytes(int64(runzip.MaxBytes)))
	}
	return err
}

// meterWriter reports written bytes.
type meterWriter func(bytes int64)

func (m meterWriter) Write(b []byte) (int, error) {
	m(int64(len(b)))
	return len(b), nil
}

// baseline returns the run of a baseline, or "".
func baseline(ctx context.Context, rig *client.Client, name string) string {
	var known api.Baselines
	if err := rig.Call(ctx, "baseline.list", api.Empty{}, &known); err != nil {
		return ""
	}
	for _, b := range known.Baselines {
		if b.Name == name {
			return b.ID
		}
	}
	return ""
}

func unpack(ctx context.Context, file *os.File, dir string, meter Meter) error {
	st, err := file.Stat()
	if err != nil {
		return err
	}
	z, err := runzip.Open(file, st.Size(), runzip.Limits{Bytes: runzip.MaxBytes})
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() // holds no data
	moved, end := meter("unpacking "+wording.Bytes(z.Bytes), z.Bytes)
	defer end()
	return z.Unpack(ctx, root, moved)
}
