// Package hid is a keyboard, a mouse and a touch screen that are plugged into any device's USB
// port. The rig, or a small board beside it, is their hardware. It needs a USB port that can be a
// device, which few PCs have, and Linux's USB gadget there.
//
// [Open] or [New] sets up a gadget through configfs or finds an existing one. It waits until the
// host has chosen its configuration. The driver makes reports of actions and writes them to
// /dev/hidgN. Descriptors and encoders (keyboard, mouse, touch) are plain Go and work everywhere.
//
// # Times
//
// USB has no interrupts. The host polls each endpoint for a report, as often as the descriptor
// offers (bInterval). That is a millisecond at high speed unless the kernel says otherwise. A
// write(2) queues a report for the next poll and returns at once. It blocks only while the previous
// report has not been fetched. So the time of the write means little. With poll(2), the kernel
// reports that the host has fetched the report, and Do waits for that. The interval begins before
// the write and ends when the report was known to be fetched. Its width is the measured wait for
// the poll: on average half of bInterval and the wake-up time. For a port that may not wait for the
// host's acknowledgement, the time of one more poll is added. Some kernels send an empty packet
// after a report that fills a whole one. Then the interval is longer by one poll.
//
// # Absence
//
// A host that is unplugged, off or asleep does not poll. The state of the USB device controller and
// the kernel's errors reveal this. Do then returns input.ErrGone. Held keys are released on the
// host too, as with any keyboard that is unplugged. When the host is back, the first report lifts
// everything. A present host may not poll either: Linux polls a device only while some program has
// it open. That is an error after a time, which names this cause.
//
// # Limits
//
// The kernel has four HID functions for all gadgets together (HIDG_MINORS of f_hid.c). A board with
// several device ports sets up one gadget with all three functions, or one for each. Note: one
// function that is all three, with report numbers, was left out. On hosts with Linux the driver of
// touch screens takes it and drops the keyboard and the mouse. It would have to claim to be one for
// Windows, and then Linux lifts fingers that lie still.
//
// Kernels before 6.12 do not let a gadget answer how many fingers it supports. Hosts with Linux and
// Android then use the number in the descriptor. A touch screen has no certificate of Microsoft's,
// with which Windows would call it certified.
//
// # Ownership
//
// A Driver belongs to one goroutine. Close lifts held keys and fingers, and removes the gadget if
// the driver has set it up. The gadget of a killed process is identified by its name, which
// contains the process. The next process that sets up a gadget removes it.
//
// Sources: USB Device Class Definition for HID 1.11; HID Usage Tables 1.5; the kernel's
// Documentation/ABI/testing/configfs-usb-gadget-hid, Documentation/usb/gadget_hid.rst and
// drivers/usb/gadget/function/f_hid.c.
package hid
