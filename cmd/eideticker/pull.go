package main

import (
	"fmt"
	"os"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/remote"
	"github.com/eideticker/eideticker/deploy/store"
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
	shown := phases{env: e}
	content, err := remote.Pull(e.ctx, rig, c.ID, folder.Dir(), e.meter, func(run string, done, total int) {
		shown.show("verifying "+run, done, total)
	})
	shown.end()
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
