package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/store/unused"
)

// plans returns the folder with the plan of a test's scripts. Tests with one name and another
// content have other plans. A plan expires like other unused files.
func (d *Daemon) plans(t *suite.Test) string {
	text, err := t.MarshalJSON()
	if err != nil {
		return "" // the plan is in the folder of the set
	}
	sum := sha256.Sum256(text)
	return filepath.Join(d.options.Dir, unused.Plans, hex.EncodeToString(sum[:12]))
}
