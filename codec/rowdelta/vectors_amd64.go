//go:build !purego

package rowdelta

import "golang.org/x/sys/cpu"

func hasVectors() bool { return cpu.X86.HasAVX2 }

// joinVectors does as join does with four channels, as far as it returns. It does n bytes of each.
func joinVectors(dst, src []byte) (n int) {
	quarter := len(src) / 4
	if n = quarter &^ 15; n > 0 {
		joinAVX2(&dst[:4*n][0], &src[0], quarter, n/16)
	}
	return n
}

// restoreVectors restores bytes of a row whose pixels have four bytes, from the second on. It
// returns the first byte that is left.
func restoreVectors(row, up []byte, from predictor) int {
	groups := (len(row) - 4) / 16
	if len(row) < 20 {
		return 4
	}
	switch up = up[:len(row)]; from {
	case fromLeft:
		restoreLeftAVX2(&row[4], groups)
	case fromMean:
		restoreMeanAVX2(&row[4], &up[4], groups)
	case fromMedian:
		restoreMedianAVX2(&row[4], &up[4], groups)
	}
	return 4 + 16*groups
}

// restorePairVectors restores two rows by means, as restoreVectors does one. They have groups.
func restorePairVectors(row, up, below []byte) int {
	groups := (len(row) - 4) / 16
	up, below = up[:len(row)], below[:len(row)]
	restoreMeanPairAVX2(&row[4], &up[4], &below[4], groups)
	return 4 + 16*groups
}

//go:noescape
func joinAVX2(dst, src *byte, quarter, groups int)

//go:noescape
func restoreLeftAVX2(row *byte, groups int)

//go:noescape
func restoreMeanAVX2(row, up *byte, groups int)

//go:noescape
func restoreMeanPairAVX2(row, up, below *byte, groups int)

//go:noescape
func restoreMedianAVX2(row, up *byte, groups int)
