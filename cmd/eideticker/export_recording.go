package main

import (
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
)

// exportEID writes the chosen frames as a recording of their own.
func exportEID(j *job) (string, error) {
	out, err := stage(j.cmd.Output, j.cmd.Force)
	if err != nil {
		return "", err
	}
	err = out.finish(j.writeEID(out.name()))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s in %s", plural(j.to-j.from, "frame"), j.cmd.Output), j.warnOfEvents()
}

func (j *job) writeEID(path string) error {
	dst, err := recording.Create(path, recording.Options{OwnClock: j.reader.Info().OwnClock, Program: program()})
	if err != nil {
		return err
	}
	p := j.phase("writing "+j.cmd.Output, j.to-j.from)
	defer p.end()
	err = recorder.Copy(j.ctx, dst, []recorder.Range{{Reader: j.reader, From: j.from, To: j.to}}, recorder.CopyOptions{
		Edit: j.edit, NoEvents: j.cmd.NoEvents, Progress: p.set,
	})
	return errors.Join(err, dst.Close())
}

// warnOfEvents tells who shares a redacted recording that its events are still whole.
func (j *job) warnOfEvents() error {
	if len(j.edit.Redact) == 0 || j.cmd.NoEvents {
		return nil
	}
	from, to, err := j.times()
	if n := len(j.events(from, to)); err == nil && n > 0 {
		fmt.Fprintf(j.err, "%s kept, which may hold what was typed or loaded; --no-events leaves them out\n",
			plural(n, "event"))
	}
	return err
}
