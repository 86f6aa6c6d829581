package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze"
)

// byteSize is a number of bytes on the command line: 4GiB, 512MiB, 1GB, 4096.
type byteSize int64

func (b *byteSize) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i < 0 {
		i = len(s)
	}
	unit, ok := map[string]float64{
		"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "kb": 1e3, "m": 1 << 20, "mib": 1 << 20, "mb": 1e6,
		"g": 1 << 30, "gib": 1 << 30, "gb": 1e9, "t": 1 << 40, "tib": 1 << 40, "tb": 1e12,
	}[strings.ToLower(strings.TrimSpace(s[i:]))]
	n, err := strconv.ParseFloat(s[:i], 64)
	if !ok || err != nil || n*unit > math.MaxInt64/2 || n*unit < 1 {
		return fmt.Errorf("%q is no size, want one such as 512MiB or 4GiB", s)
	}
	*b = byteSize(n * unit)
	return nil
}

// frameRange is A:B on the command line: frames from A, B not included. Either may be left out.
type frameRange struct {
	from, to int
	open     bool // to the end
	given    bool
}

func (f *frameRange) UnmarshalText(text []byte) error {
	s := string(text)
	a, b, ok := strings.Cut(s, ":")
	from, errA := parseFrame(a, 0)
	to, errB := parseFrame(b, 0)
	*f = frameRange{from: from, to: to, open: b == "", given: true}
	if !ok || errA != nil || errB != nil || (!f.open && to <= from) {
		return fmt.Errorf("%q is no range of frames, want A:B with A below B; B is not included", s)
	}
	return nil
}

func parseFrame(s string, missing int) (int, error) {
	if s == "" {
		return missing, nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err
}

// in returns the range within a recording of n frames, or says why it does not lie there.
func (f frameRange) in(n int) (from, to int, err error) {
	if !f.given {
		return 0, n, nil
	}
	from, to = f.from, f.to
	if f.open {
		to = n
	}
	if n == 0 {
		return 0, 0, usagef("--frames %d:%d: the recording has no frames; eideticker analyze FILE quality says why", from, to)
	}
	if from >= n || to > n {
		end := fmt.Sprint(f.to)
		if f.open {
			end = ""
		}
		return 0, 0, usagef("frames %d:%s are not in the recording, which has frames 0:%d", f.from, end, n)
	}
	return from, to, nil
}

// measureNames are names of measures on the command line, apart or with commas between them. One that there is not is answered with what may be meant.
func measureNames(given []string) (names []string, err error) {
	known := append(analyze.Names(), analyze.QualityName)
	for _, text := range given {
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			if err := analyze.CheckNames([]string{name}); err != nil {
				if near := nearest(name, known); near != "" {
					return nil, fmt.Errorf("%w; perhaps %s is meant", err, near)
				}
				return nil, err
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// nearest returns the one of some names that is at most two letters off, and the nearest; or nothing.
func nearest(name string, names []string) (best string) {
	off := 3
	for _, n := range names {
		if d := distance(name, n); d < off && d < len(n) {
			best, off = n, d
		}
	}
	return best
}

// distance is Levenshtein's: how many bytes are to be added, left out or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0] // of the column before
		row[0] = i + 1
		for j := range len(b) {
			replaced := above
			if a[i] != b[j] {
				replaced++
			}
			above = row[j+1]
			row[j+1] = min(replaced, row[j]+1, above+1)
		}
	}
	return row[len(b)]
}
