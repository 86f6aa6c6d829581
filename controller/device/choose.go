package device

import (
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/controller/internal/strict"
)

// Browser returns the browser that runs: the one that is asked for, if the device has it, or its first. A device that names none takes any, and "" is then its own
// default.
func (d Description) Browser(asked string) (string, error) {
	switch {
	case len(d.Browsers) == 0, slices.Contains(d.Browsers, asked):
		return asked, nil
	case asked == "":
		return d.Browsers[0], nil
	}
	return "", fmt.Errorf("device %s has no browser %q%s", d.Name, strict.Clip(asked), strict.Meant(asked, d.Browsers))
}
