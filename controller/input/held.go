package input

import "slices"

// Held has the held keys, buttons and fingers. A driver records its actions in it, and gets the
// actions that lift them. The zero value holds nothing.
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

// Lift returns the actions that lift everything: fingers first, then buttons, then keys, the last
// pressed first. Held is empty afterwards only when these were recorded.
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
