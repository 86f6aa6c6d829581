package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/capture/frame"
)

// exportRaw writes the frames' bytes, padding included, as the source delivered them.
func exportRaw(j *job) (string, error) {
	out, err := createOut(j.cmd.Output, j.cmd.Force)
	if err != nil {
		return "", err
	}
	var buf []byte
	var format frame.Format
	err = out.finish(j.pictures(func(l *frame.Layout) error {
		buf, format = make([]byte, l.Size), l.Format
		return nil
	}, func(_ int, _ frame.Meta, img frame.Image) error {
		img.CopyTo(buf)
		_, err := out.Write(buf)
		return err
	}))
	return fmt.Sprintf("%s of %v in %s", plural(j.to-j.from, "frame"), format, j.cmd.Output), err
}

// exportPNG writes a picture per frame.
func exportPNG(j *job) (string, error) {
	name, err := pictureNames(j.cmd.Output, j.to-j.from == 1)
	if err != nil {
		return "", err
	}
	for n := j.from; n < j.to; n++ { // before the first is written
		if err := refuseExisting(name(n), j.cmd.Force); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(filepath.Dir(j.cmd.Output), 0o755); err != nil {
		return "", err
	}
	err = j.pictures(func(*frame.Layout) error { return nil }, func(n int, _ frame.Meta, img frame.Image) error {
		out, err := createOut(name(n), j.cmd.Force)
		if err != nil {
			return err
		}
		return out.finish(render.WritePNG(out, img))
	})
	if j.to-j.from == 1 {
		return "1 picture in " + name(j.from), err
	}
	return fmt.Sprintf("%s, %s to %s", plural(j.to-j.from, "picture"), name(j.from), name(j.to-1)), err
}

var (
	number  = regexp.MustCompile(`%(0[1-9])?d`)
	percent = regexp.MustCompile(`%`)
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
