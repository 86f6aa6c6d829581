//go:build !purego

package frame

import "golang.org/x/sys/cpu"

// Note: the project has no other assembly. Half of what an analysis of a video does is to compare
// pixels; the best that was found in Go takes five times as long as bytes.Equal, which is assembly
// too, and this takes about as long. The tests hold both against the same literal comparison.

func hasVectors() bool { return cpu.X86.HasAVX2 }

// vectors compares 64 pixels of 4 bytes for each word of dst: a bit is set where a byte that is
// seen differs by more than tau. Of frames that follow each other, a is the one that has not been
// looked at for long, and no longer in a processor's own cache. Lines are not one behind the other
// in memory, so the processor cannot foretell what comes: to ask for the next line while this one
// is compared takes the half of the time away.
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
