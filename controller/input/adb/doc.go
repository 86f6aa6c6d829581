// Package adb drives Android devices through the adb server of this machine, by USB or TCP,
// whichever way the server reaches them.
//
// Place in the flow: [Open] makes an [input.Driver] of a device; [Device] also runs commands there,
// by which browsers are started and its health is asked for.
//
// # Ways
//
// An input is told to Android in one of three ways, the best that the device takes; Info names it.
//
//	uinput   the system's own command of that name (Android 11 and later), which reads events from one persistent shell: a touch screen and a keyboard
//	         of ours appear on the device. No process starts for an event
//	evdev    the touch screen's own device file, into which a persistent shell writes what it is given. Where the shell may, as on devices for developers
//	input    the command of that name: a program of Java is started for each action, which takes tens of milliseconds to a second. Its end
//	         is waited for, and the interval holds all of it
//
// # When
//
// The first two have no answer. So each time an echo is sent after the bytes, through a cat on the
// device that runs from Open on, and the interval ends no sooner than it is back. The server
// forwards the two streams in order of arrival only loosely, since each waits for receipts of its
// own: so the interval is wider by the longest way to the device and back that was measured when
// the driver was opened. Half of that is the expected way, and how it divides is not known. Where
// no echo comes back the device counts as gone.
//
// # What was cut off
//
// A call whose context ends may have been told in part. What came down in it counts as held, so
// that Release lifts it. The rest of a packet that was cut is written before the next one. A
// connection that takes nothing for some seconds counts as gone, so Release and Close end. So does
// a device, or a server, that accepts what it is asked and does not answer within
// [Server].Patience. A device that was lost with fingers down lifts them itself where the touch
// screen was ours; of the other ways, [Open] lifts them first.
//
// # The wire
//
// Requests and answers are as SERVICES.TXT and shell_service.h of packages/modules/adb have them:
// four hexadecimal digits of length before a request, OKAY or FAIL after it; then, of a shell,
// packets of one byte of kind, four of length, little endian, and data. Nothing of the device is
// trusted: lengths are bounded, and what it says is read as text.
package adb
