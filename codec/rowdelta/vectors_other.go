//go:build !amd64 || purego

package rowdelta

func hasVectors() bool { return false }

func joinVectors(_, _ []byte) int { panic("vectors are not supported") }

func restoreVectors(_, _ []byte, _ predictor) int { panic("vectors are not supported") }

func restorePairVectors(_, _, _ []byte) int { panic("vectors are not supported") }
