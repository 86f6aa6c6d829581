package adbtest

import (
	"slices"
	"sync"
)

// Phone is a device that records its input.
type Phone struct {
	mu    sync.Mutex
	lines []string // of uinput
	raw   []byte   // of the touch screen
	bye   chan bool
	told  func(line string)
}

// NewPhone returns a device. told, if not nil, is called for each line that its command uinput
// gets.
func NewPhone(told func(line string)) *Phone { return &Phone{bye: make(chan bool, 100), told: told} }

// Bye gets a value whenever a command that takes input has ended.
func (a *Phone) Bye() <-chan bool { return a.bye }

// Lines are those that the command uinput got.
func (a *Phone) Lines() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.lines)
}

// Raw returns the bytes written to the touch screen's own device file.
func (a *Phone) Raw() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.raw)
}

// Shells are the device's commands, with those of uinput, evdev and input that it has.
func (a *Phone) Shells(has ...string) []Command {
	all := []Command{{"wm size", Say("Physical size: 1080x2400\nOverride size: 540x1200\n")}, {"cat >", a.glass},
		{"cat", cat}, {"uname", Say("aarch64\n")}}
	for _, name := range []string{"uinput", "input"} {
		code := byte(1)
		if slices.Contains(has, name) {
			code = 0
		}
		all = append(all, Command{"command -v " + name, exit(code)})
	}
	writable := byte(1)
	if slices.Contains(has, "evdev") {
		writable = 0
	}
	return append(all,
		Command{"getevent -i", Say("2\n2\n")}, Command{"getevent -p", Say(Getevent)},
		Command{"test -w /dev/input/event2", exit(writable)},
		Command{"uinput -", a.uinput}, Command{"input ", exit(0)})
}

// Getevent is what "getevent -p" says.
const Getevent = `add device 1: /dev/input/event0
  name:     "gpio-keys"
  events:
    KEY (0001): 0072  0073  0074
add device 2: /dev/input/event2
  name:     "fts_ts"
  events:
    KEY (0001): 008f  014a
    ABS (0003): 002f  : value 0, min 0, max 9, fuzz 0, flat 0, resolution 0
                0035  : value 0, min 0, max 1079, fuzz 0, flat 0, resolution 0
                0036  : value 0, min 0, max 2399, fuzz 0, flat 0, resolution 0
                0039  : value 0, min 0, max 65535, fuzz 0, flat 0, resolution 0
  input props:
    INPUT_PROP_DIRECT
`

func (a *Phone) uinput(s *Session) byte {
	for {
		b, ok := s.Hear()
		if !ok {
			a.bye <- true
			return 0
		}
		a.mu.Lock()
		a.lines = append(a.lines, string(b))
		a.mu.Unlock()
		if a.told != nil {
			a.told(string(b))
		}
	}
}

func (a *Phone) glass(s *Session) byte {
	for {
		b, ok := s.Hear()
		if !ok {
			a.bye <- true
			return 0
		}
		a.mu.Lock()
		a.raw = append(a.raw, b...)
		a.mu.Unlock()
	}
}
