// Package controller runs one test on one device, like a user. It starts the browser and executes
// the test's steps through an input driver. It waits for pixels on the screen and reports the times
// of its actions.
//
// The caller records the screen and calls [Run] with a [Setup] meanwhile. The events of Run go into
// the same file, on the same clock. Run waits for pixels ([Screen]), never for a page's own report.
// Repeats, in blocks of random order, are a [Plan].
//
// # Phases of a run
//
//  1. Green. A page with markers draws its own. Before other pages, the rig shows a green page. If
//     the test starts the browser itself, the rig shows the empty screen in green. The green's
//     place is the content's area.
//  2. The content begins: when the page removes its green, or with the command that goes to the
//     address. That command is an event of kind [Navigation] or [Launching], the T0 of load
//     figures.
//  3. Steps, one after another. Each action is an event of package input. An action that expects an
//     answer is also an event of kind [Asked].
//  4. The end, as the test defines it. It is the page's red, or a stillness, an event or a time,
//     and then a red from the rig.
//
// # Failure
//
// Every phase has a time limit. A run that stops ends with an error that names the awaited
// condition and the last seen state. Held keys and fingers are lifted. The caller keeps its
// recording.
//
// # Ownership
//
// Run owns its goroutines, which end before it returns. The caller owns screen, browser and driver.
package controller
