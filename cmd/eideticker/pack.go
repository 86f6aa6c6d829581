package main

import (
	"fmt"

	"github.com/eideticker/eideticker/codec/recording"
)

type packCmd struct {
	File  string `arg:"" name:"file" complete:"files" help:"A recording or a run folder."`
	Force bool   `help:"Pack a file again that was packed before."`
	JSON  bool   `help:"Print one JSON object."`
}

func (packCmd) Help() string {
	return `Example:

  eideticker pack desk.eid

Frames, changes, events and results stay the same. The packed file is decoded and compared with the old
one, and then replaces it. Until then the old file is not touched. Ctrl-C ends the command at any time.
A file that was packed before is left as it is, unless you add --force.
Older versions of eideticker read neither packed recordings nor new ones.`
}

// packJSON is what pack --json prints.
type packJSON struct {
	Path        string `json:"path"`
	Packed      bool   `json:"packed"`
	Already     bool   `json:"already_packed"` // it had been packed before and was left
	Frames      int    `json:"frames"`
	BytesBefore int64  `json:"bytes_before"`
	BytesAfter  int64  `json:"bytes_after"`
}

func (c packCmd) Run(e *env) error {
	var err error
	if c.File, err = recordingPath(c.File); err != nil {
		return err
	}
	lowerPriority()
	shown := phases{env: e}
	rep, err := recording.Pack(e.ctx, c.File, c.Force, func(done, total int) {
		shown.show("packing "+c.File, done, total)
	})
	shown.end()
	if err != nil {
		return orInterrupted(err)
	}
	switch {
	case c.JSON:
		return printJSON(e.out, packJSON{c.File, rep.Packed, rep.Already, rep.Frames, rep.Before, rep.After})
	case rep.Already:
		_, err = fmt.Fprintf(e.out, "unchanged  %s, %s, was packed before; use --force to pack it again\n", c.File,
			bytesText(rep.Before))
	case !rep.Packed:
		_, err = fmt.Fprintf(e.out, "unchanged  %s, %s, would not become smaller\n", c.File, bytesText(rep.Before))
	default:
		_, err = fmt.Fprintf(e.out, "packed  %s, %s: %s before, %s after (%.0f %%)\n", c.File,
			plural(rep.Frames, "frame"), bytesText(rep.Before), bytesText(rep.After),
			100*float64(rep.After)/float64(rep.Before))
	}
	return err
}
