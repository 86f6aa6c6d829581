package replay

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
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
	text := fmt.Sprintf("(%s)(%d,%d,%t)", strings.TrimSuffix(strings.TrimSpace(determinismJS), ";"),
		d.Clock.UnixMilli(), state, d.Crypto)
	sum := sha256.Sum256([]byte(text))
	return []byte("<script>" + text + "</script>"), "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// inject puts an element where a document's head begins, before anything that may be a script;
// false: the document is in letters that the element is not.
func inject(document, element []byte) ([]byte, bool) {
	if bytes.HasPrefix(document, []byte{0xff, 0xfe}) || bytes.HasPrefix(document, []byte{0xfe, 0xff}) ||
		bytes.IndexByte(document[:min(len(document), 256)], 0) >= 0 {
		return document, false
	}
	at := headBegins(document)
	out := make([]byte, 0, len(document)+len(element))
	return append(append(append(out, document[:at]...), element...), document[at:]...), true
}

// headBegins finds where in a document the first element may stand that is not html or head
// themselves: behind their tags, or in place of the first thing that is neither.
func headBegins(d []byte) int {
	at := 0
	if bytes.HasPrefix(d, []byte("\xef\xbb\xbf")) {
		at = 3
	}
	for {
		i := at
		for i < len(d) && strings.IndexByte(" \t\n\f\r", d[i]) >= 0 {
			i++
		}
		rest := d[i:]
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			n := commentEnds(rest)
			if n < 0 {
				return at
			}
			at = i + n
		case hasFold(rest, "<!doctype"), bytes.HasPrefix(rest, []byte("<?")):
			n := bytes.IndexByte(rest, '>')
			if n < 0 {
				return at
			}
			at = i + n + 1
		case isTag(rest, "html"):
			n := tagEnds(rest)
			if n < 0 {
				return at
			}
			at = i + n
		case isTag(rest, "head"):
			n := tagEnds(rest)
			if n < 0 {
				return at
			}
			return i + n
		default:
			return at
		}
	}
}

func hasFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && strings.EqualFold(string(b[:len(prefix)]), prefix)
}

func isTag(b []byte, name string) bool {
	n := len(name) + 1
	return hasFold(b, "<"+name) && len(b) > n && strings.IndexByte(" \t\n\f\r/>", b[n]) >= 0
}

// tagEnds returns the length of a tag; a > in quotes does not end it.
func tagEnds(b []byte) int {
	quote := byte(0)
	for i, c := range b {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && i > 0 && afterEquals(b[:i]):
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return -1
}

// afterEquals: quotes begin a value only there.
func afterEquals(b []byte) bool {
	b = bytes.TrimRight(b, " \t\n\f\r")
	return len(b) > 0 && b[len(b)-1] == '='
}

// commentEnds returns the length of a comment (HTML, 13.2.5.43 and following: <!--> and <!---> are
// whole ones, and --!> ends one too).
func commentEnds(b []byte) int {
	for _, whole := range []string{"<!-->", "<!--->"} {
		if bytes.HasPrefix(b, []byte(whole)) {
			return len(whole)
		}
	}
	end := -1
	for _, mark := range []string{"-->", "--!>"} {
		if n := bytes.Index(b[4:], []byte(mark)); n >= 0 && (end < 0 || 4+n+len(mark) < end) {
			end = 4 + n + len(mark)
		}
	}
	return end
}
