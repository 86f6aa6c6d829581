package recorder

import (
	"testing"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/ringbuf"
)

func TestRingSize(t *testing.T) {
	const frameBytes = 1 << 20
	at := func(fps int64, clocked bool) capture.Info {
		return capture.Info{Clocked: clocked, Period: capture.Rational{Num: 1, Den: fps}}
	}
	for _, tc := range []struct {
		name            string
		info            capture.Info
		want, available int64
		share           int
		size            int // 0: an error
	}{
		{"two seconds", at(60, true), 0, 64 << 30, 1, 120 * frameBytes},
		{"slow signals have 64 slots", at(10, true), 0, 64 << 30, 1, 64 * frameBytes},
		{"so have unknown ones", capture.Info{Clocked: true}, 0, 64 << 30, 1, 64 * frameBytes},
		{"a file can wait", at(60, false), 0, 64 << 30, 1, 8 * frameBytes},
		{"a quarter of the memory", at(60, true), 0, 40 * frameBytes, 1, 10 * frameBytes},
		{"a quarter for four", at(60, true), 0, 160 * frameBytes, 4, 10 * frameBytes},
		{"never less than works", at(60, true), 0, 1 << 20, 1, minSlots * frameBytes},
		{"memory unknown", at(60, true), 0, 0, 1, 120 * frameBytes},
		{"as wanted", at(60, true), 30 * frameBytes, 64 << 30, 1, 30 * frameBytes},
		{"too small", at(60, true), frameBytes, 64 << 30, 1, 0},
		{"more than there is", at(60, true), 2 << 30, 1 << 30, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			size, err := ringSize(tc.info, frameBytes, tc.want, tc.available, tc.share)
			if size != tc.size || (err == nil) != (tc.size != 0) {
				t.Errorf("%d bytes, %v; want %d", size, err, tc.size)
			}
			if err == nil && size < ringbuf.BytesFor(minSlots, frameBytes) {
				t.Error("less than a ring needs")
			}
		})
	}
}
