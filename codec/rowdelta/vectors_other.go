//go:build !amd64 || purego

package rowdelta

func hasVectors() bool { return false }

func joinVectors(_, _ []byte) int { panic("no vectors here") }

func restoreVectors(_, _ []byte, _ predictor) int { panic("no vectors here") }

func restorePairVectors(_, _, _ []byte) int { panic("no vectors here") }
