package main

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/codec/recording"
)

type repairCmd struct {
	File string `arg:"" name:"file" complete:"files" help:"A recording."`
	JSON bool   `help:"Print one JSON object."`
}

func (repairCmd) Help() string {
	return `Example:

  eideticker repair desk.eid

Valid bytes are never removed, and complete recordings are not changed. A repaired recording is verified.
Remaining problems are listed, and the exit code is then 1.`
}

// repairJSON is what repair --json prints.
type repairJSON struct {
	Path         string          `json:"path"`
	Repaired     bool            `json:"repaired"`
	Frames       int             `json:"frames"`
	RemovedBytes int64           `json:"removed_bytes"` // at the end of the file
	Voided       []export.Damage `json:"voided"`        // damage
	Notes        []string        `json:"notes"`
	Problems     []export.Damage `json:"problems"`
}

func (c repairCmd) Run(e *env) error {
	r, err := recording.Repair(c.File)
	if err != nil {
		return fmt.Errorf("repair %s: %w", c.File, err)
	}
	var left []recording.Damage
	if r.Repaired {
		after, err := verify(e, c.File)
		if err != nil {
			return fmt.Errorf("verify %s after repair: %w", c.File, orInterrupted(err))
		}
		left = after.Problems
	}
	if err := c.print(e, r, left); err != nil || len(left) == 0 {
		return err
	}
	return fmt.Errorf("repair %s: %s left, the first at offset %d: %s", c.File, plural(len(left), "problem"),
		left[0].Offset, left[0].What)
}

func (c repairCmd) print(e *env, r recording.RepairReport, left []recording.Damage) error {
	if c.JSON {
		return printJSON(e.out, repairJSON{c.File, r.Repaired, r.Kept, r.Removed, export.NewDamage(r.Voided),
			append([]string{}, r.Notes...), export.NewDamage(left)})
	}
	if !r.Repaired {
		_, err := fmt.Fprintf(e.out, "nothing to repair  %s is complete, %s; eideticker verify checks every byte\n",
			c.File, plural(r.Kept, "frame"))
		return err
	}
	var l terminal.List
	l.Add("repaired", "%s", c.File)
	l.Add("kept", "%s", plural(r.Kept, "frame"))
	l.Add("removed", "%s of an unfinished end", bytesText(r.Removed))
	for _, d := range r.Voided {
		l.Add("lost", "%s", d.String())
	}
	for _, n := range r.Notes {
		l.Add("note", "%s", n)
	}
	addDamage(&l, "still wrong", left)
	return l.Print(e.out)
}
