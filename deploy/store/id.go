package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/pattern"
)

// ErrID is wrapped by errors about an invalid ID.
var ErrID = errors.New("not the ID of a run or a set")

// maxID is how many bytes an ID may have.
const maxID = 400

var idParts = pattern.New(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(~[A-Za-z0-9_-][A-Za-z0-9._-]*){0,4}$`)

// CheckID returns an error for an invalid ID from outside. An ID is a path below the folder of
// runs, with "~" for "/". No part begins with a point: such folders are hidden and unfinished.
func CheckID(id string) error {
	if len(id) > maxID || !idParts.MatchString(id) {
		return fmt.Errorf("%.80q is %w", id, ErrID)
	}
	return nil
}

// pathOf is where an ID's folder is below the data directory, with slashes.
func pathOf(id string) string { return runsDir + "/" + strings.ReplaceAll(id, "~", "/") }

// topOf is the folder below the folder of runs that contains an ID.
func topOf(id string) string {
	top, _, _ := strings.Cut(id, "~")
	return top
}

// within says that an ID is that of a folder or of one in it.
func within(id, folder string) bool { return id == folder || strings.HasPrefix(id, folder+"~") }

// above is the ID of the folder in which another one lies; empty for one below runs/.
func above(id string) string { return id[:max(0, strings.LastIndexByte(id, '~'))] }
