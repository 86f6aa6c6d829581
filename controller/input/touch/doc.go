// Package touch reads recordings of a hand on a touch screen, to have them played again.
//
// Place in the flow: a test's step "replay" names a file; [Read] makes a [Recording] of it,
// [Recording.Timed] the actions on a screen, and [input.Play] does them at absolute times, so that
// what is late once is not late for ever.
//
// # Files
//
// What getevent prints, as it stands: of a device at hand
//
//	adb shell getevent -lp /dev/input/event2 >pan.touch
//	adb shell getevent -lt /dev/input/event2 >>pan.touch
//
// and on any Linux with Android's toolbox. The first command says how far the glass reaches;
// without it, places are pixels. Names and numbers (without -l) are both read, and lines of other
// devices are passed over. A line that begins with # is a comment.
//
// Only protocol B is read, in which each finger has a slot; screens of before 2013 may speak the
// older one, and that is said.
//
// # Bounds
//
// A file comes from outside: it has at most maxFile bytes, lasts at most maxDuration, times do
// not go back, and a finger that is still down at its end is lifted.
package touch
