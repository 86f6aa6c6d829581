//go:build cgo

// Package decode reads video files with OpenCV's FFmpeg backend, for capture/video. Only
// eideticker-media imports it.
package decode

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"strings"

	"gocv.io/x/gocv"

	"github.com/eideticker/eideticker/capture/video/media"
)

// Properties that gocv v0.31.0 has no names for (opencv2/videoio.hpp).
const (
	orientationMeta gocv.VideoCaptureProperties = 48
	orientationAuto gocv.VideoCaptureProperties = 49
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
	v, err := gocv.OpenVideoCaptureWithAPI(job.Path, gocv.VideoCaptureFFmpeg)
	if err != nil {
		return c.WriteJSON(media.Info, media.Decoding{})
	}
	defer v.Close()
	v.Set(orientationAuto, 0)
	times := readTimes(job.Path)
	info := media.Decoding{
		Opened: true, Codec: strings.ToValidUTF8(strings.TrimRight(v.CodecString(), "\x00"), "?"),
		Width: finite(v.Get(gocv.VideoCaptureFrameWidth)), Height: finite(v.Get(gocv.VideoCaptureFrameHeight)),
		FPS: finite(v.Get(gocv.VideoCaptureFPS)), Frames: finite(v.Get(gocv.VideoCaptureFrameCount)),
		Rotation: finite(v.Get(orientationMeta)),
		Ticks:    int64(len(times.ticks)), BaseNum: times.num, BaseDen: times.den,
	}
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
	return frames(c, v, info)
}

// frames decodes one frame ahead, so that each is sent with the knowledge whether another follows.
func frames(c *media.Conn, v *gocv.VideoCapture, info media.Decoding) error {
	now, next := gocv.NewMat(), gocv.NewMat()
	defer now.Close()
	defer next.Close()
	more := v.Read(&now)
	for more {
		position := v.Get(gocv.VideoCapturePosMsec)
		head := media.FrameHead{Width: uint32(now.Cols()), Height: uint32(now.Rows()), Position: position}
		more = v.Read(&next)
		head.More = more
		var pix []byte
		if float64(head.Width) == info.Width && float64(head.Height) == info.Height &&
			now.Type() == gocv.MatTypeCV8UC3 {
			var err error
			if pix, err = now.DataPtrUint8(); err != nil {
				return err
			}
		}
		if err := c.WriteHead(media.Frame, head, pix); err != nil {
			return err
		}
		now, next = next, now
	}
	if err := c.Write(media.End); err != nil {
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
