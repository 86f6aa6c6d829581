// Package frame describes one frame: its format, the layout of its rows, its metadata and the
// changes since the previous frame.
//
// Bytes are kept as the source delivered them, with stride padding and X bytes. They are not
// converted on the way to disk. Comparisons mask the bits that no screen shows: padding, X bytes
// and the low bits of 10-bit samples. See [Layout].
//
// A frame is handled as rows. A packed format has one row of bytes per line. NV12 has its luma
// rows, then its chroma rows. Planar formats follow plane by plane. Row numbers run through all
// planes, so packages above do not depend on a format's layout.
//
// Every stage uses this package. It imports only capture/timeline.
package frame
