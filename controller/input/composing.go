package input

import "strings"

// composing are keys that type nothing by themselves: the window's input method combines them with
// the next typed text. Layouts decide which key has such a meaning, if any, so they are identified
// by meaning alone. Their names are those of the W3C's UI Events, KeyboardEvent.key, with the
// accent that X11 names after "Dead". Source of the keysyms: X11/keysymdef.h.
var composing = map[Key]uint32{
	"Compose":   0xff20, // Multi_key
	"DeadGrave": 0xfe50, "DeadAcute": 0xfe51, "DeadCircumflex": 0xfe52, "DeadTilde": 0xfe53, "DeadMacron": 0xfe54,
	"DeadBreve":    0xfe55,
	"DeadAboveDot": 0xfe56, "DeadDiaeresis": 0xfe57, "DeadAboveRing": 0xfe58, "DeadDoubleAcute": 0xfe59,
	"DeadCaron": 0xfe5a, "DeadCedilla": 0xfe5b,
	"DeadOgonek": 0xfe5c, "DeadIota": 0xfe5d, "DeadVoicedSound": 0xfe5e, "DeadSemivoicedSound": 0xfe5f,
	"DeadBelowDot": 0xfe60, "DeadHook": 0xfe61,
	"DeadHorn": 0xfe62, "DeadStroke": 0xfe63, "DeadAboveComma": 0xfe64, "DeadAboveReversedComma": 0xfe65,
	"DeadDoubleGrave": 0xfe66,
	"DeadBelowRing":   0xfe67, "DeadBelowMacron": 0xfe68, "DeadBelowCircumflex": 0xfe69, "DeadBelowTilde": 0xfe6a,
	"DeadBelowBreve":     0xfe6b,
	"DeadBelowDiaeresis": 0xfe6c, "DeadInvertedBreve": 0xfe6d, "DeadBelowComma": 0xfe6e, "DeadCurrency": 0xfe6f,
	"DeadGreek": 0xfe8c,
}

// Composing returns the X11 keysym of a key that combines with the next typed text: "DeadAcute" and
// so on, and "Compose".
func (k Key) Composing() (keysym uint32, ok bool) {
	keysym, ok = composing[k]
	return keysym, ok
}

// composingNamed finds such a key by its name in small letters, or by that of X11: "dead_acute",
// "multi_key".
func composingNamed(low string) (Key, bool) {
	if low == "multi_key" {
		return "Compose", true
	}
	if accent, ok := strings.CutPrefix(low, "dead_"); ok {
		low = "dead" + accent
	}
	for k := range composing {
		if strings.ToLower(string(k)) == low {
			return k, true
		}
	}
	return "", false
}
