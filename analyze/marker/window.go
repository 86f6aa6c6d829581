package marker

import (
	"image"

	"github.com/eideticker/eideticker/analyze/strip"
)

// Window is the content between a green and the next red. Numbers are frame numbers, regions are in
// pixels of the frame.
type Window struct {
	GreenFrom int             `json:"green_from"` // first frame of the held green
	Green     int             `json:"green"`      // g
	Start     int             `json:"start"`      // s
	End       int             `json:"end"`        // e; before s if the content is empty
	Red       int             `json:"red"`        // r
	RedTo     int             `json:"red_to"`     // last frame of the held red
	Region    image.Rectangle `json:"region"`     // R: in the green's box and in the red's
	Exact     bool            `json:"exact"`      // the held green's frames were equal bit by bit
	TornGreen *Tear           `json:"torn_green"` // in frame s, or nil
	TornRed   *Tear           `json:"torn_red"`   // in the frame before r, or nil

	// What the green covered at last, and the red: they differ where a browser's bars have slid.
	GreenRegion image.Rectangle `json:"green_region"`
	RedRegion   image.Rectangle `json:"red_region"`

	// Frames of the source that are missing between g and s, and between e and r, beside a
	// half-drawn red: what they showed may belong to the content or to a marker.
	LostBeforeStart int `json:"lost_before_start"`
	LostBeforeRed   int `json:"lost_before_red"`

	// Codes that stood on the markers, or nil.
	GreenCode *strip.Code `json:"green_code"`
	RedCode   *strip.Code `json:"red_code"`

	// Warnings describe unusual findings that did not prevent the window.
	Warnings []string `json:"warnings"`
}

// Tear is a marker that was seen half drawn.
type Tear struct {
	Frame int `json:"frame"`
	Row   int `json:"row"` // first line below the tear, in the frame
}

// maxWarnings bounds what a hostile recording can make a window say.
const maxWarnings = 8

func (w *Window) warn(text string) {
	if len(w.Warnings) < maxWarnings {
		w.Warnings = append(w.Warnings, text)
	}
}
