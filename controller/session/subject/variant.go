// Package subject names and checks the sides of a comparison. They are variants of a test, builds
// of a site, and versions of the functions of a test.
package subject

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/pattern"
)

// keys are the changes that a variant can have.
const keys = "test, archive, site, network, browser, device"

var key = pattern.New(`^([a-z]+):`)

// Change is a change of a test by a variant. The keys are test, archive, site, network, browser
// and device.
type Change struct{ Key, Value string }

// Parse parses a variant: NAME=TEST, or NAME=KEY:VALUE with further ones after commas.
func Parse(text string) (name string, changes []Change, err error) {
	name, what, ok := strings.Cut(text, "=")
	if !ok || name == "" || what == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return "", nil, fmt.Errorf("%q must be NAME=TEST or NAME=KEY:VALUE; the keys are %s", text, keys)
	}
	if ofSet(name) {
		return "", nil, fmt.Errorf("%s: a file of the set has this name", name)
	}
	for _, part := range strings.Split(what, ",") {
		prefix := key.FindString(part)
		switch known := slices.Contains(strings.Split(keys, ", "), strings.TrimSuffix(prefix, ":")); {
		case known:
			changes = append(changes, Change{strings.TrimSuffix(prefix, ":"), part[len(prefix):]})
		case len(changes) > 0: // a comma in a name
			changes[len(changes)-1].Value += "," + part
		default:
			changes = append(changes, Change{"test", part})
		}
	}
	for _, change := range changes {
		if change.Value == "" {
			return "", nil, fmt.Errorf("%s: %s is empty", name, change.Key)
		}
	}
	return name, changes, nil
}

// ofSet reports if a file in the folder of a set has a name.
func ofSet(name string) bool {
	return slices.Contains(append(append(compare.FolderFiles(), session.FolderNames()...), report.PageName), name)
}
