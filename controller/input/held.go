package input

import "slices"

// Held is what is held down: a driver notes what it has done, and asks how to let go of it. The
// zero value holds nothing.
type Held struct {
	keys    []Key
	buttons []Button
	fingers [MaxFingers]bool
}

// Note takes actions that were done.
func (h *Held) Note(actions ...Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case KeyDown:
			if !slices.Contains(h.keys, a.Key) {
				h.keys = append(h.keys, a.Key)
			}
		case KeyUp:
			h.keys = slices.DeleteFunc(h.keys, func(k Key) bool { return k == a.Key })
		case ButtonDown:
			if !slices.Contains(h.buttons, a.Button) {
				h.buttons = append(h.buttons, a.Button)
			}
		case ButtonUp:
			h.buttons = slices.DeleteFunc(h.buttons, func(b Button) bool { return b == a.Button })
		case TouchDown:
			h.fingers[a.Finger] = true
		case TouchUp:
			h.fingers[a.Finger] = false
		}
	}
}

// Lift returns what lets go of all that is held: fingers first, then buttons, then keys, the last
// one that was pressed first. It holds nothing afterwards only when these were noted.
func (h *Held) Lift() (all []Action) {
	for finger, down := range h.fingers {
		if down {
			all = append(all, TouchUp{finger})
		}
	}
	for _, b := range slices.Backward(h.buttons) {
		all = append(all, ButtonUp{b})
	}
	for _, k := range slices.Backward(h.keys) {
		all = append(all, KeyUp{k})
	}
	return all
}

// Finger reports whether a finger is down.
func (h *Held) Finger(finger int) bool { return h.fingers[finger] }
