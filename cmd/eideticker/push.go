package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/deploy/store/runzip"
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
	content, err := runzip.Inspect(e.ctx, c.Dir)
	if err != nil {
		return fmt.Errorf("push %s: %w", c.Dir, orInterrupted(err))
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return err
	}
	defer root.Close() // was only read
	size, err := runzip.Size(root)
	if err != nil {
		return fmt.Errorf("push %s: %w", c.Dir, err)
	}
	moved := e.bytesPhase(fmt.Sprintf("sending %s, %s", plural(len(content.Runs), "run"), bytesText(size)), size)
	defer moved.end()
	from, to := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := runzip.Pack(e.ctx, root, to, moved.add)
		packed <- err
		to.CloseWithError(err) // nil ends the file
	}()
	id, known, err := rig.Push(e.ctx, from)
	_ = from.Close() // ends packing if the rig has rejected the run
	if own := <-packed; own != nil && !errors.Is(own, io.ErrClosedPipe) {
		err = own // the cause of an incomplete file
	}
	if err != nil {
		return fmt.Errorf("push %s: %w", c.Dir, orInterrupted(err))
	}
	moved.end()
	if c.JSON {
		return printJSON(e.out, pushJSON{id, c.Rig, size, known})
	}
	already := ""
	if known {
		already = " (already there)"
	}
	_, err = fmt.Fprintf(e.out, "%s on %s%s\n", terminal.Clean(id), c.Rig, already)
	return err
}
