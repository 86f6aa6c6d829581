package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/eideticker/eideticker/analyze/result"
)

const (
	maxMapBytes = 256 << 20
	maxSlots    = 1 << 26
)

// videoMap is the part of package render's map that the page reads.
type videoMap struct {
	Width   int `json:"width"`
	Height  int `json:"height"`
	RateNum int `json:"rate_num"`
	RateDen int `json:"rate_den"`
	Content struct {
		X      int `json:"x"`
		Y      int `json:"y"`
		Width  int `json:"width"`
		Height int `json:"height"`
	} `json:"content"`
	Slots []videoSlot `json:"slots"`
}

type videoSlot struct {
	Frame int   `json:"frame"` // -1: not recorded
	Time  int64 `json:"time_ns"`
}

// readVideo returns the map of a video whose files are there and fit a recording of so many frames.
func readVideo(v *result.Video, frames int, from *files) (*videoMap, error) {
	if !from.has(v.File) {
		return nil, fmt.Errorf("%s is missing from the folder", v.File)
	}
	m, err := readMap(v.Map, from)
	if err != nil {
		return nil, fmt.Errorf("the video's map %s cannot be read: %w", v.Map, err)
	}
	for i, s := range m.Slots {
		if s.Frame < -1 || s.Frame >= frames {
			return nil, fmt.Errorf("the video's map %s shows frame %d at %d, the recording has %d: "+
				"is it of another recording?",
				v.Map, s.Frame, i, frames)
		}
	}
	return m, nil
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
