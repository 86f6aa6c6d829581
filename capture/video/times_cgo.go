//go:build cgo

package video

/*
#cgo pkg-config: libavformat libavcodec libavutil
#include <stdlib.h>
#include <libavformat/avformat.h>
#include <libavutil/log.h>

static void say_nothing(void *who, int level, const char *format, va_list args) {}

static void hush_ffmpeg(void) { av_log_set_callback(say_nothing); }

// packet_times reads a file's packets without decoding them, and returns the presentation times of those of its first video
// stream, which is the one that OpenCV decodes, in the order of the file. It returns how many there are, or a negative
// number if some have no time, there are more than max, or the file can't be read.
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
	"math/big"
	"slices"
	"time"
	"unsafe"

	"github.com/eideticker/eideticker/capture/timeline"
)

// maxFrames bounds how many frame times are kept: nine days at 60 Hz.
const maxFrames = 1 << 26

// fileTimes are the presentation times of a file's frames, in the order in which they are shown.
type fileTimes struct {
	times []timeline.Time // from the first
	// last is the time of the frame that stands last in the file. If the file is cut, that is the one that was cut
	// through; others that are shown later may stand before it.
	last timeline.Time
}

// readTimes reads the times out of a file's packets. There are none where the container has none.
//
// Note: OpenCV 4.6 was rejected for this. Its position is the decoding time of the packet that completed a frame,
// which is the presentation time by luck, and 0 for the last frames of a stream with B-frames.
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
	ticks := unsafe.Slice((*int64)(unsafe.Pointer(raw)), int(n))
	first := slices.Min(ticks)
	last := ticks[n-1]
	slices.Sort(ticks)
	ticks = slices.Compact(ticks)
	t := fileTimes{times: make([]timeline.Time, len(ticks))}
	unit := big.NewRat(int64(base.num)*int64(time.Second), int64(base.den))
	for i, at := range ticks {
		t.times[i] = nanoseconds(at-first, unit)
	}
	t.last = nanoseconds(last-first, unit)
	return t
}

// hushFFmpeg stands here for its header.
func hushFFmpeg() { C.hush_ffmpeg() }

// nanoseconds returns ticks of so many nanoseconds, rounded to the nearest.
func nanoseconds(ticks int64, unit *big.Rat) timeline.Time {
	n := new(big.Int).Mul(big.NewInt(2*ticks), unit.Num())
	n.Add(n, unit.Denom())
	n.Quo(n, new(big.Int).Mul(big.NewInt(2), unit.Denom()))
	return timeline.Time(n.Int64())
}
