package main

import (
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
)

// exportEID writes the selected frames as a recording.
func exportEID(j *job) (string, error) {
	if err := refuseExisting(j.cmd.Output, j.cmd.Force); err != nil {
		return "", err
	}
	out, err := staging.CreateNamed(j.cmd.Output)
	if err != nil {
		return "", err
	}
	err = out.Finish(j.writeEID(out.Name()))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s in %s", plural(j.To-j.From, "frame"), j.cmd.Output), j.warnOfEvents()
}

func (j *job) writeEID(path string) error {
	dst, err := recording.Create(path, recording.Options{OwnClock: j.Reader.Info().OwnClock, Program: program()})
	if err != nil {
		return err
	}
	defer j.writing()()
	err = recorder.Copy(j.ctx, dst, []recorder.Range{{Reader: j.Reader, From: j.From, To: j.To}}, recorder.CopyOptions{
		Edit: j.Edit, NoEvents: j.cmd.NoEvents, Progress: j.Progress,
	})
	return errors.Join(err, dst.Close())
}

// warnOfEvents warns that a redacted recording keeps its events.
func (j *job) warnOfEvents() error {
	if len(j.Edit.Redact) == 0 || j.cmd.NoEvents {
		return nil
	}
	n, err := j.EventCount()
	if err == nil && n > 0 {
		fmt.Fprintf(j.err, "%s kept, which may contain typed text or addresses; omit them with --no-events\n",
			plural(n, "event"))
	}
	return err
}
