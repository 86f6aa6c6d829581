// Package adb drives Android devices through the adb server of this machine, by USB or TCP.
//
// [Open] makes an [input.Driver] of a device. [Device] also runs commands there, to start browsers
// and check its health.
//
// # Ways
//
// Android gets input in one of three ways, the best that the device supports. Info names it.
//
//	uinput   the system's command (Android 11 and later) reads events from one persistent shell.
//	         Our touch screen and keyboard appear on the device. An event starts no process;
//	evdev    a persistent shell writes to the touch screen's own device file. The shell needs
//	         permission, as on devices for developers;
//	input    the command starts a Java program for each action. It takes tens of milliseconds to a
//	         second. The driver waits for its end, and the interval contains all of it.
//
// # Times
//
// The first two have no answer. So an echo follows the bytes, through a cat on the device that runs
// from Open on. The interval ends at the earliest when the echo is back. The server forwards the
// two streams only roughly in order of arrival, since each waits for its own receipts. So the
// interval is widened by the longest round trip to the device, measured when the driver was opened.
// Half of that is the expected one-way time, and its division is unknown. Without an echo the
// device counts as gone.
//
// # Interrupted calls
//
// A call whose context ends may have been sent in part. Its pressed keys and fingers count as held,
// so Release lifts them. The rest of a cut packet is written before the next one. A connection that
// takes no data for some seconds counts as gone, so Release and Close end. So does a device or a
// server that accepts a request and does not answer within [Server].Patience. A device that was
// lost with fingers down lifts them itself if the touch screen was ours. With the other ways,
// [Open] lifts them first.
//
// # Protocol
//
// Requests and answers follow SERVICES.TXT and shell_service.h of packages/modules/adb. A request
// has four hexadecimal digits of length before it, and OKAY or FAIL after it. A shell then has
// packets: one byte of kind, four bytes of length, little endian, and data. Data of the device is
// untrusted: lengths are bounded, and output is read as text.
package adb
