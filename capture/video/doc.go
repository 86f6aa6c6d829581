// Package video delivers the frames of video files and of folders of pictures, decoded to BGR.
//
// It stands at the beginning of the flow, beside the other sources, and is not on a clock: every
// frame is delivered, at its own time. Variable frame rate is normal, so a source has no period
// unless it is a folder of pictures without times.
//
// # Files
//
// eideticker-media decodes files with OpenCV's FFmpeg backend (gocv.io/x/gocv).
// Pictures stay as they are coded: a rotation that the file asks players for is not done, but
// told in the metadata [FileMetadata].
//
// Frame times are the file's presentation times, read from its packets with libavformat and counted
// from the first frame, to the nanosecond. A frame for which the file has none gets the time of the
// frame before plus the nominal period; an event, "times made up", says how many there were.
// Packets that gave no frame are told in an event, too.
//
// A file that ends in the middle is not taken for complete: its whole frames are delivered up to
// the one that the cut goes through, and then Run returns an error that wraps io.ErrUnexpectedEOF.
// How that is found is told at cutShort. What can't be found is a cut at a packet's end in a format
// that nowhere says how long it is (MPEG-TS, raw streams, live Matroska).
//
// # Folders
//
// Pictures (PNG, JPEG, BMP, TIFF, WebP) are taken in natural order, 9 before 10. If all are named
// like ms_000920.png, as visualmetrics names them, that is the frame's time in milliseconds;
// otherwise there are fps of them in a second. Alpha is dropped, and of 16 bits the upper 8 are
// kept.
//
// Note: OpenCV for pictures was rejected. It fills the missing part of a cut JPEG with grey and
// takes it for whole, and ends the program over a header with a huge size. Go's decoders do neither
// and need no cgo.
package video

// FileMetadata names the metadata that tells what a file says about itself: a JSON object with
// codec (fourcc), fps and frames (both as the container has them, or as FFmpeg guesses) and
// rotation (degrees, clockwise).
const FileMetadata = "video.file"
