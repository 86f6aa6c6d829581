package suite

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/touch"
	"github.com/eideticker/eideticker/controller/internal/strict"
)

func (t *Test) checkSteps(known *Known) error {
	if n := count(t.Steps); n > maxSteps {
		return problem(at("steps"), "a run would do more than %d steps", maxSteps)
	}
	var found problems
	for i, s := range t.Steps {
		if found.full() {
			break
		}
		if err := t.checkLines(s, known); err != nil {
			found.add(problem(at("steps", i), "%v", err))
		}
		if _, ok := s.Action.(Launch); ok && i > 0 {
			found.add(problem(at("steps", i), "launch is not the first step: until then the browser runs already"))
		}
		if loop, ok := s.Action.(Loop); ok && launch(loop.Steps) {
			found.add(problem(at("steps", i), "the browser is launched in a repetition: repeat the test instead"))
		}
	}
	if len(found) > 0 {
		return errors.Join(found...)
	}
	if len(t.Selectors()) > 0 && (t.Page != "" || t.URL == blankPage || t.Places == Screen) {
		return problem(at("steps"), "a selector needs a url or site, and places of the content")
	}
	if t.URL != blankPage {
		return nil
	}
	for i, s := range t.Steps {
		switch meant := first(s); {
		case points(meant):
			return problem(at("steps", i),
				"%s acts on the rig's green page: put a load step before it, or use page or url", meant.Verb())
		case meant.Action != nil:
			return nil
		}
	}
	return nil
}

// checkLines says which changes of the line in a step cannot be.
func (t *Test) checkLines(s Step, known *Known) error {
	switch a := s.Action.(type) {
	case Loop:
		for _, inner := range a.Steps {
			if err := t.checkLines(inner, known); err != nil {
				return err
			}
		}
	case Link:
		if !t.Network.Given() {
			return errors.New("the test has no network to change; add network: cable beside steps")
		}
		return a.checkKnown(known)
	}
	return nil
}

// first returns the first step in one, which may be a repetition, that does something to the
// browser; the zero Step if none does.
func first(s Step) Step {
	switch a := s.Action.(type) {
	case Loop:
		for _, inner := range a.Steps {
			if f := first(inner); f.Action != nil {
				return f
			}
		}
		return Step{}
	case Ping:
		return first(a.Do)
	case Wait, Sleep, Mark, Link:
		return Step{}
	}
	return s
}

// points reports whether a step acts on a place in the content. Keys may go to an address instead.
func points(s Step) bool {
	switch s.Action.(type) {
	case Click, Tap, Move, Hover, Drag, Wheel, Swipe, Pinch, Touch, Replay:
		return true
	}
	return false
}

func launch(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool {
		loop, ok := s.Action.(Loop)
		_, is := s.Action.(Launch)
		return is || ok && launch(loop.Steps)
	})
}

// count returns how many steps a run does, or more than maxSteps.
func count(steps []Step) (n int) {
	for _, s := range steps {
		each := 1
		switch a := s.Action.(type) {
		case Loop:
			each = a.Times * (count(a.Steps) + 1)
		case Ping:
			each = a.Times
		case Wheel:
			each = a.Times
		case Key:
			each = a.Times
		}
		if n += each; n > maxSteps {
			return n
		}
	}
	return n
}

func (k *Key) short() string      { return "chord" }
func (t *Text) short() string     { return "text" }
func (c *Click) short() string    { return "at" }
func (t *Tap) short() string      { return "at" }
func (m *Move) short() string     { return "to" }
func (h *Hover) short() string    { return "at" }
func (r *Replay) short() string   { return "files" }
func (r *Recorded) short() string { return "file" }

func (t *Text) check(*Known) error {
	if err := checkText(t.Text); err != nil {
		return problem(at("text"), "text: %v", err)
	}
	return nil
}

func (w *Wheel) check(*Known) error {
	if w.X == 0 && w.Y == 0 {
		return problem(nil, "wheel needs y (detents down) or x")
	}
	return nil
}

func (p *Pinch) check(*Known) error {
	if p.From == p.To {
		return problem(at("to"), "the fingers do not move: from and to are the same distance")
	}
	return nil
}

func (t *Touch) check(*Known) error {
	if len(t.Fingers) == 0 || len(t.Fingers) > input.MaxFingers {
		return problem(at("fingers"), "%d fingers: must be 1 to %d", len(t.Fingers), input.MaxFingers)
	}
	return nil
}

func (f *Finger) check(*Known) error {
	if len(f.Path) == 0 {
		return problem(at("path"), "a finger's path has no point")
	}
	return nil
}

func (r *Replay) check(*Known) error {
	if len(r.Files) == 0 {
		return problem(at("files"), "no recording to replay")
	}
	return nil
}

func (r *Recorded) check(known *Known) error {
	if !(r.Weight > 0) {
		return problem(at("weight"), "weight is %g: must be positive", r.Weight)
	}
	if err := checkBeside(r.File, "recording", "file", known.Dir); err != nil || known.Dir == nil {
		return err
	}
	f, err := known.Dir.Open(r.File)
	if err != nil {
		return problem(at("file"), "recording: %v", err)
	}
	defer f.Close() // was only read
	if _, err := touch.Read(r.File, f); err != nil {
		return problem(at("file"), "recording %v", err)
	}
	return nil
}

// checkBeside rejects a path that is not a file in the folder of the test, or below it; nil: the
// folder is unknown.
func checkBeside(name, what, key string, dir fs.FS) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsFunc(name, notInLine) || strings.Contains(name, `\`) {
		return problem(at(key), "%s %q: must be a file's name in or below its folder", what,
			strict.Clip(name))
	}
	if dir == nil {
		return nil
	}
	if st, err := fs.Stat(dir, name); err != nil || !st.Mode().IsRegular() {
		return problem(at(key), "%s %s does not exist%s", what, strict.Clip(name), near(name, beside(dir)...))
	}
	return nil
}

// beside returns the names of some files of a folder.
func beside(dir fs.FS) (all []string) {
	entries, _ := fs.ReadDir(dir, ".") // for a hint, which is left out if that fails
	for _, e := range entries[:min(len(entries), 1000)] {
		all = append(all, e.Name())
	}
	return all
}

func (w *Wait) check(*Known) error {
	sights := 0
	for _, is := range []bool{w.Change != nil, w.Colour != nil, w.Still > 0} {
		if is {
			sights++
		}
	}
	switch {
	case sights != 1:
		return problem(nil, "wait: must be one of change, colour and still")
	case w.Change != nil && w.In != (Wait{}).In:
		return problem(at("in"), "change says itself where: in belongs to colour and still")
	case w.Rest && w.Still == 0:
		return problem(at("rest"), "rest belongs to still")
	case w.Still >= w.Timeout:
		return problem(at("still"), "still %v is not over before the timeout, %v", w.Still, w.Timeout)
	}
	return nil
}

func (e *Expect) check(*Known) error {
	switch {
	case (e.Change == nil) == (e.Colour == nil):
		return problem(nil, "expect: must be one of change and colour")
	case e.Change != nil && e.In != (Expect{}).In:
		return problem(at("in"), "change says itself where: in belongs to colour")
	}
	return nil
}

func (p *Ping) check(*Known) error {
	switch p.Do.Action.(type) {
	case Key, Text, Click, Tap, Move, Hover, Drag, Wheel, Swipe, Pinch, Touch:
		return nil
	}
	return problem(at("do"), "%s is not an input, such as key, click, tap, drag, wheel, swipe or touch", p.Do.Verb())
}
