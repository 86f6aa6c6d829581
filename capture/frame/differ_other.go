//go:build !amd64 || purego

package frame

func hasVectors() bool { return false }

func vectors([]uint64, []byte, []byte, []byte, uint64, int) { panic("vectors are not supported") }
