//go:build cgo

package render

import (
	"errors"
	"fmt"
	"image"
	"os"

	"gocv.io/x/gocv"
)

const codec = "avc1" // H.264 in MP4, 4:2:0: what every browser plays

// ErrEncoder is wrapped where OpenCV has no H.264 encoder.
var ErrEncoder = errors.New("OpenCV cannot write H.264 here: it lacks its FFmpeg backend or libx264 (apt-get install libopencv-dev libavcodec59)")

// encoder writes pictures as clips of a second or so, and joins them to a movie. While one clip is begun, a goroutine finishes the one
// before, which empties what its encoder still holds; there is one such goroutine at most, and close waits for it.
type encoder struct {
	path    string
	file    *os.File
	movie   *movie
	rate    float64
	size    image.Point
	per     int // pictures of a clip
	writer  *gocv.VideoWriter
	count   int // pictures in it
	clips   int
	pending chan error // of the clip that is being finished; nil for none
}

// newEncoder creates the file, and fails where there is no encoder.
func newEncoder(path string, size image.Point, o VideoOptions) (*encoder, error) {
	num, den, err := units(o.RateNum, o.RateDen)
	if err != nil {
		return nil, err
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	e := &encoder{path: path, file: file, size: size, per: o.keyInterval(), rate: float64(o.RateNum) / float64(o.RateDen)}
	if e.movie, err = newMovie(file, size.X, size.Y, num, den); err == nil {
		err = e.begin()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(path))
	}
	return e, nil
}

// clip returns the name of a clip's file. Two are there at a time.
func (e *encoder) clip(n int) string { return fmt.Sprintf("%s.clip%d.mp4", e.path, n%2) }

func (e *encoder) begin() error {
	name := e.clip(e.clips)
	// OpenCV does not say why it cannot open a file, so that is found out first.
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	writer, err := gocv.VideoWriterFile(name, codec, e.rate, e.size.X, e.size.Y, true)
	if err == nil && !writer.IsOpened() {
		_ = writer.Close()
		err = ErrEncoder
	}
	if err != nil {
		_ = os.Remove(name)
		return err
	}
	e.writer, e.count = writer, 0
	return nil
}

// write appends a picture.
func (e *encoder) write(m gocv.Mat) error {
	if e.count == e.per {
		if err := e.end(); err != nil {
			return err
		}
		if err := e.begin(); err != nil {
			return err
		}
	}
	e.count++
	return e.writer.Write(m)
}

// wait returns what became of the clip that is being finished.
func (e *encoder) wait() error {
	if e.pending == nil {
		return nil
	}
	err := <-e.pending
	e.pending = nil
	return err
}

// end begins to finish the clip.
func (e *encoder) end() error {
	if err := e.wait(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func(w *gocv.VideoWriter, name string, count int) {
		err := w.Close()
		if err == nil && count > 0 {
			err = e.movie.add(name, count)
		}
		done <- errors.Join(err, os.Remove(name))
	}(e.writer, e.clip(e.clips), e.count)
	e.writer, e.pending = nil, done
	e.clips++
	return nil
}

// close finishes the file, or, if what went before has failed, removes it.
func (e *encoder) close(failed error) error {
	err := failed
	if e.writer != nil {
		err = errors.Join(err, e.end())
	}
	err = errors.Join(err, e.wait())
	if e.writer != nil { // end has failed over the clip before
		_ = e.writer.Close()
		_ = os.Remove(e.clip(e.clips))
		e.writer = nil
	}
	if err == nil && len(e.movie.sizes) == 0 {
		err = errors.New("no frames")
	}
	if err == nil {
		err = e.movie.finish()
	}
	err = errors.Join(err, e.file.Close())
	if err != nil {
		_ = os.Remove(e.path)
	}
	return err
}
