package strip

import (
	"crypto/sha256"
	"fmt"
)

// Code is what one copy of the strip says.
type Code struct {
	ID    uint32 `json:"id"`       // number of the drawn frame, 24 bits
	Clock uint32 `json:"clock_ms"` // the page's clock, milliseconds, 24 bits
	Free  uint16 `json:"free"`     // page number in the upper 8 bits
}

// Page returns the page number: which of the pages of a run drew the frame.
func (c Code) Page() uint8 { return uint8(c.Free >> 8) }

// Marker says on which sync marker a code stands: the lower 8 free bits.
type Marker uint8

const (
	Green Marker = 1
	Red   Marker = 2
)

func (m Marker) String() string {
	switch m {
	case Green:
		return "green"
	case Red:
		return "red"
	}
	return fmt.Sprintf("marker(%d)", uint8(m))
}

// MarkerCode returns the code that a page draws as copy 0 on its green or red. It distinguishes a
// marker of this run from one that another run left on the screen. id and clock are bytes 0–2 and
// 3–5 of the SHA-256 of the run's nonce, the most significant byte first.
func MarkerCode(nonce string, page uint8, m Marker) Code {
	sum := sha256.Sum256([]byte(nonce))
	number := func(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }
	return Code{ID: number(sum[0:3]), Clock: number(sum[3:6]), Free: uint16(page)<<8 | uint16(m)}
}

// IsMarker reports whether the code is that of a run's marker of this kind, whatever its page.
func (c Code) IsMarker(nonce string, m Marker) bool { return c == MarkerCode(nonce, c.Page(), m) }

// OnMarker reports whether the code stands on a marker, of whatever run and kind.
func (c Code) OnMarker() bool { return Marker(c.Free) == Green || Marker(c.Free) == Red }

// Cells of a copy and the numbers in it; see the package documentation.
const (
	Cells = 96

	leadCells = 8
	idBits    = 24
	clockBits = 24
	freeBits  = 16
	crcBits   = 16

	lead = 0b10110010
	tail = 0b01001101

	// IDs and clocks are counted modulo this.
	Modulus = 1 << idBits
)

// bits is a copy's cells, the leftmost in the highest bit of hi.
type bits struct {
	hi uint64 // cells 0…63
	lo uint32 // cells 64…95
}

func (b bits) cell(i int) bool {
	if i < 64 {
		return b.hi>>(63-i)&1 != 0
	}
	return b.lo>>(95-i)&1 != 0
}

func (b *bits) set(i int) {
	if i < 64 {
		b.hi |= 1 << (63 - i)
	} else {
		b.lo |= 1 << (95 - i)
	}
}

// payload packs the numbers as cells 8…71 hold them.
func (c Code) payload() uint64 {
	return uint64(c.ID&(Modulus-1))<<40 | uint64(c.Clock&(Modulus-1))<<16 | uint64(c.Free)
}

// encode returns the cells of a code.
func encode(c Code) bits {
	p := c.payload()
	return bits{
		hi: lead<<56 | p>>8,
		lo: uint32(p)<<24 | uint32(crc16(p))<<8 | tail,
	}
}

// decode reads cells, and reports whether lead, tail and CRC fit.
func decode(b bits) (Code, bool) {
	p := b.hi<<8 | uint64(b.lo>>24)
	if b.hi>>56 != lead || b.lo&0xff != tail || uint16(b.lo>>8) != crc16(p) {
		return Code{}, false
	}
	return Code{ID: uint32(p >> 40), Clock: uint32(p>>16) & (Modulus - 1), Free: uint16(p)}, true
}

// crc16 is CRC-16/CCITT-FALSE of the payload's 8 bytes, most significant first.
func crc16(p uint64) uint16 {
	crc := uint16(0xffff)
	for shift := 56; shift >= 0; shift -= 8 {
		crc ^= uint16(byte(p>>shift)) << 8
		for range 8 {
			top := crc & 0x8000
			crc <<= 1
			if top != 0 {
				crc ^= 0x1021
			}
		}
	}
	return crc
}
