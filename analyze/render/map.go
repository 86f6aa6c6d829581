package render

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/eideticker/eideticker/capture/timeline"
)

// MapVersion is the version of Map's JSON.
const MapVersion = 1

// Map says what each slot of a video shows. It is written beside the video as JSON.
type Map struct {
	Version int   `json:"version"`
	Width   int   `json:"width"`  // of the video, pixels
	Height  int   `json:"height"` // of the video, pixels
	RateNum int64 `json:"rate_num"`
	RateDen int64 `json:"rate_den"` // slots a second: rate_num/rate_den
	// Slots are the video's frames in order.
	Slots []Slot `json:"slots"`
	// Cuts are holes too long to be shown in full.
	Cuts []Cut `json:"cuts"`
}

// Slot is one frame of a video.
type Slot struct {
	Frame    int           `json:"frame"`    // number of the captured frame; -1 where it is missing
	Sequence uint64        `json:"sequence"` // the source's count of frames
	Time     timeline.Time `json:"time_ns"`  // when it was on the screen, on the recording's clock; 0 where it is missing
}

// Cut is a hole of which only the first hatched slots are shown.
type Cut struct {
	Slot    int    `json:"slot"`    // first slot after the hole
	Skipped uint64 `json:"skipped"` // missing frames that got no slot
}

// write writes the map so that it is there as a whole or not at all.
func (m *Map) write(path string) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write video's map: %w", err)
	}
	part := path + ".part"
	if err := os.WriteFile(part, append(b, '\n'), 0o644); err != nil {
		_ = os.Remove(part)
		return fmt.Errorf("write video's map: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		_ = os.Remove(part)
		return fmt.Errorf("write video's map: %w", err)
	}
	return nil
}
