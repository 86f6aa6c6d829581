package v4l2

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// memory says where the driver puts frames.
type memory string

const (
	memMMAP    memory = "mmap"
	memUserPtr memory = "userptr"
	memDMABUF  memory = "dmabuf"
)

// settings are a source's parameters.
type settings struct {
	input         int              // -1: as it is
	fourcc        string           // "": choose
	width, height int              // 0: as the signal or the device says
	period        capture.Rational // 0/0: as the signal or the device says
	memory        memory
	buffers       int
	edid          []Mode        // nil: leave it
	wait          time.Duration // for a signal, when opening
}

// defaultBuffers lets a driver continue while one frame is copied and the thread is late by two.
const (
	defaultBuffers = 6
	maxBuffers     = 32 // VIDEO_MAX_FRAME of videodev2.h
)

func paramNames() []string {
	return []string{"input", "format", "size", "fps", "memory", "buffers", "edid", "wait"}
}

func parseParams(params url.Values) (s settings, err error) {
	s = settings{input: -1, memory: memMMAP, buffers: defaultBuffers, wait: 3 * time.Second}
	for _, p := range []struct {
		name  string
		parse func(string) error
	}{
		{"input", func(v string) error { return parseCount(v, 0, 63, &s.input) }},
		{"format", func(v string) error { return parseFourcc(v, &s.fourcc) }},
		{"size", func(v string) error { return parseSize(v, &s.width, &s.height) }},
		{"fps", func(v string) error { s.period.Num, s.period.Den, err = frame.ParseRate(v); return err }},
		{"memory", func(v string) error { return parseMemory(v, &s.memory) }},
		{"buffers", func(v string) error { return parseCount(v, 2, maxBuffers, &s.buffers) }},
		{"edid", func(v string) error { s.edid, err = ParseModes(v); return err }},
		{"wait", func(v string) error { return parseWait(v, &s.wait) }},
	} {
		if params.Has(p.name) {
			if err := p.parse(params.Get(p.name)); err != nil {
				return s, fmt.Errorf("parameter %s: %w", p.name, err)
			}
		}
	}
	return s, nil
}

func parseCount(v string, least, most int, to *int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return fmt.Errorf("bad number %q: want %d to %d", v, least, most)
	}
	*to = n
	return nil
}

// parseFourcc takes any four characters: the driver may have formats that frames have no name for,
// and the refusal then lists what it has.
func parseFourcc(v string, to *string) error {
	if len(v) != 4 || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Errorf("bad pixel format %q: want four characters, such as BGR4, YUYV or NV12", v)
	}
	*to = strings.ToUpper(v)
	return nil
}

func parseSize(v string, width, height *int) error {
	w, h, ok := strings.Cut(v, "x")
	if !ok || parseCount(w, 1, frame.MaxSide, width) != nil || parseCount(h, 1, frame.MaxSide, height) != nil {
		return fmt.Errorf("bad size %q: want WxH, such as 1920x1080", v)
	}
	return nil
}

func parseMemory(v string, to *memory) error {
	all := []memory{memMMAP, memUserPtr, memDMABUF}
	if !slices.Contains(all, memory(v)) {
		return fmt.Errorf("unknown kind %q: use one of mmap userptr dmabuf", v)
	}
	*to = memory(v)
	return nil
}

func parseWait(v string, to *time.Duration) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || d > time.Hour {
		return fmt.Errorf("bad duration %q: want a time such as 10s, at most 1h", v)
	}
	*to = d
	return nil
}
