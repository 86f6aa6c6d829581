package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/eideticker/eideticker/capture/timeline"
)

// mapVersion is the version of Map's and pairMap's JSON. Fields are added, not changed.
const mapVersion = 1

// Map says what each slot of a video shows. It is written beside the video as JSON.
type Map struct {
	Version int   `json:"version"`
	Width   int   `json:"width"`  // of the video, pixels
	Height  int   `json:"height"` // of the video, pixels
	RateNum int64 `json:"rate_num"`
	// slots a second: rate_num/rate_den. Slot n is shown from n·rate_den/rate_num seconds on
	RateDen int64 `json:"rate_den"`
	Content Box   `json:"content"` // where in the video the frames are
	// Slots are the video's frames in order.
	Slots []Slot `json:"slots"`
	// Cuts are holes too long to be shown in full.
	Cuts []Cut `json:"cuts"`
}

// Box is a part of a video, in pixels.
type Box struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Slot is one frame of a video.
type Slot struct {
	Frame    int    `json:"frame"`    // number of the captured frame; -1 where it is missing
	Sequence uint64 `json:"sequence"` // the source's count of frames
	// when it was on the screen, on the recording's clock; 0 where it is missing
	Time timeline.Time `json:"time_ns"`
	Held bool          `json:"held,omitempty"` // in a pair: shown although the run has not begun, or has ended
}

// Cut is a hole of which only the first hatched slots are shown.
type Cut struct {
	Slot    int    `json:"slot"`    // first slot after the hole
	Skipped uint64 `json:"skipped"` // missing frames that got no slot
}

// pairMap says what each slot of a video of two runs shows. It is written beside the video as JSON.
type pairMap struct {
	Version int    `json:"version"`
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	RateNum int64  `json:"rate_num"`
	RateDen int64  `json:"rate_den"`
	Content [2]Box `json:"content"` // left, right
	Start   int    `json:"start"`   // slot at which both runs line up: that of T0, or of their first content
	// Slots are the video's frames in order, each with its left and right frame.
	Slots [][2]Slot `json:"slots"`
}

// mapWriter writes a map slot by slot, so it needs no memory for it. The file appears complete or
// not at all.
type mapWriter struct {
	path  string
	file  *os.File
	out   *bufio.Writer
	slots int
}

// newMapWriter begins a map with what head, which has no slots, says before them.
func newMapWriter(path string, head any) (*mapWriter, error) {
	b, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("write video's map: %w", err)
	}
	file, err := os.Create(path + ".part")
	if err != nil {
		return nil, fmt.Errorf("write video's map: %w", err)
	}
	w := &mapWriter{path: path, file: file, out: bufio.NewWriterSize(file, 1<<16)}
	before, _, _ := bytes.Cut(b, []byte(`,"slots":`))
	_, _ = w.out.Write(before) // finish tells
	_, _ = w.out.WriteString(`,"slots":[`)
	return w, nil
}

// add appends a slot: that of one pane, or those of several.
func (w *mapWriter) add(panes ...Slot) {
	b := w.out.AvailableBuffer()
	if w.slots > 0 {
		b = append(b, ',')
	}
	w.slots++
	b = append(b, '\n')
	if len(panes) > 1 {
		b = append(b, '[')
	}
	for i, s := range panes {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.append(b)
	}
	if len(panes) > 1 {
		b = append(b, ']')
	}
	_, _ = w.out.Write(b) // finish tells
}

// append writes a slot as json.Marshal does.
func (s Slot) append(b []byte) []byte {
	b = append(b, `{"frame":`...)
	b = strconv.AppendInt(b, int64(s.Frame), 10)
	b = append(b, `,"sequence":`...)
	b = strconv.AppendUint(b, s.Sequence, 10)
	b = append(b, `,"time_ns":`...)
	b = strconv.AppendInt(b, int64(s.Time), 10)
	if s.Held {
		b = append(b, `,"held":true`...)
	}
	return append(b, '}')
}

// finish writes the end after the slots, such as `,"cuts":[]`, and gives the file its name.
func (w *mapWriter) finish(rest string) error {
	_, _ = w.out.WriteString("]" + rest + "}\n")
	err := w.out.Flush()
	if closed := w.file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(w.path+".part", w.path)
	}
	if err != nil {
		_ = os.Remove(w.path + ".part")
		return fmt.Errorf("write video's map: %w", err)
	}
	return nil
}

// abandon removes what there is.
func (w *mapWriter) abandon() {
	_ = w.file.Close()
	_ = os.Remove(w.path + ".part")
}
