package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/deploy/config"
)

// byteSize is a number of bytes on the command line: 4GiB, 512MiB, 1GB, 4096.
type byteSize int64

func (b *byteSize) UnmarshalText(text []byte) error {
	var size config.Bytes
	if err := size.UnmarshalText(text); err != nil {
		return err
	}
	if size < 1 {
		return fmt.Errorf("size %q: must be such as 512MiB or 4GiB", text)
	}
	*b = byteSize(size)
	return nil
}

// frameRange is A:B: the frames from A, without B. Either may be omitted.
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
		return fmt.Errorf("frames %q: must be A:B with A below B; B is excluded", s)
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

// in returns the range within a recording of n frames.
func (f frameRange) in(n int) (from, to int, err error) {
	if !f.given {
		return 0, n, nil
	}
	from, to = f.from, f.to
	if f.open {
		to = n
	}
	if n == 0 {
		return 0, 0, usagef("--frames %d:%d: the recording has no frames; eideticker analyze FILE quality states why",
			from, to)
	}
	if from >= n || to > n {
		end := fmt.Sprint(f.to)
		if f.open {
			end = ""
		}
		return 0, 0, usagef("frames %d:%s are outside the recording, which has frames 0:%d", f.from, end, n)
	}
	return from, to, nil
}

// regionFlag is WxH+X+Y.
type regionFlag frame.Region

func (r *regionFlag) UnmarshalText(text []byte) error {
	region, err := frame.ParseRegion(string(text))
	*r = regionFlag(region)
	return err
}

// colourFlag is RRGGBB, with or without a #.
type colourFlag uint32

func (c *colourFlag) UnmarshalText(text []byte) error {
	digits := strings.TrimPrefix(string(text), "#")
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) != 6 {
		return fmt.Errorf("colour %q: must be RRGGBB, such as ff8000", text)
	}
	*c = colourFlag(v)
	return nil
}

// count returns the number of given flags.
func count(given ...bool) (n int) {
	for _, is := range given {
		if is {
			n++
		}
	}
	return n
}

// positive returns a duration that was given, or 0 for none.
func positive(flag string, d *time.Duration) (time.Duration, error) {
	switch {
	case d == nil:
		return 0, nil
	case *d <= 0:
		return 0, usagef("%s %v must be positive", flag, *d)
	}
	return *d, nil
}

// readBounded reads a file up to one byte more than most, so that the caller can reject it.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // was only read
	return io.ReadAll(io.LimitReader(f, most+1))
}

// measureNames reads names of measures, separated or with commas. An unknown one is an error with
// a suggestion.
func measureNames(given []string) (names []string, err error) {
	known := append(analyze.Names(), quality.Name)
	for _, text := range given {
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			if err := analyze.CheckNames([]string{name}); err != nil {
				return nil, fmt.Errorf("%w%s", err, wording.Near(name, known))
			}
			names = append(names, name)
		}
	}
	return names, nil
}
