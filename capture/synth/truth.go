package synth

import (
	"encoding/json"
	"fmt"
)

// truthName is the name of the metadata that carries a scene's truth.
const truthName = "synth.truth"

// truthVersion rises with every change of a scene's look or of the meaning of a field.
const truthVersion = 1

// Truth describes the content of a scene and its times. Frame numbers count from the source's first
// frame, which is 0, and include markers. They equal the sequence numbers of a recording from its
// start.
//
// A scene repeats: see Cycle. Loads, tears, tiles and pings are listed for the first cycle only.
type Truth struct {
	Version int    `json:"version"` // truthVersion
	Scene   string `json:"scene"`
	Seed    uint64 `json:"seed"`
	Width   int    `json:"width"`  // pixels
	Height  int    `json:"height"` // pixels
	Pixel   string `json:"pixel_format"`
	Stride  int    `json:"stride_bytes"`
	FPSNum  uint64 `json:"fps_num"` // frames in FPSDen seconds
	FPSDen  uint64 `json:"fps_den"`
	Frames  uint64 `json:"frames"`          // in all, or 0 without end
	Content Run    `json:"content"`         // the frames of the scene itself; it ends at 0 without end
	Green   *Run   `json:"green,omitempty"` // frames of the marker before it
	Red     *Run   `json:"red,omitempty"`   // frames of the marker after it
	Cycle   Cycle  `json:"cycle"`
	// frames that differ from the one before, in the first cycle; frame 0 has none before it
	Changes   []Run    `json:"changes"`
	RedIsSeen bool     `json:"red_is_seen"` // the first red frame differs from the one before
	Load      []Load   `json:"load,omitempty"`
	Spinner   *Area    `json:"spinner,omitempty"` // turns during Spinner.Shown
	Scroll    *Motion  `json:"scroll,omitempty"`
	Video     *Area    `json:"video,omitempty"` // every frame of it is new
	Caret     *Area    `json:"caret,omitempty"` // shown in the first half of each cycle
	Fades     []Run    `json:"fades,omitempty"` // frames that are a mixture of two pages
	Cadence   *Cadence `json:"cadence,omitempty"`
	Tears     *Tears   `json:"tears,omitempty"`
	Checker   *Checker `json:"checker,omitempty"`
	Pings     []Ping   `json:"pings,omitempty"`
	PingArea  *Area    `json:"ping_area,omitempty"` // what changes with a pong
	Strip     *Strip   `json:"strip,omitempty"`
}

// Run is a run of frames; End is not in it.
type Run struct {
	First uint64 `json:"first"`
	End   uint64 `json:"end"`
}

// Holds reports whether frame n is in the run.
func (r Run) Holds(n uint64) bool { return n >= r.First && n < r.End }

// Cycle says how changes recur: frame n ≥ From stands for frame From + (n − From) mod Frames.
type Cycle struct {
	From   uint64 `json:"from"`
	Frames uint64 `json:"frames"`
}

// Fold returns the frame of the first cycle that frame n stands for.
func (c Cycle) Fold(n uint64) uint64 {
	if n < c.From {
		return n
	}
	return c.From + (n-c.From)%c.Frames
}

// Area is a rectangle of pixels, cut to the frame. Shown are the frames that it is there, if not
// always.
type Area struct {
	X      int  `json:"x"`
	Y      int  `json:"y"`
	Width  int  `json:"width"`
	Height int  `json:"height"`
	Shown  *Run `json:"shown,omitempty"`
}

// Load is a block of a page and the frame that first shows it.
type Load struct {
	Area
	Frame uint64 `json:"frame"`
}

// Motion is a movement of the whole content: at each of its frames by DX, DY pixels from the one
// before.
type Motion struct {
	Frames []Run `json:"frames"`
	DX     []int `json:"dx"` // one for each run
	DY     []int `json:"dy"`
}

// Cadence is how often a frame is new: Num/Den times a second, or by turns after so many frames.
type Cadence struct {
	Num     uint64 `json:"num,omitempty"`
	Den     uint64 `json:"den,omitempty"`
	Repeats []int  `json:"repeats,omitempty"`
}

// Tears lists the torn frames of the first cycle. Images are pairwise disjoint: no pixel of one
// equals the pixel of another at the same place.
type Tears struct {
	Images int    `json:"images"`
	Torn   []Tear `json:"torn"`
}

// Tear is a torn frame. The image changes at each of Rows: Images has one number more than Rows,
// from top to bottom.
type Tear struct {
	Frame  uint64 `json:"frame"`
	Rows   []int  `json:"rows"`
	Images []int  `json:"images"`
}

// Checker is a page that shows checkerboards in place of areas that are not drawn yet.
type Checker struct {
	Cell    int    `json:"cell"`    // side of a checker in pixels; the grid starts at the frame's corner
	Colours [2]int `json:"colours"` // 0xRRGGBB; the first has the corner
	Tiles   []Tile `json:"tiles"`
	// Areas gives the pixels of checkerboard in each frame of the first cycle, as runs of equal
	// area.
	Areas []CheckerArea `json:"areas"`
}

// Tile is a part of the page that is a checkerboard during Shown.
type Tile struct {
	Area
}

// CheckerArea says that frames show so many pixels of checkerboard.
type CheckerArea struct {
	Run
	Pixels int `json:"pixels"`
}

// Ping is a question and its answer.
type Ping struct {
	Frame uint64 `json:"frame"` // the event "ping" bears this frame's time
	Pong  uint64 `json:"pong"`  // first frame that shows the answer
}

// parseTruth reads the value of the metadata truthName.
func parseTruth(value json.RawMessage) (Truth, error) {
	var t Truth
	if err := json.Unmarshal(value, &t); err != nil {
		return t, fmt.Errorf("read %s: %w", truthName, err)
	}
	if t.Version != truthVersion {
		return t, fmt.Errorf("read %s: version %d, this program knows %d", truthName, t.Version, truthVersion)
	}
	if t.Cycle.Frames == 0 {
		return t, fmt.Errorf("read %s: a cycle of no frames", truthName)
	}
	return t, nil
}

// Changed reports whether frame n differs from the frame before it. Frame 0 does not.
func (t *Truth) Changed(n uint64) bool {
	if t.Red != nil && n >= t.Red.First {
		return n == t.Red.First && t.RedIsSeen
	}
	if t.Frames > 0 && n >= t.Frames {
		return false
	}
	n = t.Cycle.Fold(n)
	for _, r := range t.Changes {
		if r.Holds(n) {
			return true
		}
	}
	return false
}

// TornAt returns the tear of frame n, or nil.
func (t *Truth) TornAt(n uint64) *Tear {
	if t.Tears == nil || !t.isContent(n) {
		return nil
	}
	n = t.Cycle.Fold(n)
	for i := range t.Tears.Torn {
		if t.Tears.Torn[i].Frame == n {
			return &t.Tears.Torn[i]
		}
	}
	return nil
}

// CheckerPixels returns how many pixels of frame n are checkerboard.
func (t *Truth) CheckerPixels(n uint64) int {
	if t.Checker == nil || !t.isContent(n) {
		return 0
	}
	n = t.Cycle.Fold(n)
	for _, a := range t.Checker.Areas {
		if a.Holds(n) {
			return a.Pixels
		}
	}
	return 0
}

func (t *Truth) isContent(n uint64) bool {
	return n >= t.Content.First && (t.Content.End == 0 || n < t.Content.End)
}
