// Package uinput gives a Linux machine a virtual keyboard, mouse and touch screen, through the
// kernel's uinput. It is for devices under test that run the rig or its agent.
//
// [Open] or [New] makes the devices and waits until the kernel, and udev if it runs, has them. The
// driver writes their events. A display server that gets new devices from udev opens them in its
// own time.
//
// # Times
//
// Readers of an input device have the events before the write(2) returns. The kernel took their
// time within it. The interval of Do, from before the call to after it, contains that moment. A
// test in a VM compares it with the kernel's own stamp.
//
// # Ownership
//
// A Driver belongs to one goroutine. Its devices end with Close, and with the process however that
// ends. The kernel then removes them and lifts held keys.
package uinput
