// Package v4l2 captures what a capture card receives: HDMI, DVI or USB, through the kernel's V4L2
// interface.
//
// It stands at the beginning of the flow, beside the other sources, and runs on the signal's clock.
// Its way is
//
//  1. [List] and [Inspect] find devices and say what they are: formats, inputs, timings, signal.
//  2. [Open] selects the input, waits for a signal that is stable, sets the device to what the
//     signal is, and settles on a format. What it cannot record as it is, it refuses with the
//     reason.
//  3. Run hands buffers to the driver, takes them back filled, and puts them into the ring.
//  4. When the signal changes its format, Run returns capture.ErrFormatChanged and Renegotiate does
//     the second step again.
//
// # What is never done
//
// Nothing is converted: a format, a size or a rate that the driver would change is refused, with a
// list of what it has. A signal that is protected (HDCP) is not worked around. The size of the
// picture is the size of the signal: cards that could scale are not asked to.
//
// What the driver tells of a signal is named: its range and matrix stand in the format; high
// dynamic range, by its transfer function, in the metadata "v4l2.device", and where that changes in
// an event "signal described"; a protected signal that the card refuses is an error of its own.
// V4L2 has no word for a variable refresh rate: frames then come with their own times, and the
// nominal period is that of the timings. A black picture that a card delivers for a protected
// signal without saying so is recorded as what it is.
//
// # What may come back is waited for
//
// In the middle of a recording nothing that another signal would mend ends it, however long it
// takes. There is no signal, or no frames come and the driver does not say why: "signal lost".
// There is one that is not recorded, or that does not go with the parameters: "signal refused". The
// device is away: "device gone"; it is back and cannot be opened: "device not usable". Each is told
// once with its reason, and explains the frames that are missing. Errors of the driver are tried
// again a few times in a row.
//
// # Accounting
//
// The driver counts frames in 32 bits, also those that it dropped. That count is continued in 64
// bits over its wrap and over restarts of the stream, where the driver begins anew: for the time
// without frames as many numbers are spent as frames should have come, and the frame after it says
// why (see numbering). A frame for which the ring had no slot is counted by the ring. What is
// missing at the end, with no frame after it, Counted says (see capture.Counter).
//
// # Time
//
// The kernel's stamp is of the start or the end of a frame. Its pixels came within one period from
// or up to there, so that is the interval in which they were sampled. A stamp that cannot be, one
// from before the buffer was queued or from the future, is not used; the frame then lies between
// the last look at an empty queue and its arrival (see stamper).
//
// # Ownership
//
// A source belongs to one goroutine. Run starts none. What the driver fills is memory of the driver
// (mmap, and dmabuf, which is the same memory mapped through the buffer's own file), copied into
// the ring at once; or slots of the ring (userptr). Close gives all of it back; so does whatever
// fails.
//
// Note: slots of the ring as DMABUF were rejected. The ring would have to be made of memory files
// and wrapped by /dev/udmabuf, page by page and without huge pages, to get what USERPTR gives
// already.
package v4l2
