//go:build !purego

package frame

import "golang.org/x/sys/cpu"

// Comparing pixels is half of the cost of analysing a video.
// The best Go version takes five times as long as bytes.Equal, which is assembly too. This version
// takes about as long as bytes.Equal. The tests compare both with the same literal comparison.

func hasVectors() bool { return cpu.X86.HasAVX2 }

// vectors compares 64 pixels of 4 bytes for each word of dst. A bit is set where a visible byte
// differs by more than tau.
//
// Of two consecutive frames, a is the one that is no longer in the processor's cache. Lines are not
// adjacent in memory, so the processor cannot predict the next address. Prefetching the next line
// during the comparison halves the time.
func vectors(dst []uint64, a, b, next []byte, seen uint64, tau int) {
	if len(dst) == 0 {
		return
	}
	n := 256 * len(dst)
	a, b = a[:n], b[:n]
	beyondAVX2(&dst[0], &a[0], &b[0], &next[0], len(dst), seen, byte(min(tau, 255)))
}

//go:noescape
func beyondAVX2(dst *uint64, a, b, next *byte, words int, seen uint64, tau byte)
