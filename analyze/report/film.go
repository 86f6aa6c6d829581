package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	maxMapBytes = 256 << 20
	maxSlots    = maxFrames
)

// film is the video as the page plays it: which captured frame each of the video's frames shows.
type film struct {
	Source string  `json:"source"` // address or content
	Rate   float64 `json:"rate"`   // slots a second
	Frames []int   `json:"frames"` // of each slot; -1 where the frame was not recorded
	Times  []int64 `json:"times"`  // of each slot, on the recording's clock; 0 where it is not known
	// Content is where in the video the recording's picture is: x, y, width and height, as
	// fractions.
	Content [4]float64 `json:"content"`
}

// videoMap is what this package reads of the map that package render writes.
type videoMap struct {
	Width   int   `json:"width"`
	Height  int   `json:"height"`
	RateNum int64 `json:"rate_num"`
	RateDen int64 `json:"rate_den"`
	Content struct {
		X      int `json:"x"`
		Y      int `json:"y"`
		Width  int `json:"width"`
		Height int `json:"height"`
	} `json:"content"`
	Slots []struct {
		Frame int   `json:"frame"`
		Time  int64 `json:"time_ns"`
	} `json:"slots"`
}

// newFilm reads what belongs to a video. What is wrong is a sentence for the page, which does
// without the video then.
func newFilm(v *Video, frames int, from *files) (*film, error) {
	if !from.has(v.File) {
		return nil, fmt.Errorf("%s is missing from the folder", v.File)
	}
	m, err := readMap(v.Map, from)
	if err != nil {
		return nil, fmt.Errorf("the video cannot be followed, since its map %s cannot be read: %w", v.Map, err)
	}
	f := &film{Rate: float64(m.RateNum) / float64(m.RateDen), Content: m.content()}
	for i, s := range m.Slots {
		if s.Frame < -1 || s.Frame >= frames {
			return nil, fmt.Errorf("the video's map %s shows frame %d at %d, the recording has %d: is it of another recording?", v.Map, s.Frame, i, frames)
		}
		f.Frames, f.Times = append(f.Frames, s.Frame), append(f.Times, s.Time)
	}
	f.Source = from.refer(v.File)
	return f, nil
}

func readMap(name string, from *files) (*videoMap, error) {
	file, err := from.folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxMapBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxMapBytes {
		return nil, fmt.Errorf("over %d MiB", maxMapBytes>>20)
	}
	var m videoMap
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	if m.RateNum < 1 || m.RateDen < 1 || m.RateNum/m.RateDen > 1000 || m.RateDen/m.RateNum > 1000 {
		return nil, fmt.Errorf("rate of %d/%d frames a second", m.RateNum, m.RateDen)
	}
	if len(m.Slots) == 0 || len(m.Slots) > maxSlots {
		return nil, errors.New("no frames, or too many")
	}
	return &m, nil
}

// content is all of the video where the map does not say better.
func (m *videoMap) content() [4]float64 {
	c := m.Content
	if m.Width < 1 || m.Height < 1 || c.X < 0 || c.Y < 0 || c.Width < 1 || c.Height < 1 || c.X > m.Width-c.Width ||
		c.Y > m.Height-c.Height {
		return [4]float64{0, 0, 1, 1}
	}
	w, h := float64(m.Width), float64(m.Height)
	return [4]float64{float64(c.X) / w, float64(c.Y) / h, float64(c.Width) / w, float64(c.Height) / h}
}
