package wording

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Count groups a number's digits by threes.
func Count[T int | int64 | uint64](n T) string {
	s := fmt.Sprint(n)
	first := len(s) % 3
	if first == 0 {
		first = 3
	}
	var b strings.Builder
	for i, c := range s {
		if i >= first && (i-first)%3 == 0 && s[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Plural counts things: "1 frame", "2 frames".
func Plural[T int | int64 | uint64](n T, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Count(n) + " " + thing + "s"
}

// Bytes formats a number of bytes with three digits and a binary unit.
func Bytes[T int | int64 | uint64](n T) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/1024, 0
	for v >= 999.5 && i < len(units)-1 {
		v /= 1024
		i++
	}
	digits := 2
	switch {
	case v >= 99.95:
		digits = 0
	case v >= 9.995:
		digits = 1
	}
	return fmt.Sprintf("%.*f %ciB", digits, v, units[i])
}

// Number writes a value with four figures, and whole numbers whole.
func Number(v float64) string {
	size := math.Abs(v)
	switch {
	case v == math.Trunc(v) && size < 1e15:
		return strings.Replace(Count(int64(v)), "-", "−", 1)
	case size >= 1000 && size < 1e15:
		return strings.Replace(Count(int64(math.Round(v))), "-", "−", 1)
	}
	return strings.Replace(strconv.FormatFloat(v, 'g', 4, 64), "-", "−", 1)
}

// Prefixed returns a prefix and a text, or "" without the text.
func Prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
