package site

import (
	"fmt"
	"strings"
)

// Page is the manifest of one test page: the truth that measures are held against. Lengths are CSS
// pixels of a viewport of 1280x720.
type Page struct {
	Name  string `json:"name"`  // as in a playlist
	Title string `json:"title"` // for people
	Path  string `json:"path"`  // on the site
	Draws string `json:"draws"` // the visible content
	// green before the content and red behind it; without, times of red are those for which the
	// last picture is held
	Markers bool `json:"markers"`
	Strip   bool `json:"strip"`
	// HoldFrames and HoldMillis say how long green and red are held: at least this many animation
	// frames and at least this long, each.
	HoldFrames int `json:"hold_frames"`
	HoldMillis int `json:"hold_ms"`
	// DurationMillis is how long the content plays; it ends with the first animation frame after
	// it. A page that ends by itself has at least a minute. One that answers the input of a run has
	// no limit after its first input.
	DurationMillis int `json:"duration_ms"`
	// QuietMillis is how long input must pause before the content ends, on pages that answer input,
	// once there was some. In a run it begins after the last step. On a gallery page it is how long
	// the last picture is shown. It is 0 on the others.
	QuietMillis int `json:"quiet_ms,omitempty"`
	// Cadence is in which animation frames the page changes.
	Cadence Cadence `json:"cadence"`
	// Layer is with what a framerate page draws; "": a canvas.
	Layer layer `json:"layer,omitempty"`
	// Gaps are the animation frames from one picture to the next, repeated, for CadenceGaps.
	Gaps []int `json:"gaps,omitempty"`
	// Steps are the changes of a page with cadence CadenceSteps or CadenceParts, in order, the
	// first at 0. Each is drawn in the first animation frame at or after its time; steps that fall
	// into one frame are one change.
	Steps []Step `json:"steps,omitempty"`
	// ClaimsCallbacks says that the frame rate which the page claims counts its callbacks and not
	// its pictures: it claims more than it draws, on purpose.
	ClaimsCallbacks bool `json:"claims_callbacks,omitempty"`

	Parts     []Part     `json:"parts,omitempty"`     // what a load page is made of, the lower ones first
	Resources []Resource `json:"resources,omitempty"` // what a gallery page waits for
	Flip      *Flip      `json:"flip,omitempty"`      // of a tearing page
	Checker   *Checker   `json:"checker,omitempty"`   // of a checkerboard page

	file string // embedded page that draws it; "": the one at Path
}

// Loads reports whether the page appears piece by piece, and counts the pixels that are final.
func (p Page) Loads() bool { return len(p.Parts) > 0 || len(p.Resources) > 0 }

// Cadence is how often a page changes what it shows.
type Cadence string

const (
	EveryFrame      Cadence = "every-frame" // each animation frame is a new picture
	CadenceSteps    Cadence = "steps"       // at the times of its steps only
	CadenceParts    Cadence = "parts"       // at the times of its steps, and whenever a part turns
	cadenceArrivals Cadence = "arrivals"    // whenever a resource has come over the network; it ends when all have
	cadenceTiles    Cadence = "tiles"       // whenever a tile is painted
	cadenceFlips    Cadence = "flips"       // rarely at first, then in each animation frame: see Flip
	cadenceGaps     Cadence = "gaps"        // so many animation frames after the last change
	CadenceInput    Cadence = "input"       // when it answers input: see Report.Answers
	// CadenceWindow is once, and again whenever its window has another size.
	CadenceWindow Cadence = "window"
)

// Step is one change of a page.
type Step struct {
	AtMillis int    `json:"at_ms"` // after the content's first frame
	Draws    string `json:"draws"`
}

// Area is a rectangle in CSS pixels.
type Area struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Part is a rectangle of a load page, complete from one frame to the next. In a viewport of another
// size its edges are scaled and rounded to pixels.
type Part struct {
	Kind partKind `json:"kind"`
	Step int      `json:"step"` // that shows it
	Area
	Colour string `json:"colour"` // #rrggbb of a box, of letters, of the spinner's lit square
	// Ground is the colour around letters and squares.
	Ground string `json:"ground,omitempty"`
	Text   string `json:"text,omitempty"`
	Size   int    `json:"size,omitempty"` // of letters
	Bold   bool   `json:"bold,omitempty"`
	// Until is the step that takes a spinner away, and TurnMillis how long it stands still in
	// between.
	Until      int `json:"until,omitempty"`
	TurnMillis int `json:"turn_ms,omitempty"`
}

// partKind is how a part looks.
type partKind string

const (
	partBox     partKind = "box"     // Width·Height pixels of one colour
	partLetters partKind = "letters" // how many pixels differ from the ground depends on fonts: the page counts
	partPicture partKind = "picture"
	partSpinner partKind = "spinner"
)

// Flip says how a tearing page draws its images.
type Flip struct {
	Images int     `json:"images"` // picture id shows image id mod Images; see tearingImage
	Layers []layer `json:"layers"` // from top to bottom, bands of equal height
	// Still is the number of animation frames of each whole image at first, when the set is shown
	// once. Then each animation frame shows another one.
	Still int `json:"still"`
	// Torn says that the page draws torn pictures on purpose. They are in its report.
	Torn bool `json:"torn,omitempty"`
}

// layer is with which of a browser's means something is drawn.
type layer string

const (
	layerDOM    layer = "dom"    // elements that are shown and hidden
	layerCanvas layer = "canvas" // a canvas that is painted over
	layerVideo  layer = "video"  // a video element that plays a stream
	layerCSS    layer = "css"    // an animation that is declared, not scripted
	layerWebGL  layer = "webgl"  // triangles; where a browser has it
)

// Checker says how a checkerboard page shows what it has not painted yet.
type Checker struct {
	Cell    int       `json:"cell"`    // side of a cell
	Colours [2]string `json:"colours"` // #rrggbb; the page uses them nowhere else
	Width   int       `json:"width"`   // of a tile
	Height  int       `json:"height"`
	// Scroll is by how much each picture is moved up against the one before, while the page
	// scrolls; a multiple of two cells, so that the grid stands still.
	Scroll int `json:"scroll,omitempty"`
}

// Find returns the page with a name, or an error that lists the names there are.
func Find(name string) (Page, error) {
	var names []string
	for _, p := range Pages() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Page{}, fmt.Errorf("no test page %q: use one of %s", name, strings.Join(names, " "))
}
