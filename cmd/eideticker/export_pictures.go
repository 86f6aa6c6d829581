package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/pattern"
)

func exportRaw(j *job) (string, error) {
	var format frame.Format
	err := j.save(func(ctx context.Context, w io.Writer) (err error) {
		format, err = j.Raw(ctx, w)
		return err
	})
	return fmt.Sprintf("%s of %v in %s", plural(j.To-j.From, "frame"), format, j.cmd.Output), err
}

func exportY4M(j *job) (string, error) {
	return fmt.Sprintf("%s in %s", plural(j.To-j.From, "frame"), j.cmd.Output), j.save(j.Y4M)
}

func exportMP4(j *job) (string, error) {
	const mapEnding = ".json"
	for _, ending := range []string{"", mapEnding} {
		if err := refuseExisting(j.cmd.Output+ending, j.cmd.Force); err != nil {
			return "", err
		}
	}
	out, err := staging.CreateNamed(j.cmd.Output)
	if err != nil {
		return "", err
	}
	defer j.writing()()
	if err := out.Finish(j.MP4(j.ctx, out.Name()), mapEnding); err != nil {
		return "", err
	}
	frames := plural(j.To-j.From, "frame")
	return fmt.Sprintf("%s in %s; %[2]s.json maps its frames", frames, j.cmd.Output), nil
}

// exportPNG writes a picture per frame.
func exportPNG(j *job) (string, error) {
	name, err := pictureNames(j.cmd.Output, j.To-j.From == 1)
	if err != nil {
		return "", err
	}
	for n := j.From; n < j.To; n++ { // before the first is written
		if err := refuseExisting(name(n), j.cmd.Force); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(filepath.Dir(j.cmd.Output), 0o755); err != nil {
		return "", err
	}
	defer j.writing()()
	err = j.Pictures(j.ctx, func(*frame.Layout) error { return nil }, func(n int, _ frame.Meta, img frame.Image) error {
		return writeOut(name(n), j.cmd.Force, func(w io.Writer) error { return render.WritePNG(w, img) })
	})
	if j.To-j.From == 1 {
		return "1 picture in " + name(j.From), err
	}
	return fmt.Sprintf("%s, %s to %s", plural(j.To-j.From, "picture"), name(j.From), name(j.To-1)), err
}

var (
	number  = pattern.New(`%(0[1-9])?d`)
	percent = pattern.New(`%`)
)

// pictureNames returns the file name for each frame's picture.
func pictureNames(out string, single bool) (func(n int) string, error) {
	switch verbs := len(number.FindAllString(out, -1)); {
	case verbs == 1 && len(percent.FindAllString(out, -1)) == 1:
		if strings.Contains(filepath.Dir(out), "%") {
			return nil, usagef("the number in %q must be in the file's name, not in the folder's", out)
		}
		return func(n int) string { return fmt.Sprintf(out, n) }, nil
	case strings.Contains(out, "%"):
		return nil, usagef("name pattern %q: must have one number, such as pictures/%%06d.png", out)
	case single:
		return func(int) string { return out }, nil
	}
	ending := filepath.Ext(out)
	stem := strings.TrimSuffix(out, ending)
	return func(n int) string { return fmt.Sprintf("%s_%06d%s", stem, n, ending) }, nil
}
