package device

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/internal/strict"
)

// Browser returns the browser that runs: the one that is asked for, if the device has it, or its
// first. A device that names none takes any that can be started there, and "" is then its own
// default.
func (d Description) Browser(asked string) (string, error) {
	switch {
	case !d.starts():
		return d.running(asked)
	case len(d.Browsers) == 0, slices.Contains(d.Browsers, asked):
		return asked, nil
	case asked == "":
		return d.Browsers[0], nil
	}
	return "", d.lacks(asked)
}

func (d Description) lacks(asked string) error {
	return fmt.Errorf("device %s has no browser %q%s", d.Name, strict.Clip(asked), wording.Meant(asked, d.Browsers))
}

// running names the browser that runs already, where nothing starts any. It has a name only where
// it can be no other; of several, the same one would run under every name, and be held against
// itself.
func (d Description) running(asked string) (string, error) {
	named := slices.DeleteFunc(slices.Clone(d.Browsers), func(b string) bool { return b == Running })
	switch {
	case asked == Running, asked == "" && len(d.Browsers) == 0:
		return asked, nil
	case asked != "" && len(d.Browsers) > 0 && !slices.Contains(d.Browsers, asked):
		return "", d.lacks(asked)
	case len(d.Browsers) == 1:
		return d.Browsers[0], nil
	case asked == "" && len(named) < len(d.Browsers):
		return Running, nil
	case len(named) > 1:
		return "", fmt.Errorf("device %s: cannot tell which of %s runs; %s", d.Name,
			strings.Join(named, ", "), nothingStarts)
	}
	return "", fmt.Errorf("device %s starts no browser %q: %s", d.Name, strict.Clip(asked), nothingStarts)
}

// nothingStarts is the advice instead of a browser's name.
const nothingStarts = "addresses are typed into the one that runs; use typed, list one browser, or add adb: SERIAL"
