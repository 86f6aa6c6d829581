package site

import "crypto/sha256"

// Which marker a code stands on, in the lower 8 bits of the strip's free bits; the page number is
// in the upper 8.
const (
	MarkGreen = 1
	MarkRed   = 2
)

// mark is what a page draws on its markers.
type mark struct {
	ID    uint32 `json:"id"`
	Clock uint32 `json:"clock"`
}

// MarkCode returns the numbers that a run's markers carry in the strip's id and clock
// ([Options.MarkCode]), 24 bits each: the first six bytes of the nonce's SHA-256, the highest
// first.
func MarkCode(nonce string) (id, clock uint32) {
	sum := sha256.Sum256([]byte(nonce))
	number := func(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }
	return number(sum[:3]), number(sum[3:6])
}
