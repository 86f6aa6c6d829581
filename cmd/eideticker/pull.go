package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
	"github.com/eideticker/eideticker/deploy/store"
	"github.com/eideticker/eideticker/deploy/store/runzip"
)

type pullCmd struct {
	rigAccess
	ID     string `arg:"" name:"id" help:"ID of a run or set on the rig, or name of a baseline."`
	Rig    string `required:"" placeholder:"URL" help:"Address of the rig, such as https://rig-3:8430."`
	Output string `short:"o" required:"" placeholder:"DIR" help:"New folder of the run or set."`
	JSON   bool   `help:"Print one JSON object."`
}

func (pullCmd) Help() string {
	return `Examples:

  eideticker pull 20261121-201530-framerate-k7f2 -o runs/rig-3 \
      --rig https://rig-3:8430
  eideticker pull release --rig https://rig-3:8430 -o runs/release

All files are checked and every frame is verified before the folder appears.`
}

// pullJSON is what pull --json prints.
type pullJSON struct {
	Run    string   `json:"run"`
	Dir    string   `json:"dir"`
	Runs   []string `json:"runs"`   // folders of runs; "." is the folder itself
	Frames int      `json:"frames"` // compared with their source
}

func (c pullCmd) Run(e *env) error {
	if err := store.CheckID(c.ID); err != nil {
		return usageError{err}
	}
	rig, err := c.open(c.Rig)
	if err != nil {
		return err
	}
	defer rig.Close()
	if _, err := os.Lstat(c.Output); err == nil {
		return fmt.Errorf("%s exists: choose another folder with -o", c.Output)
	}
	folder, err := staging.Begin(c.Output)
	if err != nil {
		return err
	}
	content, err := c.get(e, rig, folder.Dir())
	if err := folder.Finish(err); err != nil {
		return fmt.Errorf("pull %s: %w", c.ID, orInterrupted(err))
	}
	if c.JSON {
		return printJSON(e.out, pullJSON{c.ID, c.Output, content.Runs, content.Frames})
	}
	_, err = fmt.Fprintf(e.out, "%s: %s, %s verified\n", c.Output, plural(len(content.Runs), "run"),
		plural(content.Frames, "frame"))
	return err
}

// get fetches a run into a folder and verifies it.
func (c pullCmd) get(e *env, rig *client.Client, dir string) (*runzip.Content, error) {
	file, err := os.CreateTemp(dir, ".zip-*")
	if err != nil {
		return nil, err
	}
	err = c.fetch(e, rig, file)
	if err == nil {
		err = unpackRun(e, file, dir)
	}
	if err := errors.Join(err, file.Close(), os.Remove(file.Name())); err != nil {
		return nil, err
	}
	shown := phases{env: e}
	defer shown.end()
	return runzip.Verify(e.ctx, dir, store.MaxPixels, func(run string, done, total int) {
		shown.show("verifying "+run, done, total)
	})
}

func (c pullCmd) fetch(e *env, rig *client.Client, file *os.File) error {
	moved := e.bytesPhase("receiving "+c.ID, -1)
	defer moved.end()
	from, err := rig.Zip(e.ctx, c.ID)
	var status *client.StatusError
	if errors.As(err, &status) && status.Status == http.StatusNotFound {
		if id := c.baseline(e.ctx, rig); id != "" {
			from, err = rig.Zip(e.ctx, id)
		}
	}
	if err != nil {
		return err
	}
	defer from.Close() // was only read
	n, err := io.Copy(io.MultiWriter(file, moved), io.LimitReader(from, runzip.MaxBytes+1))
	if err == nil && n > runzip.MaxBytes {
		err = fmt.Errorf("the rig sends more than %s", bytesText(runzip.MaxBytes))
	}
	return err
}

// baseline returns the run of a baseline, or "".
func (c pullCmd) baseline(ctx context.Context, rig *client.Client) string {
	var known api.Baselines
	if err := rig.Call(ctx, "baseline.list", api.Empty{}, &known); err != nil {
		return ""
	}
	for _, b := range known.Baselines {
		if b.Name == c.ID {
			return b.ID
		}
	}
	return ""
}

func unpackRun(e *env, file *os.File, dir string) error {
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
	moved := e.bytesPhase("unpacking "+bytesText(z.Bytes), z.Bytes)
	defer moved.end()
	return z.Unpack(e.ctx, root, moved.add)
}
