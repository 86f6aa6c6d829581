package v4l2

import (
	"bytes"
	"strings"
)

// text returns a driver's string: up to the first zero, in UTF-8, without control characters.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	clean := func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}
	return strings.TrimSpace(strings.Map(clean, strings.ToValidUTF8(string(b), "?")))
}
