package encode

/*
#cgo CFLAGS: -O3
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int gcd(int a, int b) { return b ? gcd(b, a % b) : a; }

// scale_area scales B G R pixels by area means: an output pixel is the mean of the input that it
// covers, rounded half up. Sums are exact, so that a band of rows equals its part of the whole.
// It returns 0 without memory.
static int scale_area(uint8_t *dst, int stride, int to_w, int to_h, const uint8_t *src, int from_w, int from_h) {
	// In units in which pixels of both sizes have whole lengths: in_ is an input pixel's length.
	int gx = gcd(to_w, from_w), gy = gcd(to_h, from_h);
	int in_x = to_w / gx, out_x = from_w / gx, in_y = to_h / gy, out_y = from_h / gy;
	int row = 3 * from_w;
	uint32_t *sums = malloc((size_t)row * sizeof *sums);
	if (!sums) return 0;
	// Areas are at most 2^32, so that doubles tell (2 sum + area) / 2 area from the integer above.
	int64_t area = (int64_t)out_x * out_y;
	const double inverse = 0.5 / (double)area, tiny = 1e-12;
	for (int y = 0; y < to_h; y++) {
		memset(sums, 0, (size_t)row * sizeof *sums);
		int64_t top = (int64_t)y * out_y, bottom = top + out_y;
		for (int64_t i = top / in_y; i * in_y < bottom; i++) {
			int64_t from = i * in_y > top ? i * in_y : top;
			int64_t to = (i + 1) * in_y < bottom ? (i + 1) * in_y : bottom;
			uint32_t weight = (uint32_t)(to - from);
			const uint8_t *line = src + (size_t)i * row;
			for (int x = 0; x < row; x++) sums[x] += weight * line[x];
		}
		uint8_t *out = dst + (size_t)y * stride;
		int64_t i = 0, end = in_x; // the input pixel at hand, and its end
		for (int x = 0; x < to_w; x++, out += 3) {
			int64_t b = 0, g = 0, r = 0;
			for (int64_t at = (int64_t)x * out_x, right = at + out_x; at < right;) {
				int64_t to = end < right ? end : right;
				int64_t weight = to - at;
				const uint32_t *p = sums + 3 * i;
				b += weight * p[0];
				g += weight * p[1];
				r += weight * p[2];
				at = to;
				if (to == end) i++, end += in_x;
			}
			out[0] = (uint8_t)((double)(2 * b + area) * inverse + tiny);
			out[1] = (uint8_t)((double)(2 * g + area) * inverse + tiny);
			out[2] = (uint8_t)((double)(2 * r + area) * inverse + tiny);
		}
	}
	free(sums);
	return 1;
}
*/
import "C"

import (
	"errors"
	"image"
	"unsafe"
)

// scaleArea scales a picture to rectangle r of a canvas that is width pixels wide.
func scaleArea(canvas []byte, width int, r image.Rectangle, pix []byte, from image.Point) error {
	dst, src := canvas[3*(r.Min.Y*width+r.Min.X):3*((r.Max.Y-1)*width+r.Max.X)], pix[:3*from.X*from.Y]
	if C.scale_area((*C.uint8_t)(unsafe.Pointer(&dst[0])), C.int(3*width), C.int(r.Dx()), C.int(r.Dy()),
		(*C.uint8_t)(unsafe.Pointer(&src[0])), C.int(from.X), C.int(from.Y)) == 0 {
		return errors.New("scale a picture: out of memory")
	}
	return nil
}
