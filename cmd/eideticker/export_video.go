package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/analyze/render"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/raw"
)

// exportY4M writes the frames behind a Y4M header. Formats that Y4M has no name for are refused by
// it.
func exportY4M(j *job) (string, error) {
	out, err := createOut(j.cmd.Output, j.cmd.Force)
	if err != nil {
		return "", err
	}
	var y4m *raw.Y4MWriter
	err = j.pictures(func(l *frame.Layout) error {
		rateNum, rateDen, err := j.rate()
		if err != nil {
			return err
		}
		y4m, err = raw.NewY4MWriter(out, l.Format, rateDen, rateNum, j.y4mHeader())
		return err
	}, func(_ int, _ frame.Meta, img frame.Image) error { return y4m.WriteFrame(img) })
	err = out.finish(err)
	return fmt.Sprintf("%s in %s", plural(j.to-j.from, "frame"), j.cmd.Output), err
}

// y4mHeader returns the header that the frames came with, which makes a stream that was recorded
// the same again to the byte. A part of the picture needs one of its own.
func (j *job) y4mHeader() string {
	for _, m := range j.reader.Metadata() {
		var header string
		if m.Name == raw.HeaderMetadata && j.edit.Cut == nil && j.from == 0 && json.Unmarshal(m.Value, &header) == nil {
			return header
		}
	}
	return ""
}

// defaultRate is written where a recording does not know its own.
const defaultRate = 60

// rate returns frames a second as num/den: the nominal rate of the segment that the chosen frames
// stand in, or else the measured one. Videos have one rate, so those of several are refused.
func (j *job) rate() (num, den int64, err error) {
	num, den = defaultRate, 1
	for i, s := range j.segments() {
		n, d := runfolder.Rate(s)
		if n == 0 {
			n, d = defaultRate, 1
		}
		if i > 0 && n*den != num*d {
			return 0, 0, fmt.Errorf("frames %d:%d change from %.6g to %.6g frames/s at %d; select frames of one rate with --frames",
				j.from, j.to, float64(num)/float64(den), float64(n)/float64(d), s.First)
		}
		num, den = n, d
	}
	return num, den, nil
}

// exportMP4 writes a video in which each captured frame stands for one frame, and missing ones are
// shown as missing.
func exportMP4(j *job) (string, error) {
	const mapEnding = ".json"
	out, err := stage(j.cmd.Output, j.cmd.Force, mapEnding)
	if err != nil {
		return "", err
	}
	if err := out.finish(j.video(out.name()), mapEnding); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s in %s; %s.json tells which frame is which", plural(j.to-j.from, "frame"), j.cmd.Output,
		j.cmd.Output), nil
}

func (j *job) video(path string) error {
	var v *render.Video
	err := j.pictures(func(l *frame.Layout) error {
		num, den, err := j.rate()
		if err != nil {
			return err
		}
		v, err = render.NewVideo(path, l, render.VideoOptions{RateNum: num, RateDen: den})
		return err
	}, func(n int, m frame.Meta, img frame.Image) error {
		return v.Add(img, render.Slot{Frame: n, Sequence: m.Sequence, Time: m.Sampled.Mid()})
	})
	if v != nil {
		err = errors.Join(err, v.Close())
	}
	return err
}
