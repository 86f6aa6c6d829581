package session

import (
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/x11"
)

// openInput takes keyboard and pointer of a display.
func openInput(display string) (input.Driver, error) {
	d, err := x11.Open(display)
	if err != nil {
		return nil, err
	}
	return d, nil
}
