package replay

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/eideticker/eideticker/netsim/internal/document"
)

// Determinism gives pages a deterministic clock and deterministic random numbers, by a script at
// the start of each HTML document.
//
// The clock begins at Clock and does not use real time. Reading it advances it by 0.1 ms, a drawn
// frame by 1/60 s, and a timer by its duration. Date, performance.now, timeOrigin and the times of
// animation callbacks all use it. Math.random is a xorshift generator (G. Marsaglia, Xorshift RNGs,
// 2003).
//
// Only HTML documents are changed. Resources that are compared with a hash (SRI), and scripts of
// service workers, stay unchanged byte for byte. These are not covered:
//
//   - workers.
//   - documents made by a service worker or another script.
//   - XHTML, and documents in UTF-16.
//   - times that the browser stamps itself, as in events and performance entries.
type Determinism struct {
	Seed   uint64
	Clock  time.Time // zero: when the archive was recorded
	Crypto bool      // crypto.getRandomValues and randomUUID too: nothing a page keeps secret is then one
}

//go:embed determinism.js
var determinismJS string

// script is the element that a document is given, and its hash as a policy has it.
func (d *Determinism) script() (element []byte, hash string) {
	// Seeds are small numbers, and the generator takes long to make large ones of them; one whose
	// state is 0 stays there.
	state := max(1, uint32((d.Seed+1)*0x9e3779b97f4a7c15>>32))
	text := fmt.Sprintf("%s(%s)(%d,%d,%t)", document.Own, strings.TrimSuffix(strings.TrimSpace(determinismJS), ";"),
		d.Clock.UnixMilli(), state, d.Crypto)
	sum := sha256.Sum256([]byte(text))
	return []byte("<script>" + text + "</script>"), "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
