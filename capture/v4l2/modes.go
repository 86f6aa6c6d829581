package v4l2

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// Mode is a size and a rate that an EDID can offer.
type Mode struct {
	Width, Height int
	Period        capture.Rational
}

func (m Mode) String() string {
	return fmt.Sprintf("%dx%d@%s", m.Width, m.Height, rateString(m.Period))
}

// maxModes is how many modes one EDID of two blocks has room for, each as a detailed timing.
const maxModes = 6

// ParseModes reads "1920x1080@60,1280x720@59.94".
func ParseModes(s string) ([]Mode, error) {
	var all []Mode
	for item := range strings.SplitSeq(s, ",") {
		size, rate, ok := strings.Cut(item, "@")
		var m Mode
		if !ok || parseSize(size, &m.Width, &m.Height) != nil {
			return nil, fmt.Errorf("bad mode %q: want WxH@RATE, such as 1920x1080@60", item)
		}
		var err error
		if m.Period.Num, m.Period.Den, err = frame.ParseRate(rate); err != nil {
			return nil, fmt.Errorf("mode %s: %w", item, err)
		}
		if _, err := m.timing(); err != nil {
			return nil, fmt.Errorf("mode %s: %w", item, err)
		}
		all = append(all, m)
	}
	if len(all) > maxModes {
		return nil, fmt.Errorf("%d modes are too many: an EDID has room for %d", len(all), maxModes)
	}
	return all, nil
}

// timing is how a mode is sent, blanking and all.
type timing struct {
	clock         int // units of 10 kHz, as in an EDID
	width, height int
	hfp, hs, hbp  int // pixels
	vfp, vs, vbp  int // lines
	hPos, vPos    bool
	vic           int // CTA-861, or 0
}

// ctaMode is a mode of CTA-861-G, table 1. Rates are those that the name says; each also stands for
// the rate divided by 1.001, with the clock slower by the same.
type ctaMode struct {
	width, height, rate int
	t                   timing
}

// ctaModes is never written to.
var ctaModes = [...]ctaMode{
	{640, 480, 60, timing{2520, 640, 480, 16, 96, 48, 10, 2, 33, false, false, 1}},
	{720, 480, 60, timing{2703, 720, 480, 16, 62, 60, 9, 6, 30, false, false, 3}},
	{720, 576, 50, timing{2700, 720, 576, 12, 64, 68, 5, 5, 39, false, false, 18}},
	{1280, 720, 24, timing{5940, 1280, 720, 1760, 40, 220, 5, 5, 20, true, true, 60}},
	{1280, 720, 25, timing{7425, 1280, 720, 2420, 40, 220, 5, 5, 20, true, true, 61}},
	{1280, 720, 30, timing{7425, 1280, 720, 1760, 40, 220, 5, 5, 20, true, true, 62}},
	{1280, 720, 50, timing{7425, 1280, 720, 440, 40, 220, 5, 5, 20, true, true, 19}},
	{1280, 720, 60, timing{7425, 1280, 720, 110, 40, 220, 5, 5, 20, true, true, 4}},
	{1280, 720, 120, timing{14850, 1280, 720, 110, 40, 220, 5, 5, 20, true, true, 47}},
	{1920, 1080, 24, timing{7425, 1920, 1080, 638, 44, 148, 4, 5, 36, true, true, 32}},
	{1920, 1080, 25, timing{7425, 1920, 1080, 528, 44, 148, 4, 5, 36, true, true, 33}},
	{1920, 1080, 30, timing{7425, 1920, 1080, 88, 44, 148, 4, 5, 36, true, true, 34}},
	{1920, 1080, 50, timing{14850, 1920, 1080, 528, 44, 148, 4, 5, 36, true, true, 31}},
	{1920, 1080, 60, timing{14850, 1920, 1080, 88, 44, 148, 4, 5, 36, true, true, 16}},
	{1920, 1080, 120, timing{29700, 1920, 1080, 88, 44, 148, 4, 5, 36, true, true, 63}},
	{3840, 2160, 24, timing{29700, 3840, 2160, 1276, 88, 296, 8, 10, 72, true, true, 93}},
	{3840, 2160, 25, timing{29700, 3840, 2160, 1056, 88, 296, 8, 10, 72, true, true, 94}},
	{3840, 2160, 30, timing{29700, 3840, 2160, 176, 88, 296, 8, 10, 72, true, true, 95}},
	{3840, 2160, 50, timing{59400, 3840, 2160, 1056, 88, 296, 8, 10, 72, true, true, 96}},
	{3840, 2160, 60, timing{59400, 3840, 2160, 176, 88, 296, 8, 10, 72, true, true, 97}},
}

// Limits of a detailed timing descriptor: VESA E-EDID A2, table 3.21.
const (
	maxDTDClock = 1<<16 - 1
	maxDTDSide  = 1<<12 - 1
	maxDTDPorch = 1<<10 - 1
)

// timing returns how a mode is sent: as CTA-861 has it, else as VESA's Coordinated Video Timings
// with reduced blanking do.
func (m Mode) timing() (timing, error) {
	t, ok := m.cta()
	if !ok {
		var err error
		if t, err = m.cvt(); err != nil {
			return t, err
		}
	}
	if t.clock < 1 || t.clock > maxDTDClock || t.width > maxDTDSide || t.height > maxDTDSide || t.hfp > maxDTDPorch*2 ||
		t.vbp+t.vfp+t.vs > maxDTDSide {
		return t, fmt.Errorf("not possible in an EDID: at most %dx%d and a pixel clock of 655 MHz", maxDTDSide,
			maxDTDSide)
	}
	return t, nil
}

func (m Mode) cta() (timing, bool) {
	for _, c := range ctaModes {
		if c.width != m.Width || c.height != m.Height {
			continue
		}
		switch m.Period {
		case capture.Rational{Num: 1, Den: int64(c.rate)}:
			return c.t, true
		case capture.Rational{Num: 1001, Den: int64(c.rate) * 1000}:
			t := c.t
			t.clock = (t.clock*1000 + 500) / 1001
			t.vic = 0 // it stands for both rates, of which only one is wanted
			return t, true
		}
	}
	return timing{}, false
}

// cvt computes timings with reduced blanking: VESA CVT 1.2, section 5.4 (reduced blanking version
// 1). Times are in nanoseconds.
func (m Mode) cvt() (timing, error) {
	const (
		hBlank, hFront, hSync = 160, 48, 32
		vFront, minVBack      = 3, 6
		minVBlank             = 460_000
		clockStep             = 25 // units of 10 kHz
	)
	if m.Width < 64 || m.Height < 64 || m.Width%2 != 0 || m.Width > maxDTDSide || m.Height > maxDTDSide {
		return timing{}, fmt.Errorf("must have an even width, and be 64x64 to %dx%d", maxDTDSide, maxDTDSide)
	}
	period := m.Period.Duration(1).Nanoseconds()
	if period < 2*minVBlank || period > 1e9/10 {
		return timing{}, fmt.Errorf("must be 10 to 1000 frames per second")
	}
	vSync := cvtSync(m.Width, m.Height)
	line := (period - minVBlank) / int64(m.Height)
	if line < 1 {
		return timing{}, fmt.Errorf("too many lines for the time")
	}
	vBlank := max(int(minVBlank/line)+1, vFront+vSync+minVBack)
	pixels := int64(m.Width+hBlank) * int64(m.Height+vBlank)
	// Pixels a period ÷ period, in units of 10 kHz, rounded down to the step.
	clock := pixels * m.Period.Den / (m.Period.Num * 10_000)
	return timing{
		clock: int(min(clock, 1<<20)) / clockStep * clockStep, width: m.Width, height: m.Height,
		hfp: hFront, hs: hSync, hbp: hBlank - hFront - hSync,
		vfp: vFront, vs: vSync, vbp: vBlank - vFront - vSync, hPos: true,
	}, nil
}

// cvtSync is the height of the vertical sync, which tells the shape of the picture.
func cvtSync(w, h int) int {
	switch {
	case h*4 == w*3:
		return 4
	case h*16 == w*9:
		return 5
	case h*16 == w*10:
		return 6
	case h*5 == w*4, h*15 == w*9:
		return 7
	}
	return 10
}
