package raw

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
)

// Limits of a Y4M stream's text.
const (
	maxLine       = 4096    // bytes of a header or frame line, the line feed included
	maxFrameLines = 1 << 20 // bytes of all frame lines that have to be kept
)

const (
	streamMagic = "YUV4MPEG2"
	frameMagic  = "FRAME"
)

// y4mHeader is what a stream header says about the pixels.
type y4mHeader struct {
	format frame.Format
	period capture.Rational
}

// colourTags returns the pixel format of each C parameter that is read. They differ in where chroma
// samples lie between the pixels, which does not change the bytes.
func colourTags() map[string]frame.PixelFormat {
	return map[string]frame.PixelFormat{
		"420jpeg": frame.YU12, "420mpeg2": frame.YU12, "420paldv": frame.YU12, "420": frame.YU12,
		"422": frame.P422, "444": frame.P444, "mono": frame.GREY,
	}
}

// parseHeader reads a stream header line (without its line feed), as yuv4mpeg(5) of the mjpegtools
// has it. Errors carry the offset in the line, which is that in the file.
func parseHeader(line string) (y4mHeader, error) {
	var h y4mHeader
	if err := checkLine(line, streamMagic); err != nil {
		return h, err
	}
	width, height, ranged := 0, 0, frame.LimitedRange
	pixel := frame.YU12 // where no C is given
	seen := map[byte]bool{}
	at := len(streamMagic)
	for _, field := range strings.Split(line[at:], " ")[1:] {
		at++
		offset := at
		at += len(field)
		if field == "" {
			continue
		}
		tag, value := field[0], field[1:]
		bad := func(what string) error { return fmt.Errorf("offset %d: %s: %q", offset, what, field) }
		if seen[tag] && tag != 'X' {
			return h, bad("given twice")
		}
		seen[tag] = true
		ok := true
		var err error
		switch tag {
		case 'W':
			width, ok = parseSide(value)
		case 'H':
			height, ok = parseSide(value)
		case 'F':
			rate, den, _ := strings.Cut(value, ":")
			if h.period.Num, h.period.Den, err = frame.ParseRate(rate + "/" + den); err != nil ||
				strings.Contains(value, ".") {
				return h, bad("no frame rate that can be recorded (want F60:1 or the like)")
			}
		case 'C':
			if pixel, ok = colourTags()[value]; !ok {
				return h, bad(unreadableColour(value))
			}
		case 'I', 'A': // interlacing and aspect don't change the bytes
		case 'X':
			if value == "COLORRANGE=FULL" {
				ranged = frame.FullRange
			}
		default:
			return h, bad("unknown parameter")
		}
		if !ok {
			return h, bad(fmt.Sprintf("no side of 1 to %d pixels", frame.MaxSide))
		}
	}
	for _, tag := range []byte("WHF") {
		if !seen[tag] {
			return h, fmt.Errorf("offset %d: the header ends without %c", len(line), tag)
		}
	}
	var err error
	if h.format, err = frame.NewFormat(pixel, width, height); err != nil {
		return h, fmt.Errorf("offset 0: %w", err)
	}
	h.format.Range = ranged
	return h, nil
}

func parseSide(s string) (int, bool) {
	n, _, err := frame.ParseSize(s + "x1")
	return n, err == nil
}

// unreadableColour says why a colour space is refused.
func unreadableColour(value string) string {
	const known = "420jpeg 420mpeg2 420paldv 420 422 444 mono"
	switch {
	case strings.Contains(value, "alpha"):
		return "frames with alpha are not supported; use one of " + known
	case strings.HasPrefix(value, "mono") || strings.Contains(value, "p1") || strings.Contains(value, "p9"):
		return "more than 8 bits a sample are not supported; use one of " + known
	}
	return "unknown colour space; use one of " + known
}

// checkLine checks a line's first word and its characters.
func checkLine(line, magic string) error {
	word, _, _ := strings.Cut(line, " ")
	if word != magic {
		return fmt.Errorf("offset 0: want %q, found %.16q", magic, line)
	}
	if len(line) >= maxLine {
		return fmt.Errorf("offset %d: the line is longer than %d bytes", maxLine, maxLine)
	}
	for i := range len(line) {
		if line[i] < ' ' || line[i] > '~' {
			return fmt.Errorf("offset %d: byte 0x%02x is not allowed in a line of parameters", i, line[i])
		}
	}
	return nil
}
