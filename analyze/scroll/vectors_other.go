//go:build !amd64 || purego

package scroll

func hasVectors() bool { return false }

func lumaVectors([]byte, []byte, *[3]uint32) int { panic("vectors are not supported") }

func stageVectors([]complex128, []complex128, int) { panic("vectors are not supported") }

func checkVectors(*checkSums, []byte, []byte, int, []byte, int, []uint64, int) {
	panic("vectors are not supported")
}
