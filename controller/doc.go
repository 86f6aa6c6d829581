// Package controller runs one test on one device, the way a user would: it has the browser started,
// does the test's steps through an input driver, waits for what the screen shows, and says when
// what was done was done.
//
// Place in the flow: beside a recording. Whoever records calls [Run] with a [Setup] while frames
// are being stored; the events that Run emits go into the same file, on the same clock. What is
// waited for is waited for on pixels ([Screen]), never on what a page says of itself. Repeats, in
// blocks of random order, are a [Plan].
//
// # The way of a run
//
//  1. Green. A page that has markers draws its own; before any other the rig has a page of its own
//     drawn that is green, or, where the test starts the browser itself, the empty screen. Where
//     the green was seen is the content's area.
//  2. The content begins: when the page takes its green away, or with the command that goes to the
//     address. That command is an event of kind [Navigation] or [Launching], the T0 of load
//     figures.
//  3. Steps, one after another. Each action is an event of package input; one that asks for an
//     answer is an event of kind [Asked] too.
//  4. The end, as the test has it: the page's red; or a stillness, an event, a time, and red that
//     the rig shows after it.
//
// # Failure
//
// Everything has a limit of time. A run that does not get on ends with an error that says what was
// waited for and what was seen last; what is held down is lifted. Whoever records keeps what was
// recorded.
//
// # Ownership
//
// Run owns its goroutines, which end before it returns. Screen, browser and driver stay the
// caller's.
package controller
