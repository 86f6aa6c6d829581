package document

import (
	"bytes"
	"strings"
)

// Own begins the scripts that this program adds to documents, so that no other part changes them.
const Own = "/*eideticker*/"

// Inject puts an element where a document's head begins, before anything that may be a script;
// false: the document is in letters that the element is not.
func Inject(document, element []byte) ([]byte, bool) {
	if IsUTF16(document) {
		return document, false
	}
	at := HeadBegins(document)
	out := make([]byte, 0, len(document)+len(element))
	return append(append(append(out, document[:at]...), element...), document[at:]...), true
}

// HeadBegins finds where in a document the first element may stand that is not html or head
// themselves: behind their tags, or in place of the first thing that is neither.
func HeadBegins(d []byte) int {
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

// IsUTF16 reports whether a text is in UTF-16 or UTF-32.
func IsUTF16(text []byte) bool {
	return bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) ||
		bytes.IndexByte(text[:min(len(text), 256)], 0) >= 0
}
