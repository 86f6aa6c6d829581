package touch

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
	"github.com/eideticker/eideticker/pattern"
)

// fileError says where a file is not as it should be.
type fileError struct {
	File string
	Line int // 0: the whole
	Err  error
}

func (e *fileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *fileError) Unwrap() error { return e.Err }

// Read reads a recording. The name is for its errors.
func Read(name string, from io.Reader) (*Recording, error) {
	limited := &io.LimitedReader{R: from, N: maxFile + 1}
	lines := bufio.NewScanner(limited)
	r := &reader{}
	n := 0
	for lines.Scan() {
		n++
		if err := r.line(lines.Text()); err != nil {
			return nil, &fileError{name, n, err}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &fileError{name, n + 1, err}
	}
	if limited.N <= 0 {
		return nil, &fileError{name, 0, fmt.Errorf("the file is larger than %d bytes", maxFile)}
	}
	if err := r.lift(); err != nil {
		return nil, &fileError{name, n, err}
	}
	if len(r.reports) == 0 {
		return nil, &fileError{name, 0,
			fmt.Errorf("no finger touches anything: is it the output of getevent -lt?")}
	}
	return &Recording{MaxX: r.maxX, MaxY: r.maxY, Reports: r.reports}, nil
}

// reader reads lines of getevent.
type reader struct {
	hand
	maxX, maxY int
	node       string // the touch screen's; "" until one is known
	about      string // the node whose axes are being listed
}

var (
	nodeLine = pattern.New(`^add device \d+: (\S+)`)
	axisLine = pattern.New(
		`\b(ABS_MT_POSITION_X|ABS_MT_POSITION_Y|0035|0036)\s*: +value -?\d+, min (-?\d+), max (\d+)`)
	// [ 12345.678901] /dev/input/event2: EV_ABS ABS_MT_SLOT 00000001, with or without the node, in
	// names or in hexadecimal numbers
	eventLine = pattern.New(`^\[\s*(\d{1,10})\.(\d{6})\]\s+(?:(/dev/input/\S+):\s+)?(\S+)\s+(\S+)\s+(\S+)`)
)

func (r *reader) line(text string) error {
	switch text = strings.TrimSpace(text); {
	case text == "", strings.HasPrefix(text, "#"):
		return nil
	case strings.HasPrefix(text, "["):
		return r.stamped(text)
	}
	if m := nodeLine.FindStringSubmatch(text); m != nil {
		r.about = strings.TrimSuffix(m[1], ":")
		return nil
	}
	if m := axisLine.FindStringSubmatch(text); m != nil {
		return r.reach(m[1], m[2], m[3])
	}
	return nil // other output of getevent -p about a device
}

// reach takes how far an axis goes.
func (r *reader) reach(axis, least, most string) error {
	n, err := strconv.Atoi(most)
	if err != nil || n < 1 || n > input.MaxPlace || least != "0" {
		return fmt.Errorf("places from %.20s to %.20s: want 0 to at most %d", least, most, input.MaxPlace)
	}
	if r.node != "" && r.node != r.about {
		return nil // another touch screen than the first
	}
	r.node = r.about
	if axis == "ABS_MT_POSITION_X" || axis == "0035" {
		r.maxX = n
	} else {
		r.maxY = n
	}
	return nil
}

// stamped takes a line with a time.
func (r *reader) stamped(text string) error {
	m := eventLine.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%.80q is not an event: want what getevent -lt prints", text)
	}
	if m[3] != "" && r.node != "" && m[3] != r.node {
		return nil
	}
	seconds, _ := strconv.ParseInt(m[1], 10, 64) // ten digits
	micros, _ := strconv.ParseInt(m[2], 10, 64)  // six
	e, known, err := event(m[4], m[5], m[6])
	if err != nil || !known {
		return err
	}
	if m[3] != "" && r.node == "" && e.Type == evdev.Abs {
		r.node = m[3] // the first node with fingers is the touch screen
	}
	return r.event(time.Duration(seconds)*time.Second+time.Duration(micros)*time.Microsecond, e)
}

var types = map[string]uint16{"EV_SYN": evdev.Syn, "EV_ABS": evdev.Abs, "EV_KEY": evdev.Key}

var codes = map[string]uint16{
	"SYN_REPORT": evdev.Report, "SYN_DROPPED": evdev.Dropped, "SYN_MT_REPORT": mtReport,
	"ABS_MT_SLOT": evdev.AbsMTSlot, "ABS_MT_TRACKING_ID": evdev.AbsMTTrackingID,
	"ABS_MT_POSITION_X": evdev.AbsMTPositionX, "ABS_MT_POSITION_Y": evdev.AbsMTPositionY,
}

// event reads type, code and value. Names that do not matter here are not known.
func event(typ, code, value string) (e evdev.Event, known bool, err error) {
	number := func(text string, names map[string]uint16) (uint16, bool) {
		if n, ok := names[text]; ok {
			return n, true
		}
		n, err := strconv.ParseUint(text, 16, 16)
		return uint16(n), err == nil && len(text) == 4
	}
	var ok bool
	if e.Type, ok = number(typ, types); !ok || e.Type != evdev.Syn && e.Type != evdev.Abs {
		return e, false, nil
	}
	if e.Code, ok = number(code, codes); !ok {
		return e, false, nil
	}
	v, err := strconv.ParseUint(value, 16, 32)
	if err != nil {
		return e, false, fmt.Errorf("invalid value %.20q: want eight hexadecimal digits", value)
	}
	e.Value = int32(uint32(v))
	return e, true, nil
}
