// Package v4l2 captures the signal at a capture card (HDMI, DVI or USB) through the kernel's V4L2
// interface.
//
// It is a source beside the others and runs on the signal's clock.
//
//  1. [List] and [Inspect] find devices and their formats, inputs, timings and signal.
//  2. [Open] selects the input, waits for a stable signal, sets the device to it and negotiates a
//     format. It rejects a signal that cannot be recorded unchanged.
//  3. Run hands buffers to the driver, takes them back filled, and puts them into the ring.
//  4. When the signal changes its format, Run returns capture.ErrFormatChanged. Renegotiate then
//     repeats step 2.
//
// # No conversion
//
// A format, size or rate that the driver would change is rejected. The error lists the supported
// ones. A protected signal (HDCP) is not circumvented. The picture has the size of the signal:
// cards that could scale are not asked to.
//
// A signal's range and matrix are part of the format. High dynamic range, by its transfer function,
// is in the metadata "v4l2.device". A change of it is an event "signal described". A protected
// signal that the card refuses has its own error. If a card delivers a black picture for a
// protected signal without saying so, that picture is recorded.
//
// V4L2 does not describe a variable refresh rate. Frames then have their own times, and the nominal
// period is that of the timings.
//
// # Interruptions
//
// A recording does not end because of a signal that may return, however long that takes. Each of
// these states is one event with its reason. The event explains the missing frames.
//
//   - "signal lost": the signal is absent, or frames stop and the driver gives no reason.
//   - "signal refused": the signal cannot be recorded, or contradicts the parameters.
//   - "device gone": the device was unplugged.
//   - "device not usable": the device is back and cannot be opened.
//
// Errors of the driver are retried a few times in a row.
//
// # Accounting
//
// The driver counts frames in 32 bits, including those that it dropped. The package continues that
// count in 64 bits, also over restarts of the stream, where the driver begins anew. The time
// without frames spends as many numbers as frames were due. The next frame carries the cause (see
// numbering). The ring counts frames for which it had no slot. Counted reports frames that are
// missing at the end (see capture.Counter).
//
// # Time
//
// The kernel's stamp marks the start or the end of a frame. The pixels were sampled within one
// period after or before it. An impossible stamp, from before the buffer was queued or from the
// future, is not used. The frame's interval is then from the last look at an empty queue to its
// arrival (see stamper).
//
// # Ownership
//
// A source belongs to one goroutine. Run starts none. With mmap, the driver fills its own memory,
// which is copied into the ring at once. dmabuf is the same memory, mapped through the buffer's own
// file. With userptr, the driver fills slots of the ring. Close returns all memory, and so does
// every failure.
//
// Note: ring slots as DMABUF were rejected. The ring would need memory files wrapped by
// /dev/udmabuf, page by page and without huge pages. USERPTR has the same effect.
package v4l2
