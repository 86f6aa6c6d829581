// Package video delivers the frames of video files and of folders of pictures, decoded to BGR.
//
// It is a source without a clock: every frame is delivered, at its own time. Variable frame rate is
// normal. So a source has no period, except a folder of pictures without times.
//
// # Files
//
// eideticker-media decodes files with FFmpeg's libraries. Pictures stay as they are coded. A
// rotation that the file asks for is not applied. It is in the metadata fileMetadata.
//
// Note: OpenCV for files was rejected. Its FFmpeg backend gives the same pixels. It links GDAL and
// GStreamer: 245 libraries instead of 136, and four times the processor time to start. It has no
// positions for the last frames of a stream with B-frames.
//
// Frame times are the file's presentation times, read from its packets with libavformat. They count
// from the first frame, in nanoseconds. A frame without a time gets the previous frame's time plus
// the nominal period. An event, "times made up", has the number of such frames. Packets that gave
// no frame are an event, too.
//
// A file that ends in the middle is an error. Its whole frames before the cut are delivered. Then
// Run returns an error that wraps io.ErrUnexpectedEOF. See cutShort. A cut at a packet's end is not
// found in formats that do not state their length: MPEG-TS, raw streams and live Matroska.
//
// # Folders
//
// Pictures (PNG, JPEG, BMP; TIFF, WebP) are read in natural order, 9 before 10. If all have names
// like ms_000920.png, as from visualmetrics, the number is the frame's time in milliseconds.
// Otherwise fps sets their rate. Alpha is dropped. Of 16 bits, the upper 8 are kept.
//
// Note: OpenCV for pictures was rejected. It fills the missing part of a cut JPEG with grey and
// reports success. It ends the program on a header with a huge size. Go's decoders do neither and
// need no cgo.
package video

// fileMetadata names the metadata with the file's own description. It is a JSON object with codec
// (its fourcc, else its name), fps, frames and rotation (degrees). fps and frames are the
// container's numbers or FFmpeg's guess.
const fileMetadata = "video.file"
