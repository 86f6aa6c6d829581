package encode

/*
#cgo pkg-config: libavformat libavcodec libavutil libswscale
#include <stdlib.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>

typedef struct {
	AVFormatContext *file;
	AVCodecContext *codec;
	AVStream *stream;
	AVFrame *frame;
	AVPacket *packet;
	struct SwsContext *convert;
} encoder;

static void encoder_free(encoder *e) {
	sws_freeContext(e->convert);
	av_packet_free(&e->packet);
	av_frame_free(&e->frame);
	avcodec_free_context(&e->codec);
	if (e->file) {
		avio_closep(&e->file->pb);
		avformat_free_context(e->file);
	}
}

static int encoder_open(
	encoder *e, const char *url, int width, int height, int64_t num, int64_t den, int key_interval) {
	const AVCodec *x264 = avcodec_find_encoder_by_name("libx264");
	if (!x264) return AVERROR_ENCODER_NOT_FOUND;
	int ret = avformat_alloc_output_context2(&e->file, NULL, "mp4", url);
	if (ret < 0) return ret;
	e->codec = avcodec_alloc_context3(x264);
	e->frame = av_frame_alloc();
	e->packet = av_packet_alloc();
	e->stream = avformat_new_stream(e->file, NULL);
	if (!e->codec || !e->frame || !e->packet || !e->stream) return AVERROR(ENOMEM);
	AVRational rate;
	av_reduce(&rate.num, &rate.den, num, den, 1 << 24); // so that hours fit into what players compute with
	AVCodecContext *c = e->codec;
	c->width = e->frame->width = width;
	c->height = e->frame->height = height;
	c->pix_fmt = e->frame->format = AV_PIX_FMT_YUV420P; // what every browser plays
	c->time_base = e->stream->time_base = av_inv_q(rate);
	c->framerate = e->stream->avg_frame_rate = rate;
	c->gop_size = key_interval;
	c->thread_count = 1;
	c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
	// The conversion below is BT.601 in limited range. Players guess BT.709 from 720 lines on.
	c->color_range = AVCOL_RANGE_MPEG;
	c->colorspace = AVCOL_SPC_SMPTE170M;
	c->color_primaries = AVCOL_PRI_BT709;
	c->color_trc = AVCOL_TRC_IEC61966_2_1;
	if ((ret = av_opt_set(c->priv_data, "crf", "23", 0)) < 0) return ret;
	if ((ret = avcodec_open2(c, x264, NULL)) < 0) return ret;
	if ((ret = avcodec_parameters_from_context(e->stream->codecpar, c)) < 0) return ret;
	if ((ret = av_frame_get_buffer(e->frame, 0)) < 0) return ret;
	e->convert = sws_getContext(
		width, height, AV_PIX_FMT_BGR24, width, height, c->pix_fmt, SWS_BICUBIC, NULL, NULL, NULL);
	if (!e->convert) return AVERROR(ENOMEM);
	if ((ret = avio_open(&e->file->pb, url, AVIO_FLAG_WRITE)) < 0) return ret;
	return avformat_write_header(e->file, NULL);
}

// encoder_send encodes a frame, or flushes the encoder if it is NULL, and writes the packets.
static int encoder_send(encoder *e, AVFrame *frame) {
	int ret = avcodec_send_frame(e->codec, frame);
	while (ret >= 0) {
		ret = avcodec_receive_packet(e->codec, e->packet);
		if (ret == AVERROR(EAGAIN) || ret == AVERROR_EOF) return 0;
		if (ret < 0) break;
		e->packet->duration = 1;
		av_packet_rescale_ts(e->packet, e->codec->time_base, e->stream->time_base);
		ret = av_write_frame(e->file, e->packet);
		av_packet_unref(e->packet);
		if (ret >= 0) ret = e->file->pb->error;
	}
	return ret;
}

static int encoder_write(encoder *e, const uint8_t *bgr, int64_t number) {
	int ret = av_frame_make_writable(e->frame);
	if (ret < 0) return ret;
	int stride = 3 * e->codec->width;
	sws_scale(e->convert, &bgr, &stride, 0, e->codec->height, e->frame->data, e->frame->linesize);
	e->frame->pts = number;
	return encoder_send(e, e->frame);
}

static int encoder_finish(encoder *e) {
	int ret = encoder_send(e, NULL);
	if (ret < 0) return ret;
	if ((ret = av_write_trailer(e->file)) < 0) return ret;
	avio_flush(e->file->pb);
	if ((ret = e->file->pb->error) < 0) return ret;
	return avio_closep(&e->file->pb);
}
*/
import "C"

import (
	"errors"
	"unsafe"

	"github.com/eideticker/eideticker/capture/video/media"
)

// encoder writes an MP4 file of H.264.
type encoder struct {
	c *C.encoder
	n int64 // slots so far
}

func newEncoder(job media.EncodeJob) (*encoder, error) {
	if job.RateNum < 1 || job.RateDen < 1 || job.KeyInterval < 1 || job.KeyInterval > 1<<20 {
		return nil, errors.New("no rate")
	}
	e := &encoder{c: (*C.encoder)(C.calloc(1, C.sizeof_encoder))}
	url := C.CString("file:" + job.Path)
	defer C.free(unsafe.Pointer(url))
	if ret := C.encoder_open(e.c, url, C.int(job.Width), C.int(job.Height), C.int64_t(job.RateNum),
		C.int64_t(job.RateDen), C.int(job.KeyInterval)); ret < 0 {
		e.close()
		return nil, failed("begin", ret)
	}
	return e, nil
}

func (e *encoder) close() {
	C.encoder_free(e.c)
	C.free(unsafe.Pointer(e.c))
}

// write appends a slot.
func (e *encoder) write(pix []byte) error {
	ret := C.encoder_write(e.c, (*C.uint8_t)(unsafe.Pointer(&pix[0])), C.int64_t(e.n))
	e.n++
	return failed("encode", ret)
}

// finish writes the slots that the encoder still holds, and the index.
func (e *encoder) finish() error {
	if e.n == 0 {
		return errors.New("no frames")
	}
	return failed("finish", C.encoder_finish(e.c))
}

func failed(doing string, ret C.int) error {
	switch {
	case ret >= 0:
		return nil
	case ret == C.AVERROR_ENCODER_NOT_FOUND:
		return errors.New("FFmpeg has no H.264 encoder here: it was built without libx264")
	}
	var text [C.AV_ERROR_MAX_STRING_SIZE]C.char
	C.av_strerror(ret, &text[0], C.AV_ERROR_MAX_STRING_SIZE)
	return averror(doing, int(ret), C.GoString(&text[0]))
}
