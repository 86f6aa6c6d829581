package ringbuf

import "encoding/binary"

// fillFrame writes a frame whose length and bytes follow from its id, and returns it.
func fillFrame(slot []byte, id uint64) []byte {
	frame := slot[:8*(1+id%13)]
	for i := 0; i < len(frame); i += 8 {
		binary.LittleEndian.PutUint64(frame[i:], id*0x9e3779b97f4a7c15+uint64(i))
	}
	return frame
}

// frameFits reports whether bytes are what fillFrame wrote for id.
func frameFits(frame []byte, id uint64) bool {
	if len(frame) != int(8*(1+id%13)) {
		return false
	}
	for i := 0; i < len(frame); i += 8 {
		if binary.LittleEndian.Uint64(frame[i:]) != id*0x9e3779b97f4a7c15+uint64(i) {
			return false
		}
	}
	return true
}
