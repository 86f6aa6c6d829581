//go:build cgo

package decode

/*
#cgo pkg-config: libavformat libavcodec
#include <stdlib.h>
#include <libavformat/avformat.h>

// packet_times reads a file's packets without decoding them. It returns the presentation times of
// the packets of the first video stream, in the order of the file. OpenCV decodes this stream. It
// returns their number. A negative number is an error: a time is missing, there are more than max,
// or the file cannot be read.
static int64_t packet_times(const char *path, int64_t max, int64_t **times, AVRational *base) {
	AVFormatContext *in = NULL;
	*times = NULL;
	if (avformat_open_input(&in, path, NULL, NULL) < 0) return -1;
	int64_t n = -1, room = 0;
	int stream = -1;
	AVPacket *p = av_packet_alloc();
	if (!p || avformat_find_stream_info(in, NULL) < 0) goto end;
	for (unsigned i = 0; i < in->nb_streams && stream < 0; i++)
		if (in->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_VIDEO) stream = i;
	if (stream < 0) goto end;
	*base = in->streams[stream]->time_base;
	for (n = 0; av_read_frame(in, p) >= 0; av_packet_unref(p)) {
		// Packets that an edit list leaves out are decoded and not shown.
		if (p->stream_index != stream || p->flags & AV_PKT_FLAG_DISCARD) continue;
		if (p->pts == AV_NOPTS_VALUE || n >= max) { n = -1; break; }
		if (n == room) {
			room = room ? 2 * room : 1024;
			int64_t *more = realloc(*times, room * sizeof *more);
			if (!more) { n = -1; break; }
			*times = more;
		}
		(*times)[n++] = p->pts;
	}
end:
	av_packet_free(&p);
	avformat_close_input(&in);
	return n;
}
*/
import "C"

import (
	"slices"
	"unsafe"
)

// maxFrames bounds how many times are kept: nine days at 60 Hz.
const maxFrames = 1 << 26

// fileTimes are the presentation times of a file's packets, in units of num/den seconds, in the
// order of the file.
type fileTimes struct {
	ticks    []int64
	num, den int64
}

// readTimes reads the times of a file's packets. It returns none if the container has none.
//
// Note: OpenCV 4.6 was rejected for this. Its position is the decoding time of the packet that
// completed a frame. That equals the presentation time by luck, and is 0 for the last frames of a
// stream with B-frames.
func readTimes(path string) fileTimes {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var raw *C.int64_t
	var base C.AVRational
	n := C.packet_times(name, maxFrames, &raw, &base)
	defer C.free(unsafe.Pointer(raw))
	if n <= 0 || base.num <= 0 || base.den <= 0 {
		return fileTimes{}
	}
	ticks := slices.Clone(unsafe.Slice((*int64)(unsafe.Pointer(raw)), int(n)))
	return fileTimes{ticks: ticks, num: int64(base.num), den: int64(base.den)}
}
