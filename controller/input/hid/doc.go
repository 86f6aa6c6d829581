// Package hid is a keyboard, a mouse and a touch screen that are plugged into any device's USB
// port: the rig, or a small board beside it, is their hardware. It needs a USB port that can be a
// device, of which PCs seldom have one, and Linux's USB gadget there.
//
// Place in the flow: [Open] sets a gadget up through configfs or finds one,
// and waits until the host has chosen its configuration; the driver makes reports of actions and
// writes them to /dev/hidgN. Descriptors and encoders (keyboard, mouse, touch) are plain Go
// and work everywhere.
//
// # When it was sent
//
// USB has no interrupts: the host asks each endpoint for a report in intervals of its own, as often
// as the descriptor offers (bInterval, a millisecond at high speed unless the kernel says
// otherwise). A write(2) puts a report where the next question finds it, and returns at once; it
// blocks only while the report before has not been fetched. So the time of the write says little.
// The kernel tells, by poll(2), when the host has fetched the report, and Do waits for that: its
// interval begins before the write and ends when the report was known to be gone. The host had it
// somewhere within, and the width is the wait for the question, measured, not assumed: on average
// half of bInterval and the time it takes to be woken. Of a port that is not known to wait for the
// host's acknowledgement, the time of one more question is added. Some kernels send an empty packet
// behind a report that fills a whole one, and then the interval is longer by one question.
//
// # Absence
//
// A host that is unplugged, off or asleep does not ask. Its absence is seen in the state of the USB
// device controller, and in what the kernel answers; then Do returns input.ErrGone. What was held
// is gone for the host too, as with any keyboard that is unplugged, and when it is back the first
// report lifts everything. A host may be there and not ask all the same: Linux asks a device only
// while some program has it open. That is an error after a time, which says so.
//
// # Limits
//
// The kernel has four HID functions for all gadgets together (HIDG_MINORS of f_hid.c): a board with
// several ports that can be devices sets up one gadget with all three, or up to four with one each.
// Note: one function that is all three, told apart by report numbers, was left out: on hosts with
// Linux the driver of touch screens takes it and drops the keyboard and the mouse, unless it claims
// to be one for Windows, of which it lifts fingers that lie still.
//
// Kernels before 6.12 do not let a gadget say how many fingers it knows when it is asked; hosts
// with Linux and Android take the number from the descriptor then. A touch screen has no
// certificate of Microsoft's, with which Windows would call it certified.
//
// # Ownership
//
// A driver belongs to one goroutine. Close lifts what is held, and takes down the gadget if the
// driver has set it up. What a killed process leaves is told by its name, which has the process in
// it, and is taken down by the next one that sets a gadget up.
//
// Sources: USB Device Class Definition for HID 1.11; HID Usage Tables 1.5; the kernel's
// Documentation/ABI/testing/configfs-usb-gadget-hid, Documentation/usb/gadget_hid.rst and
// drivers/usb/gadget/function/f_hid.c.
package hid
