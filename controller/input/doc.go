// Package input is the contract of input drivers: keys, text and pointer, wheel and fingers. Each
// action has a time on the rig's clock.
//
// A test's steps become [Action]s. A [Driver], one sub-package per way to reach a device, executes
// them and returns when the device got them. That time becomes an event in the recording, on the
// clock of the frames. The time from it to the first changed frame is the device's responsiveness.
// So the accuracy of the time matters as much as the action. A driver returns an interval that is
// never too short.
//
// # Ownership
//
// A Driver belongs to one goroutine. It remembers held keys and fingers ([Held]). Release lifts
// them, and so does Close. A device that was lost in the middle of a touch has its fingers lifted
// when it returns.
//
// # Keys
//
// A [Key] is a meaning (the letter that it types) or a name. A driver that presses places finds
// them by the device's [Layout] (default: [US]).
package input
