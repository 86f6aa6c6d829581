package strip

// Code is what one copy of the strip says.
type Code struct {
	ID    uint32 `json:"id"`       // number of the drawn frame, 24 bits
	Clock uint32 `json:"clock_ms"` // the page's clock, milliseconds, 24 bits
	Free  uint16 `json:"free"`     // page number in the upper 8 bits
}

// Page returns the page number: which of the pages of a run drew the frame.
func (c Code) Page() uint8 { return uint8(c.Free >> 8) }

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
