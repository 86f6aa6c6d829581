//go:build cgo

package decode

/*
#cgo pkg-config: libavformat libavcodec libavutil libswscale
#include <stdlib.h>
#include <string.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libswscale/swscale.h>

// open_video opens a file and finds its first video stream.
static int open_video(const char *path, AVFormatContext **in) {
	*in = NULL;
	if (avformat_open_input(in, path, NULL, NULL) < 0 || avformat_find_stream_info(*in, NULL) < 0) return -1;
	for (unsigned i = 0; i < (*in)->nb_streams; i++)
		if ((*in)->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_VIDEO) return i;
	return -1;
}

typedef struct {
	AVFormatContext *in;
	AVStream *stream;
	AVCodecContext *codec;
	AVFrame *frame;
	AVPacket *packet;
	struct SwsContext *convert;
	int width, height; // of the stream when it was opened; a demuxer may change its parameters later
	uint8_t *bgr;      // of this size
	int draining;
} decoder;

static void decoder_free(decoder *d) {
	sws_freeContext(d->convert);
	av_freep(&d->bgr);
	av_packet_free(&d->packet);
	av_frame_free(&d->frame);
	avcodec_free_context(&d->codec);
	avformat_close_input(&d->in);
}

static int decoder_open(decoder *d, const char *path) {
	av_log_set_level(AV_LOG_ERROR);
	int i = open_video(path, &d->in);
	if (i < 0) return i;
	d->stream = d->in->streams[i];
	d->width = d->stream->codecpar->width;
	d->height = d->stream->codecpar->height;
	const AVCodec *codec = avcodec_find_decoder(d->stream->codecpar->codec_id);
	d->codec = avcodec_alloc_context3(codec);
	d->frame = av_frame_alloc();
	d->packet = av_packet_alloc();
	if (!codec || !d->codec || !d->frame || !d->packet) return -1;
	if (avcodec_parameters_to_context(d->codec, d->stream->codecpar) < 0) return -1;
	d->codec->pkt_timebase = d->stream->time_base;
	d->codec->thread_count = 0; // as many as there are processors
	return avcodec_open2(d->codec, codec, NULL);
}

// decoder_next decodes the next frame. It returns 0 at the end. Damaged packets give no frame.
static int decoder_next(decoder *d) {
	for (int errors = 0;;) {
		int ret = avcodec_receive_frame(d->codec, d->frame);
		if (ret >= 0) return 1;
		if (ret == AVERROR(ENOMEM)) return ret;
		if (ret == AVERROR_EOF || errors > 64) return 0;
		if (ret != AVERROR(EAGAIN)) {
			errors++;
			continue;
		}
		if (d->draining) return 0;
		errors = 0;
		if (av_read_frame(d->in, d->packet) < 0) {
			d->draining = 1;
			avcodec_send_packet(d->codec, NULL);
			continue;
		}
		if (d->packet->stream_index == d->stream->index) avcodec_send_packet(d->codec, d->packet);
		av_packet_unref(d->packet);
	}
}

// decoder_convert converts the frame to B G R without padding, if it has the stream's size. Vector
// code writes whole blocks of pixels, so that rows are converted with padding first.
static int decoder_convert(decoder *d) {
	const AVFrame *f = d->frame;
	int width = d->width, height = d->height;
	if (f->width != width || f->height != height) return 0;
	int row = 3 * width, stride = 3 * ((width + 31) & ~31);
	if (!d->bgr) d->bgr = av_malloc((size_t)stride * height + 64);
	d->convert = sws_getCachedContext(
		d->convert, width, height, f->format, width, height, AV_PIX_FMT_BGR24, SWS_BICUBIC, NULL, NULL, NULL);
	if (!d->bgr || !d->convert) return AVERROR(ENOMEM);
	sws_scale(d->convert, (const uint8_t *const *)f->data, f->linesize, 0, height, &d->bgr, &stride);
	for (int y = 1; y < height && row != stride; y++)
		memmove(d->bgr + (size_t)y * row, d->bgr + (size_t)y * stride, row);
	return 1;
}

// decoder_rotation returns the rotation in degrees that players apply, as FFmpeg counts it.
static double decoder_rotation(decoder *d) {
	size_t size = 0;
	uint8_t *matrix = av_stream_get_side_data(d->stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
	if (!matrix || size < 9 * sizeof(int32_t)) return 0;
	double degrees = av_display_rotation_get((const int32_t *)matrix);
	return degrees < 0 ? degrees + 360 : degrees;
}

// packet_times reads a file's packets without decoding them. It returns the presentation times of
// the packets of the first video stream, in the order of the file. It returns their number. A
// negative number is an error: a time is missing, there are more than max, or the file cannot be
// read.
static int64_t packet_times(const char *path, int64_t max, int64_t **times, AVRational *base) {
	AVFormatContext *in = NULL;
	*times = NULL;
	int64_t n = -1, room = 0;
	AVPacket *p = av_packet_alloc();
	int stream = open_video(path, &in);
	if (!p || stream < 0) goto end;
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

static double ratio(AVRational r) { return av_q2d(r); }
static double decoder_rate(decoder *d) { return av_q2d(av_guess_frame_rate(d->in, d->stream, NULL)); }
static const char *decoder_name(decoder *d) { return avcodec_get_name(d->stream->codecpar->codec_id); }
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/eideticker/eideticker/capture/video/media"
)

// maxFrames bounds how many times are kept: nine days at 60 Hz.
const maxFrames = 1 << 26

// noTime is FFmpeg's AV_NOPTS_VALUE.
const noTime = math.MinInt64

// decoder decodes the first video stream of a file.
type decoder struct {
	c      *C.decoder
	origin int64 // ticks at position 0
}

// open returns nil if the file has no video that can be decoded.
func open(path string) *decoder {
	d := &decoder{c: (*C.decoder)(C.calloc(1, C.sizeof_decoder))}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if C.decoder_open(d.c, name) < 0 {
		d.close()
		return nil
	}
	if start := int64(d.c.stream.start_time); start != noTime {
		d.origin = start
	}
	return d
}

func (d *decoder) close() {
	C.decoder_free(d.c)
	C.free(unsafe.Pointer(d.c))
}

// info returns what the container says. Number and rate of frames may be guesses.
func (d *decoder) info() media.Decoding {
	s := d.c.stream
	info := media.Decoding{Opened: true, Width: float64(s.codecpar.width), Height: float64(s.codecpar.height),
		FPS: finite(float64(C.ratio(s.avg_frame_rate))), Frames: float64(s.nb_frames),
		Rotation: finite(math.Round(float64(C.decoder_rotation(d.c))))}
	if info.FPS <= 0 {
		info.FPS = finite(float64(C.decoder_rate(d.c)))
	}
	if s.nb_frames == 0 {
		seconds := float64(d.c.in.duration) / C.AV_TIME_BASE
		if d.c.in.duration <= 0 {
			seconds = float64(s.duration) * float64(C.ratio(s.time_base))
		}
		info.Frames = finite(math.Floor(seconds*info.FPS + 0.5))
	}
	tag := binary.LittleEndian.AppendUint32(nil, uint32(s.codecpar.codec_tag))
	if s.codecpar.codec_tag == 0 {
		tag = []byte(C.GoString(C.decoder_name(d.c)))
	}
	info.Codec = strings.ToValidUTF8(strings.TrimRight(string(tag[:min(4, len(tag))]), "\x00"), "?")
	return info
}

// next decodes the next frame, and reports whether there is one.
func (d *decoder) next() (bool, error) {
	ret := C.decoder_next(d.c)
	if ret < 0 {
		return false, errors.New("decode: out of memory")
	}
	return ret > 0, nil
}

// picture returns the decoded frame. Its pixels are valid until the next call. A frame of another
// size than the stream has none.
func (d *decoder) picture() (head media.FrameHead, pix []byte, err error) {
	f := d.c.frame
	head = media.FrameHead{Width: uint32(f.width), Height: uint32(f.height)}
	at := int64(f.pts)
	if at == noTime {
		at = int64(f.pkt_dts)
	}
	if at != noTime {
		head.Position = float64(at-d.origin) * float64(C.ratio(d.c.stream.time_base)) * 1000
	}
	switch ret := C.decoder_convert(d.c); {
	case ret < 0:
		return head, nil, errors.New("convert a frame: out of memory, or an unknown format of pixels")
	case ret > 0:
		pix = unsafe.Slice((*byte)(unsafe.Pointer(d.c.bgr)), 3*int(f.width)*int(f.height))
	}
	return head, pix, nil
}

// fileTimes are the presentation times of a file's packets, in units of num/den seconds, in the
// order of the file.
type fileTimes struct {
	ticks    []int64
	num, den int64
}

// readTimes reads the times of a file's packets. It returns none if the container has none.
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
