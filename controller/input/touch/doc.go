// Package touch reads recordings of a hand on a touch screen, to replay them.
//
// A test's step "replay" names a file. [Read] makes a [Recording] of it, and [Recording.Timed] the
// actions on a screen. [input.Play] executes them at absolute times, so that one delay does not
// delay the rest.
//
// # Files
//
// A file is the unchanged output of getevent. For a device at hand:
//
//	adb shell getevent -lp /dev/input/event2 >pan.touch
//	adb shell getevent -lt /dev/input/event2 >>pan.touch
//
// It also works on any Linux with Android's toolbox. The first command prints the range of the
// touch screen. Without it, places are pixels. Names and numbers (without -l) are both read, and
// lines of other devices are skipped. A line that begins with # is a comment.
//
// Only protocol B is read, in which each finger has a slot. Screens of before 2013 may use the
// older one, which is an error.
//
// # Bounds
//
// A file is untrusted. It has at most maxFile bytes and lasts at most maxDuration. Times do not
// go back. A finger that is still down at its end is lifted.
package touch
