// Package input is what a hand does to a device: keys, text, pointer, wheel and fingers, each at a
// time on the rig's clock.
//
// Place in the flow: a test's steps become [Action]s; a [Driver], one sub-package per way to reach
// a device, does them and says when the device was told. That time becomes an event in the
// recording, on the clock of the frames, and from it to the first changed frame is the device's
// responsiveness. So how well the time is known matters as much as the action: a driver returns an
// interval and never guesses it shorter than it is.
//
// # Ownership
//
// A Driver belongs to one goroutine. It remembers what it holds down ([Held]); Release lifts it,
// and Close does too. A device that was lost in the middle of a touch is found with its fingers
// lifted when it returns.
//
// # Keys
//
// A [Key] is a meaning, the letter that it types, or a name. A driver that presses places finds
// them by the [Layout] that the device has: [US] where nothing else is said.
package input
