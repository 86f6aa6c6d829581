package link

import "encoding/binary"

// header has the decoded fields of a packet of TCP or UDP.
type header struct {
	protocol    uint8 // protocolTCP or protocolUDP
	from, to    [16]byte
	six         bool
	source, dst uint16
	flags       uint8  // of TCP
	seq, ack    uint32 // of TCP
	payload     int    // bytes
}

const (
	protocolTCP = 6
	protocolUDP = 17

	flagFIN = 1 << 0
	flagSYN = 1 << 1
	flagRST = 1 << 2
	flagACK = 1 << 4

	maxExtensions = 8 // of IPv6, in a row
)

// read decodes a packet of IPv4 (RFC 791) or IPv6 (RFC 8200). It carries TCP (RFC 9293) or UDP (RFC
// 768). It reports whether the packet is one and complete.
func (h *header) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	switch b[0] >> 4 {
	case 4:
		return h.read4(b)
	case 6:
		return h.read6(b)
	}
	return false
}

func (h *header) read4(b []byte) bool {
	if len(b) < 20 {
		return false
	}
	head, whole := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	// Only the first fragment has ports, and its payload is not all.
	if head < 20 || whole < head || whole > len(b) || binary.BigEndian.Uint16(b[6:])&0x3fff != 0 {
		return false
	}
	h.six, h.protocol = false, b[9]
	h.from, h.to = [16]byte{}, [16]byte{}
	copy(h.from[:], b[12:16])
	copy(h.to[:], b[16:20])
	return h.readPorts(b[head:whole])
}

func (h *header) read6(b []byte) bool {
	const head = 40
	if len(b) < head {
		return false
	}
	whole := head + int(binary.BigEndian.Uint16(b[4:]))
	if whole > len(b) {
		return false
	}
	h.six, h.protocol = true, b[6]
	copy(h.from[:], b[8:24])
	copy(h.to[:], b[24:40])
	b = b[head:whole]
	for range maxExtensions {
		size := 0
		switch h.protocol {
		case 0, 43, 60: // hop by hop, routing, destination
			if len(b) < 8 {
				return false
			}
			size = 8 + 8*int(b[1])
		case 51: // authentication (RFC 4302)
			if len(b) < 8 {
				return false
			}
			size = 8 + 4*int(b[1])
		default: // a fragment too: it is none of ours
			return h.readPorts(b)
		}
		if size > len(b) {
			return false
		}
		h.protocol, b = b[0], b[size:]
	}
	return false
}

func (h *header) readPorts(b []byte) bool {
	switch h.protocol {
	case protocolTCP:
		if len(b) < 20 {
			return false
		}
		head := int(b[12]>>4) * 4
		if head < 20 || head > len(b) {
			return false
		}
		h.seq, h.ack, h.flags = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), b[13]
		h.payload = len(b) - head
	case protocolUDP:
		if len(b) < 8 {
			return false
		}
		h.payload = len(b) - 8
		h.seq, h.ack, h.flags = 0, 0, 0
	default:
		return false
	}
	h.source, h.dst = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	return true
}
