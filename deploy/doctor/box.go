package doctor

import (
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
)

// Box has the facts about a machine.
type Box struct {
	// its root directory; reads only sys, proc, dev and etc, run and the folders of units and rules
	Root    fs.FS
	CPUs    int      // that the program may use
	Devices []Device // capture devices
	Screens []Screen // X displays
	Disk    Disk
	Clock   Clock
	// LookPath finds programs, as exec.LookPath does.
	LookPath func(name string) (string, error)
	// Access tells why this user may not read and write a file, as Access does.
	Access  func(path string) error
	Phones  Phones
	Agents  []Agent // of devices
	Service Service
	Storage []Storage // of a hub with an external cluster
}

// Device is a capture device, as far as the doctor cares.
type Device struct {
	Path   string // "/dev/video0"
	Card   string // its name
	Driver string
	Signal Signal
	State  string // the signal's state in words, such as "no cable"
	// Timings are those that the receiver detects, such as "1920x1080p59.94", or empty.
	Timings string
	Mode    *Mode  // what would be recorded now; nil if that is not known
	Refused string // why the signal is not recorded, or empty
	Holders string // other programs that have it open
	Streams bool   // and one of them streams from it
	Err     error  // why it could not be asked
}

// Signal says whether there is one.
type Signal uint8

const (
	signalUnknown Signal = iota // the device does not tell
	signalPresent
	signalMissing
)

// Mode is a format and the time from frame to frame, Num/Den seconds.
type Mode struct {
	Format   frame.Format
	Num, Den int64
}

// bytesPerSecond is how much comes of it.
func (m Mode) bytesPerSecond() float64 {
	return float64(m.Format.Size()) * float64(m.Den) / float64(m.Num)
}

func (m Mode) String() string {
	return m.Format.String() + " at " + strconv.FormatFloat(float64(m.Den)/float64(m.Num), 'f', -1, 32) + " frames/s"
}

// Screen is an X display.
type Screen struct {
	Name string // ":9"
	Size string // "1920x1080"
	Err  error
}

// need is what the inputs deliver together.
type need struct {
	modes   []Mode
	assumed bool // no input has a signal: one that is usual is taken
}

// need collects the modes of all inputs that have a signal, or don't tell.
func (b *Box) need() need {
	var n need
	for _, d := range b.Devices {
		if d.Mode != nil && d.Signal != signalMissing {
			n.modes = append(n.modes, *d.Mode)
		}
	}
	if len(n.modes) == 0 {
		n.assumed = true
		n.modes = []Mode{{Format: frame.Format{Width: 1920, Height: 1080, Stride: 1920 * 4, Pixel: frame.BGR4}, Num: 1,
			Den: 60}}
	}
	return n
}

func (n need) bytesPerSecond() (sum float64) {
	for _, m := range n.modes {
		sum += m.bytesPerSecond()
	}
	return sum
}

// period is the shortest time from frame to frame.
func (n need) period() time.Duration {
	least := time.Duration(0)
	for _, m := range n.modes {
		p := time.Duration(float64(time.Second) * float64(m.Num) / float64(m.Den))
		if least == 0 || p < least {
			least = p
		}
	}
	return least
}

func (n need) String() string {
	switch {
	case n.assumed:
		return "one assumed input of 1920x1080 BGR4 at 60 frames/s (no input has a signal)"
	case len(n.modes) == 1:
		return n.modes[0].String()
	}
	return strconv.Itoa(len(n.modes)) + " inputs at once"
}

// maxFile bounds the bytes read of a file: the kernel's are short.
const maxFile = 1 << 20

// text returns a file without the white space around it.
func (b *Box) text(name string) (string, bool) {
	f, err := b.Root.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close() // was only read
	content, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(content)), true
}

// number returns what a file of one number says; words after it are not looked at.
func (b *Box) number(name string) (float64, bool) {
	s, ok := b.text(name)
	first, _, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(first, 64)
	if !ok || err != nil || !(v >= 0 && v < 1e18) {
		return 0, false
	}
	return v, true
}

// field returns the value of "Name:   value" in a file of such lines.
func (b *Box) field(name, key string) (string, bool) {
	s, _ := b.text(name)
	for line := range strings.Lines(s) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

func (b *Box) exists(name string) bool {
	_, err := fs.Stat(b.Root, name)
	return err == nil
}
