//go:build !purego

package scroll

import "golang.org/x/sys/cpu"

func hasVectors() bool { return cpu.X86.HasAVX2 }

// lumaVectors makes the first n values of lumaOf.
func lumaVectors(dst, row []byte, weights *[3]uint32) (n int) {
	if n = len(dst) &^ 31; n > 0 {
		lumaAVX2(&dst[0], &row[:4*n][0], n/32, weights[0]|weights[2]<<16, weights[1])
	}
	return n
}

// stageVectors does the same as stage. The block must be eight.
func stageVectors(data, turns []complex128, half int) {
	stageAVX2(&data[0], &turns[0], len(data)/block, half)
}

// checkVectors does the same as checkWord, for all words of bits. Their first pixel is x. It comes
// from pixel from of the line old. Both pixels have a left neighbour in their lines.
func checkVectors(s *checkSums, luma, same []byte, x int, old []byte, from int, bits []uint64, tau int) {
	n := 64 * len(bits)
	checkAVX2(s, &luma[x : x+n][0], &old[from : from+n][0], &same[x : x+n][0], &bits[0], len(bits), byte(min(tau, 255)))
}

//go:noescape
func lumaAVX2(dst, row *byte, groups int, outer, inner uint32)

//go:noescape
func stageAVX2(data, turns *complex128, rows, half int)

//go:noescape
func checkAVX2(sums *checkSums, luma, old, same *byte, bits *uint64, words int, tau byte)
