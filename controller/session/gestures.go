package session

import (
	"fmt"
	"io/fs"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/script"
	"github.com/eideticker/eideticker/controller/input/touch"
)

// gestures reads what replay and script steps name. Recordings lie beside the test file.
type gestures struct {
	dir fs.FS // nil: the test is in no file
}

func (g gestures) Recorded(file string, area frame.Region) ([]input.Timed, error) {
	if g.dir == nil {
		return nil, fmt.Errorf("recording %s: the test has no folder", file)
	}
	f, err := g.dir.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	r, err := touch.Read(file, f)
	if err != nil {
		return nil, err
	}
	return r.Timed(touch.Area{X: float64(area.X), Y: float64(area.Y), Width: float64(area.Width),
		Height: float64(area.Height)}), nil
}

func (gestures) Script(text string, area frame.Region) ([]input.Timed, error) {
	return script.Parse(text, float64(area.X), float64(area.Y))
}
