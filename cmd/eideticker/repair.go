package main

import (
	"fmt"

	"github.com/eideticker/eideticker/codec/recording"
)

type repairCmd struct {
	File string `arg:"" name:"file" complete:"files" help:"A recording."`
	JSON bool   `help:"Print one JSON object."`
}

func (repairCmd) Help() string {
	return `Example:

  eideticker repair desk.eid

Works in place. It never removes a valid byte, and leaves a complete recording as it is.`
}

// repairJSON is what repair --json prints.
type repairJSON struct {
	Path         string       `json:"path"`
	Repaired     bool         `json:"repaired"`
	Frames       int          `json:"frames"`
	RemovedBytes int64        `json:"removed_bytes"`
	Voided       []damageJSON `json:"voided"`
	Notes        []string     `json:"notes"`
}

func (c repairCmd) Run(e *env) error {
	r, err := recording.Repair(c.File)
	if err != nil {
		return fmt.Errorf("repair %s: %w", c.File, err)
	}
	if c.JSON {
		return printJSON(e.out, repairJSON{c.File, r.Repaired, r.Kept, r.Removed, describeDamage(r.Voided), append([]string{}, r.Notes...)})
	}
	if !r.Repaired {
		_, err := fmt.Fprintf(e.out, "nothing to repair  %s is complete, %s\n", c.File, plural(r.Kept, "frame"))
		return err
	}
	var l list
	l.add("repaired", "%s", c.File)
	l.add("kept", "%s", plural(r.Kept, "frame"))
	l.add("removed", "%s of an unfinished end", bytesText(r.Removed))
	for _, d := range r.Voided {
		l.add("lost", "%s", damageText(d))
	}
	for _, n := range r.Notes {
		l.add("note", "%s", n)
	}
	return l.print(e.out)
}
