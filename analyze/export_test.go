package analyze

import (
	"github.com/eideticker/eideticker/analyze/measure"
)

// Cuts returns where the shares of a window begin and end.
func Cuts(rec measure.Recording, w measure.Window, workers int) ([]int, error) {
	c, err := measure.NewCase(rec, w, measure.Options{}, nil)
	if err != nil {
		return nil, err
	}
	return (&run{Case: c, options: new(Options), pixels: true}).shares(workers)
}
