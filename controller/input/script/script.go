// Package script reads the input scripts of the first Eideticker, which its input box replayed on
// the phone's touch screen.
//
// A line is a command:
//
//	tap X Y TIMES MS                          touch a place TIMES times, for MS milliseconds each;
//	drag X1 Y1 X2 Y2 STEPS MS                 draw a finger between two places in STEPS steps;
//	pinch X1 Y1 X2 Y2 X3 Y3 X4 Y4 STEPS MS    the same with two fingers: from the first place to
//	                                          the second, and from the third to the fourth;
//	sleep MS                                  pause;
//	keydown KEY, keyup KEY                    a number of linux/input-event-codes.h, or a name of
//	                                          package input.
//
// Places are pixels of the area that the script plays in. Words are separated by blanks. Empty
// lines and lines that begin with # are ignored. A tap's pause before the next one is as long as
// the tap.
package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/input"
)

// Bounds of a script.
const (
	maxActions  = 100_000
	maxDuration = time.Hour
	maxTimes    = 10_000
)

// Error says which line is not as it should be.
type Error struct {
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("script, line %d: %v", e.Line, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// Parse returns what a script does, moved by dx, dy pixels.
func Parse(text string, dx, dy float64) ([]input.Timed, error) {
	p := parser{dx: dx, dy: dy}
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := p.command(words[0], words[1:]); err != nil {
			return nil, &Error{n, err}
		}
		if len(p.all) > maxActions || p.at > maxDuration {
			return nil, &Error{n, fmt.Errorf("the script is longer than %v or %d actions", maxDuration, maxActions)}
		}
	}
	return p.all, nil
}

type parser struct {
	dx, dy float64
	at     time.Duration
	all    []input.Timed
}

func (p *parser) do(actions ...input.Action) {
	p.all = append(p.all, input.Timed{After: p.at, Actions: actions})
}

func (p *parser) command(name string, words []string) error {
	wanted := map[string]int{"tap": 4, "drag": 6, "pinch": 10, "sleep": 1, "keydown": 1, "keyup": 1}
	n, ok := wanted[name]
	if !ok {
		return fmt.Errorf("unknown command %.40q; known: tap, drag, pinch, sleep, keydown and keyup", name)
	}
	if len(words) != n {
		return fmt.Errorf("%s has %d words behind it, want %d", name, len(words), n)
	}
	if name == "keydown" || name == "keyup" {
		return p.key(name, words[0])
	}
	var v []int
	for _, w := range words {
		i, err := strconv.Atoi(w)
		if err != nil || i < 0 || i > input.MaxPlace && name != "sleep" || i > int(maxDuration/time.Millisecond) {
			return fmt.Errorf("%s: %.20q is not a number from 0 to %d", name, w, input.MaxPlace)
		}
		v = append(v, i)
	}
	switch name {
	case "tap":
		return p.tap(p.place(v[0], v[1]), v[2], millis(v[3]))
	case "drag":
		return p.draw([][2][2]float64{{p.place(v[0], v[1]), p.place(v[2], v[3])}}, v[4], millis(v[5]))
	case "pinch":
		return p.draw([][2][2]float64{{p.place(v[0], v[1]), p.place(v[2], v[3])},
			{p.place(v[4], v[5]), p.place(v[6], v[7])}}, v[8], millis(v[9]))
	}
	p.at += millis(v[0])
	return nil
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func (p *parser) place(x, y int) [2]float64 { return [2]float64{p.dx + float64(x), p.dy + float64(y)} }

func (p *parser) tap(at [2]float64, times int, long time.Duration) error {
	if times < 1 || times > maxTimes {
		return fmt.Errorf("tap %d times: want 1 to %d", times, maxTimes)
	}
	for i := range times {
		if i > 0 {
			p.at += long
		}
		p.do(input.TouchDown{X: at[0], Y: at[1]})
		p.at += long
		p.do(input.TouchUp{})
	}
	return nil
}

// draw moves fingers along straight lines, each step at its time.
func (p *parser) draw(lines [][2][2]float64, steps int, long time.Duration) error {
	if steps < 1 || steps > maxTimes {
		return fmt.Errorf("%d steps: want 1 to %d", steps, maxTimes)
	}
	began := p.at
	for k := range steps + 1 {
		p.at = began + long*time.Duration(k)/time.Duration(steps)
		var now []input.Action
		for finger, l := range lines {
			u := float64(k) / float64(steps)
			x, y := l[0][0]+(l[1][0]-l[0][0])*u, l[0][1]+(l[1][1]-l[0][1])*u
			if k == 0 {
				now = append(now, input.TouchDown{Finger: finger, X: x, Y: y})
			} else {
				now = append(now, input.TouchMove{Finger: finger, X: x, Y: y})
			}
		}
		p.do(now...)
	}
	var up []input.Action
	for finger := range lines {
		up = append(up, input.TouchUp{Finger: finger})
	}
	p.do(up...)
	return nil
}

func (p *parser) key(name, word string) error {
	k, err := key(word)
	if err != nil {
		return err
	}
	if name == "keydown" {
		p.do(input.KeyDown{Key: k})
	} else {
		p.do(input.KeyUp{Key: k})
	}
	return nil
}

// key finds a key by its number in the kernel, or by its name. A single digit is a number, as it
// was.
func key(word string) (input.Key, error) {
	if n, err := strconv.ParseUint(word, 10, 16); err == nil {
		for _, k := range input.Keys() {
			if c, _ := k.Codes(); uint64(c.Evdev) == n {
				return k, nil
			}
		}
		return "", fmt.Errorf("no key of a keyboard has the number %s", word)
	}
	return input.ParseKey(word)
}
