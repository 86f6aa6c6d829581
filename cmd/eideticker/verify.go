package main

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/codec/recording"
)

type verifyCmd struct {
	File string `arg:"" name:"file" complete:"files" help:"A recording or a run folder."`
	JSON bool   `help:"Print one JSON object."`
}

func (verifyCmd) Help() string {
	return `Example:

  eideticker verify desk.eid

Each decoded frame is compared with its source hash. The exit code is 1 if anything is wrong.`
}

// verifyJSON is what verify --json prints.
type verifyJSON struct {
	Path     string          `json:"path"`
	OK       bool            `json:"ok"`
	Frames   int             `json:"frames"`
	Checked  int             `json:"checked_frames"`
	Bytes    int64           `json:"bytes"`
	Problems []export.Damage `json:"problems"` // damage
}

// verify verifies a recording and shows progress.
func verify(e *env, file string) (recording.VerifyReport, error) {
	shown := phases{env: e}
	defer shown.end()
	return recording.Verify(e.ctx, file, func(done, total int) { shown.show("verifying "+file, done, total) })
}

func (c verifyCmd) Run(e *env) error {
	var err error
	if c.File, err = recordingPath(c.File); err != nil {
		return err
	}
	report, err := verify(e, c.File)
	if err != nil {
		return fmt.Errorf("verify %s: %w", c.File, orInterrupted(err))
	}
	if err := c.print(e, report); err != nil {
		return err
	}
	if n := len(report.Problems); n > 0 {
		return fmt.Errorf("verify %s: %s found, the first at offset %d: %s", c.File, plural(n, "problem"),
			report.Problems[0].Offset, report.Problems[0].What)
	}
	return nil
}

func (c verifyCmd) print(e *env, r recording.VerifyReport) error {
	if c.JSON {
		return printJSON(e.out, verifyJSON{c.File, len(r.Problems) == 0, r.Frames, r.Checked, r.Bytes,
			export.NewDamage(r.Problems)})
	}
	if len(r.Problems) > 0 {
		var l terminal.List
		addDamage(&l, "problem", r.Problems)
		return l.Print(e.out)
	}
	_, err := fmt.Fprintf(e.out, "ok  %s, %s decoded and verified, %s read\n", c.File,
		plural(r.Checked, "frame"), bytesText(r.Bytes))
	return err
}
