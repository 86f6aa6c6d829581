package replay

import (
	"strconv"
	"strings"
)

// parseRange reads a Range of one part (RFC 9110, 14.1.2); to is behind its last byte. Several
// parts at once nobody needs who loads a page: they make no sense here.
func parseRange(field string, size int64) (from, to int64, ok bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(field), "bytes=")
	first, last, dash := strings.Cut(text, "-")
	if !ok || !dash || size <= 0 {
		return 0, 0, false
	}
	if first == "" {
		n, err := digits(last)
		if err != nil || n <= 0 {
			return 0, 0, false
		}
		return max(0, size-n), size, true
	}
	from, err := digits(first)
	if err != nil || from >= size {
		return 0, 0, false
	}
	if last == "" {
		return from, size, true
	}
	end, err := digits(last)
	if err != nil || end < from {
		return 0, 0, false
	}
	return from, min(end, size-1) + 1, true
}

func digits(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 62)
	return int64(n), err
}

// contentRange reads where in the whole a recorded part stands.
func contentRange(e *Exchange) (first, size int64, ok bool) {
	text, ok := strings.CutPrefix(e.ResponseHeader.Get("Content-Range"), "bytes ")
	part, whole, slash := strings.Cut(text, "/")
	begin, _, dash := strings.Cut(part, "-")
	if !ok || !slash || !dash {
		return 0, 0, false
	}
	first, err := digits(begin)
	if err != nil {
		return 0, 0, false
	}
	size, err = digits(whole)
	return first, size, err == nil && e.ResponseBody.Size <= size-first
}
