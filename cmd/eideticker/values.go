package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/config/spelling"
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

// measureNames are names of measures on the command line, apart or with commas between them. One
// that there is not is answered with what may be meant.
func measureNames(given []string) (names []string, err error) {
	known := append(analyze.Names(), analyze.QualityName)
	for _, text := range given {
		for name := range strings.SplitSeq(text, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			if err := analyze.CheckNames([]string{name}); err != nil {
				if near := spelling.Nearest(name, known); near != "" {
					return nil, fmt.Errorf("%w; did you mean %s?", err, near)
				}
				return nil, err
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// checkValue refuses what is neither one of some measures nor a value of one.
func checkValue(name string, measures []string) error {
	measure, value, dotted := strings.Cut(name, ".")
	if !slices.Contains(measures, measure) {
		if near := spelling.Nearest(measure, measures); near != "" {
			return fmt.Errorf("no measure %s here; did you mean %s?", measure, near)
		}
		return fmt.Errorf("no measure %s here; known: %s", measure, strings.Join(measures, ", "))
	}
	values := analyze.Values(measure)
	if !dotted || slices.Contains(values, value) {
		return nil
	}
	if near := spelling.Nearest(value, values); near != "" {
		return fmt.Errorf("%s is not a value of %s; did you mean %s.%s?", name, measure, measure, near)
	}
	const most = 24 // load figures have many
	there := strings.Join(values[:min(len(values), most)], ", ")
	if more := len(values) - most; more > 0 {
		there += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%s is not a value of %s; known: %s", name, measure, there)
}
