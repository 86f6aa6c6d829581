package har

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"
)

// parted splits an address into its host and its path.
func parted(address string) (host, path string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", address
	}
	return u.Host, cmp.Or(u.RequestURI(), "/")
}

// shortened leaves out the middle: the end of a path says more.
func shortened(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	head := most / 3
	return string(r[:head]) + "…" + string(r[len(r)-(most-head-1):])
}

// rowLabel shortens a request's path and query. It cuts the query first, since the path describes
// the resource. The part of the query that fits distinguishes requests of one path.
func rowLabel(s string, most int) string {
	const least = 6 // letters of a query that say anything
	path, query, has := strings.Cut(s, "?")
	left := most - len([]rune(path)) - 1
	switch {
	case !has || len([]rune(s)) <= most:
		return shortened(s, most)
	case left < 1:
		return shortened(path+"?", most)
	case left < least:
		return path + "?…"
	}
	return path + "?" + shortened(query, left)
}

func clip(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes all
	return strings.ReplaceAll(b.String(), "&#xA;", "\n")
}

func milliseconds(d time.Duration) string {
	v := float64(d) / 1e6
	switch {
	case v < 10:
		return trimmed(math.Round(v*10)/10) + " ms"
	case v < 10_000:
		return fmt.Sprintf("%.0f ms", v)
	}
	return fmt.Sprintf("%.1f s", v/1000)
}

func clock(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

func trimmed(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
}

// size is bytes in words.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", max(0, n))
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
