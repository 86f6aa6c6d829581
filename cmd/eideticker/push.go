package main

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/deploy/remote"
)

type pushCmd struct {
	rigAccess
	Dir  string `arg:"" name:"run-dir" complete:"files" help:"Folder of a run or a set."`
	Rig  string `required:"" placeholder:"URL" help:"Address of the rig, such as https://rig-3:8430."`
	JSON bool   `help:"Print one JSON object."`
}

func (pushCmd) Help() string {
	return `Examples:

  eideticker push out/framerate-20261121-201530 --rig http://localhost:8430
  eideticker push runs/nightly --rig https://rig-3:8430 --token-file ~/.token

The rig checks all files and verifies every frame before it accepts the run. Hidden files are not sent.`
}

// pushJSON is what push --json prints.
type pushJSON struct {
	Run   string `json:"run"` // the ID on the rig
	Rig   string `json:"rig"`
	Bytes int64  `json:"bytes"` // of its files
	Known bool   `json:"known"` // the rig had it
}

func (c pushCmd) Run(e *env) error {
	rig, err := c.open(c.Rig)
	if err != nil {
		return err
	}
	defer rig.Close()
	sent, err := remote.Push(e.ctx, rig, c.Dir, e.meter)
	if err != nil {
		return fmt.Errorf("push %s: %w", c.Dir, orInterrupted(err))
	}
	if c.JSON {
		return printJSON(e.out, pushJSON{sent.ID, c.Rig, sent.Bytes, sent.Known})
	}
	already := ""
	if sent.Known {
		already = " (already there)"
	}
	_, err = fmt.Fprintf(e.out, "%s on %s%s\n", terminal.Clean(sent.ID), c.Rig, already)
	return err
}
