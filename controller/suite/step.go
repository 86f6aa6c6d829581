package suite

import (
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/controller/input"
)

// Step is one thing that a test does, and where its file says so. In the file it is a mapping with
// one key, the action's name.
type Step struct {
	Action
	Line int
}

// Action is what a step does: one of the types below, never a pointer to one.
type Action interface {
	// Verb returns the key that the action has in files.
	Verb() string
}

type (
	// Launch starts the browser, which then was not started before the recording. It is the first
	// step. Its event is the T0 of windows that open.
	Launch struct{}

	// Load goes to an address in the platform's own way, as a user would: focus the address bar,
	// type, go.
	Load struct {
		URL string
	}

	// Key presses keys together, and lets go of them in the other order.
	Key struct {
		Chord Chord         `yaml:"chord" need:"true"`
		Hold  time.Duration `yaml:"hold"`                      // between the last press and the first release
		Times int           `yaml:"times" min:"1" max:"10000"` // at least 1
		Every time.Duration `yaml:"every"`                     // from press to press, where it is done several times
	}

	// Text types text, through the input method where the platform has one.
	Text struct {
		Text  string        `yaml:"text" need:"true"`
		Every time.Duration `yaml:"every"` // from character to character; 0: as fast as the driver can
	}

	// Click moves the pointer to a point and presses a button there.
	Click struct {
		At     Point        `yaml:"at" need:"true"`
		Button input.Button `yaml:"button"` // input.Left where the file says nothing
		// at least 1; 2 is a double click, with DoubleClick from press to press
		Times int           `yaml:"times" min:"1" max:"10000"`
		Hold  time.Duration `yaml:"hold"` // between press and release
	}

	// Tap touches a point with one finger and lifts it.
	Tap struct {
		At    Point         `yaml:"at" need:"true"`
		Times int           `yaml:"times" min:"1" max:"10000"` // at least 1, with DoubleClick from touch to touch
		Hold  time.Duration `yaml:"hold"`
	}

	// Move brings the pointer to a point, in a straight line from where it is, or from From.
	Move struct {
		To       Point         `yaml:"to" need:"true"`
		From     *Point        `yaml:"from"`     // nil: from where it is
		Duration time.Duration `yaml:"duration"` // 0: at once
	}

	// Hover brings the pointer to a point at once and leaves it there.
	Hover struct {
		At  Point         `yaml:"at" need:"true"`
		For time.Duration `yaml:"for"` // until the next step begins
	}

	// Drag presses a button at a point and lets go of it at another one, moving at one speed.
	Drag struct {
		From     Point         `yaml:"from" need:"true"`
		Via      []Point       `yaml:"via"`
		To       Point         `yaml:"to" need:"true"`
		Button   input.Button  `yaml:"button"`
		Duration time.Duration `yaml:"duration"`
	}

	// Wheel turns the wheel over a point.
	Wheel struct {
		At    *Point        `yaml:"at"`                        // nil: where the pointer is
		X     int           `yaml:"x" min:"-1000" max:"1000"`  // detents each time; to the right
		Y     int           `yaml:"y" min:"-1000" max:"1000"`  // down
		Times int           `yaml:"times" min:"1" max:"10000"` // at least 1
		Every time.Duration `yaml:"every"`
	}

	// Swipe draws one finger from a point to another one, at one speed.
	Swipe struct {
		From     Point         `yaml:"from" need:"true"`
		Via      []Point       `yaml:"via"`
		To       Point         `yaml:"to" need:"true"`
		Duration time.Duration `yaml:"duration"`
	}

	// Pinch sets two fingers on opposite sides of a point and changes their distance at one speed.
	Pinch struct {
		At   Point   `yaml:"at" need:"true"`
		From float64 `yaml:"from" need:"true" min:"1" max:"65536"` // distance of the fingers, pixels
		// larger than From: the place is enlarged
		To float64 `yaml:"to" need:"true" min:"1" max:"65536"`
		// of the line between them, in degrees from the x axis, clockwise as seen
		Angle    float64       `yaml:"angle" min:"-360" max:"360"`
		Duration time.Duration `yaml:"duration"`
	}

	// Touch moves several fingers, each along a path of its own at one speed.
	Touch struct {
		Fingers []Finger `yaml:"fingers" need:"true"` // 1 to input.MaxFingers
	}

	// Replay plays a recording of a hand on a touch screen. Of several one is chosen for each run,
	// by weight.
	Replay struct {
		Files []Recorded `yaml:"files" need:"true"`
	}

	// Script has lines in the grammar of the first Eideticker's input box: tap, drag and sleep,
	// keydown and so on.
	Script struct {
		Text string
	}

	// Wait waits until something is seen, and fails the run if it is not in time. One of Change,
	// Colour and Still is set.
	Wait struct {
		// something there differs from how it was before the last input, or when the step began if
		// there was none; zero: anywhere
		Change  *frame.Region `yaml:"change"`
		Colour  *Colour       `yaml:"colour" also:"color"` // fills 99 % of In
		Still   time.Duration `yaml:"still" min:"1"`       // nothing changes in In for so long
		In      frame.Region  `yaml:"in"`                  // for Colour and Still; zero: all of the content
		Timeout time.Duration `yaml:"timeout" min:"1"`     // defaultWait where the file says nothing
		// Optional continues the test if nothing was seen in time.
		Optional bool `yaml:"optional"`
		// Rest waits until the page has nothing to compute or to draw either, as the end of a test
		// does: with Still.
		Rest bool `yaml:"rest"`
	}

	// Ping does something and waits for the answer on the screen, Times times: each is a sample of
	// responsiveness. An answer that does not come in time is a miss, and no failure. Do is an
	// input action; the event of its last press, touch or turn is the ping.
	Ping struct {
		Do     Step   `yaml:"do" need:"true"`
		Expect Expect `yaml:"expect" need:"true"`
		Times  int    `yaml:"times" min:"1" max:"10000"` // at least 1
		// from ping to ping, at the least; defaultEvery where the file says nothing
		Every time.Duration `yaml:"every"`
		// up to so much is added at random, so that pings do not keep step with frames;
		// defaultSpread where the file says nothing
		Spread time.Duration `yaml:"spread"`
	}

	// Sleep does nothing.
	Sleep struct {
		For time.Duration
	}

	// Mark writes an event into the recording.
	Mark struct {
		Kind string
	}

	// Link changes the link between the device and its server from then on; its name in files is
	// network. The test must have a network. Given values override those of the profile. Without a
	// profile, values that are not given stay.
	Link struct {
		Profile string        `yaml:"profile"`
		RTT     time.Duration `yaml:"rtt"`
		Down    Rate          `yaml:"down"`
		Up      Rate          `yaml:"up"`
		Loss    *Percent      `yaml:"loss"`
	}

	// Loop does steps again and again; its name in files is repeat.
	Loop struct {
		Times int           `yaml:"times" need:"true" min:"1" max:"10000"`
		Every time.Duration `yaml:"every"` // from start to start, at the least
		Steps []Step        `yaml:"steps" need:"true"`
	}
)

// Finger is what one finger does in a Touch.
type Finger struct {
	Path     []Point       `yaml:"path" need:"true"` // one point: it stays there
	After    time.Duration `yaml:"after"`            // the step has begun
	Duration time.Duration `yaml:"duration"`
}

// Recorded is a touch recording.
type Recorded struct {
	File   string  `yaml:"file" need:"true"`             // beside the test file
	Weight float64 `yaml:"weight" min:"0" max:"1000000"` // over 0
}

// Expect is what answers a ping. One of Change and Colour is set.
type Expect struct {
	Change  *frame.Region `yaml:"change"`
	Colour  *Colour       `yaml:"colour" also:"color"`
	In      frame.Region  `yaml:"in"`              // for Colour
	Timeout time.Duration `yaml:"timeout" min:"1"` // defaultAnswer where the file says nothing
}

func (Launch) Verb() string { return "launch" }
func (Load) Verb() string   { return "load" }
func (Key) Verb() string    { return "key" }
func (Text) Verb() string   { return "text" }
func (Click) Verb() string  { return "click" }
func (Tap) Verb() string    { return "tap" }
func (Move) Verb() string   { return "move" }
func (Hover) Verb() string  { return "hover" }
func (Drag) Verb() string   { return "drag" }
func (Wheel) Verb() string  { return "wheel" }
func (Swipe) Verb() string  { return "swipe" }
func (Pinch) Verb() string  { return "pinch" }
func (Touch) Verb() string  { return "touch" }
func (Replay) Verb() string { return "replay" }
func (Script) Verb() string { return "script" }
func (Wait) Verb() string   { return "wait" }
func (Ping) Verb() string   { return "ping" }
func (Sleep) Verb() string  { return "sleep" }
func (Mark) Verb() string   { return "mark" }
func (Link) Verb() string   { return "network" }
func (Loop) Verb() string   { return "repeat" }
