// Package evdev is the kernel's input events: their numbers, their bytes, and on Linux the nodes
// below /dev/input.
//
// Place in the flow: the driver uinput writes them; tests read what a host made of USB reports.
// What a node says is on the clock of the rig.
package evdev
