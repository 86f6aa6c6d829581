package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
)

// printJSON writes one object, indented, as --json promises.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// bytesText formats a number of bytes: "1.50 MiB".
func bytesText[T int | int64 | uint64](n T) string { return wording.Bytes(n) }

// countText groups a number's digits by threes.
func countText[T int | int64 | uint64](n T) string { return wording.Count(n) }

// plural counts things: "1 frame", "2 frames".
func plural[T int | int64 | uint64](n T, thing string) string { return wording.Plural(n, thing) }

// secondsText formats a duration in seconds with milliseconds.
func secondsText(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// ratioText returns the ratio of two sizes.
func ratioText(raw, stored int64) string {
	if stored <= 0 || raw <= 0 {
		return ""
	}
	r := float64(raw) / float64(stored)
	if r < 0.1 { // hardly any pixels: all is overhead
		return ""
	}
	if r >= 100 {
		return fmt.Sprintf("%.0f : 1", r)
	}
	return fmt.Sprintf("%.1f : 1", r)
}
