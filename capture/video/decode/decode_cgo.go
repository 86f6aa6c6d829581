//go:build cgo

// Package decode reads video files with FFmpeg's libraries, for capture/video. Only
// eideticker-media imports it.
package decode

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"slices"

	"github.com/eideticker/eideticker/capture/video/media"
)

// Serve decodes a file. It writes the information, the packets' times, the frames and the end.
func Serve(c *media.Conn, detail json.RawMessage) error {
	var job media.DecodeJob
	if err := json.Unmarshal(detail, &job); err != nil {
		return err
	}
	go func() { // a damaged file may keep FFmpeg busy for long
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	d := open(job.Path)
	if d == nil {
		return c.WriteJSON(media.Info, media.Decoding{})
	}
	defer d.close()
	times := readTimes(job.Path)
	if len(times.ticks) > 0 {
		d.origin = slices.Min(times.ticks)
	}
	info := d.info()
	info.Ticks, info.BaseNum, info.BaseDen = int64(len(times.ticks)), times.num, times.den
	if err := c.WriteJSON(media.Info, info); err != nil {
		return err
	}
	for ticks := times.ticks; len(ticks) > 0; {
		n := min(len(ticks), media.MaxTicks)
		b, err := binary.Append(nil, binary.LittleEndian, ticks[:n])
		if err == nil {
			err = c.Write(media.Times, b)
		}
		if err != nil {
			return err
		}
		ticks = ticks[n:]
	}
	return frames(c, d)
}

// frames decodes one frame ahead, so that each is sent with the knowledge whether another follows.
func frames(c *media.Conn, d *decoder) error {
	more, err := d.next()
	for more && err == nil {
		head, pix, failed := d.picture()
		if failed != nil {
			return failed
		}
		if more, err = d.next(); err != nil {
			return err
		}
		head.More = more
		err = c.WriteHead(media.Frame, head, pix)
	}
	if err == nil {
		err = c.Write(media.End)
	}
	if err != nil {
		return err
	}
	return c.Flush()
}

func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
