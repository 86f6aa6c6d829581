package marker

import (
	"fmt"
	"image"
	"strings"
)

// Window is what lies between a green and the red that follows it. Numbers are frame numbers.
type Window struct {
	GreenFrom int             `json:"green_from"` // first frame of the held green
	Green     int             `json:"green"`      // g
	Start     int             `json:"start"`      // s
	End       int             `json:"end"`        // e; s - 1 if there is no content at all
	Red       int             `json:"red"`        // r
	RedTo     int             `json:"red_to"`     // last frame of the held red
	Region    image.Rectangle `json:"region"`     // R, in pixels of the frame
	Exact     bool            `json:"exact"`      // the held green's frames were equal bit by bit
	TornGreen *Tear           `json:"torn_green"` // in frame s, or nil
	TornRed   *Tear           `json:"torn_red"`   // in the frame before r, or nil
}

// Tear is a marker that was seen half drawn.
type Tear struct {
	Frame int `json:"frame"`
	Row   int `json:"row"` // first line below the tear, in the frame
}

// Problem kinds.
const (
	Missing  = "missing"  // no marker at all, or none after what came before
	TooShort = "short"    // a marker that was not held
	Returned = "returned" // a marker that came again where content or the other one was due
)

// Problem is a marker that is not as it should be.
type Problem struct {
	Kind        string `json:"kind"`
	First, Last int    // frames that show it
	Text        string `json:"text"` // what was seen instead
}

// Error is everything that was wrong with the markers of a recording.
type Error struct {
	Problems []Problem
	More     int // problems that were not kept
}

func (e *Error) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.Text
	}
	s := "sync markers: " + strings.Join(texts, "; ")
	if e.More > 0 {
		s += fmt.Sprintf("; and %d more", e.More)
	}
	return s
}

// frames says "frame 7" or "frames 7–9".
func frames(first, last int) string {
	if first == last {
		return fmt.Sprintf("frame %d", first)
	}
	return fmt.Sprintf("frames %d–%d", first, last)
}
