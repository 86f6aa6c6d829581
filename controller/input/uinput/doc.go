// Package uinput gives a Linux machine a keyboard, a mouse and a touch screen that are not there,
// through the kernel's uinput. It is for devices under test that run the rig, or whose agent does.
//
// Place in the flow: [Open] makes the devices and waits until the kernel, and udev where
// it runs, has them; the driver writes their events. A display server that is told of new devices
// by udev opens them in its own time.
//
// # When it was sent
//
// Whoever reads a device of input has the events before the write(2) that brought them returns,
// with a time that the kernel took within it. So the interval that Do returns, from before the call
// to behind it, contains that moment; a test in a VM holds it against the kernel's own stamp.
//
// # Ownership
//
// A driver belongs to one goroutine. Its devices end with Close, and with the process however that
// ends: the kernel removes them then, and lifts what was held.
package uinput
