package payload

import (
	"encoding/binary"
	"hash/crc32"
)

// Sizes in bytes.
const (
	maxMessage = 64 << 10

	headBytes = 8
	crcBytes  = 4
	frameOf   = headBytes + crcBytes // bytes of a packet beside its data
	maxData   = 1<<14 - 1
	firstFlag = 1 << 15
	lastFlag  = 1 << 14
)

// Packet is a part of a message, as a page drew it.
type Packet struct {
	Sequence    uint16
	First, Last bool   // the first or last one of its message
	Clock       uint32 // of the page, in µs modulo 2³²
	Data        []byte
}

// append adds the packet's bytes to b.
func (p *Packet) append(b []byte) []byte {
	from, length := len(b), uint16(len(p.Data))
	if p.First {
		length |= firstFlag
	}
	if p.Last {
		length |= lastFlag
	}
	b = binary.BigEndian.AppendUint16(b, p.Sequence)
	b = binary.BigEndian.AppendUint16(b, length)
	b = binary.BigEndian.AppendUint32(b, p.Clock)
	b = append(b, p.Data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[from:]))
}

// parse reads a packet at the begin of b. Its data is a part of b. It returns false if length or
// CRC do not fit.
func parse(b []byte) (Packet, bool) {
	if len(b) < frameOf {
		return Packet{}, false
	}
	length := binary.BigEndian.Uint16(b[2:])
	end := headBytes + int(length&maxData)
	if end == headBytes || end+crcBytes > len(b) ||
		binary.BigEndian.Uint32(b[end:]) != crc32.ChecksumIEEE(b[:end]) {
		return Packet{}, false
	}
	return Packet{
		Sequence: binary.BigEndian.Uint16(b), First: length&firstFlag != 0, Last: length&lastFlag != 0,
		Clock: binary.BigEndian.Uint32(b[4:]), Data: b[headBytes:end:end],
	}, true
}
