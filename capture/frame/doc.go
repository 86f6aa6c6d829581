// Package frame says what one frame is: its format, where its rows lie, what is
// known about it, and what changed from the frame before.
//
// Bytes are kept as the source delivered them, stride padding and X bytes included; nothing is
// converted on the way to disk. Where two pixels are asked to be equal, bits that no screen shows
// (padding, X bytes, the low bits of 10-bit samples) are masked out: see [Layout].
//
// A frame is handled as rows. A packed format has one row of bytes per line; NV12
// has the luma rows and then the chroma rows; planar formats follow plane by plane.
// Row numbers run through all planes, so that nothing above this package needs to
// know how a format is laid out.
//
// The package is used by every stage and imports only capture/timeline.
package frame
