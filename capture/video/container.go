package video

import (
	"encoding/binary"
	"fmt"
	"io"
)

// ending is what a file's outermost structure says about its end.
type ending struct {
	cut   string // how one sees that bytes are missing; empty if none are
	whole bool   // none are missing
}

// maxBoxes bounds the walk through a file. A fragmented film of ten hours has some 36,000 boxes.
const maxBoxes = 1 << 20

// cutShort reports whether a file ends too early, for formats that state lengths before their
// contents. Decoding finds this only roughly: with a variable frame rate, the number of frames is
// not known beforehand. The stated length may be that of the sound.
//
//   - MP4, MOV (ISO/IEC 14496-12): every outermost box has its size.
//   - Matroska, WebM (RFC 8794, RFC 9559): the segment has its size, unless it was written live.
//   - AVI: every RIFF chunk has its size.
//   - MPEG-TS (ISO/IEC 13818-1): the file is made of packets of 188 bytes, or 192 with time codes.
//
// Other formats and unreadable files are neither whole nor cut.
func cutShort(r io.ReaderAt, size int64) ending {
	head := make([]byte, 577)
	n, _ := r.ReadAt(head, 0)
	head = head[:n]
	if n < 12 {
		return ending{}
	}
	switch string(head[4:8]) {
	case "ftyp", "moov", "mdat", "free", "skip", "wide", "styp":
		return walkBoxes(r, size)
	}
	switch {
	case string(head[:4]) == "RIFF":
		return walkRIFF(r, size)
	case string(head[:4]) == "\x1a\x45\xdf\xa3":
		return segmentEnd(head, size)
	}
	for _, packet := range []int{188, 192} {
		at := packet - 188 // time codes stand before the packet
		if len(head) > at+2*packet && head[at] == 0x47 && head[at+packet] == 0x47 && head[at+2*packet] == 0x47 {
			if rest := size % int64(packet); rest != 0 {
				return ending{cut: fmt.Sprintf("its last packet has %d of %d bytes", rest, packet)}
			}
			return ending{}
		}
	}
	return ending{}
}

func missing(what string, at, length, size int64) ending {
	return ending{
		cut: fmt.Sprintf("%s at offset %d has %d bytes, and %d of them are missing", what, at, length, at+length-size),
	}
}

func walkBoxes(r io.ReaderAt, size int64) ending {
	var head [16]byte
	for at, boxes := int64(0), 0; boxes < maxBoxes; boxes++ {
		if at == size {
			return ending{whole: true}
		}
		n, _ := r.ReadAt(head[:], at)
		if n < 8 {
			return ending{cut: fmt.Sprintf("it ends inside the head of a box at offset %d", at)}
		}
		length := int64(binary.BigEndian.Uint32(head[:]))
		name := fmt.Sprintf("the box %q", head[4:8])
		switch {
		case length == 0: // to the end of the file
			return ending{}
		case length == 1 && n == 16:
			length = int64(binary.BigEndian.Uint64(head[8:]))
			if length < 16 {
				return ending{}
			}
		case length < 8:
			return ending{}
		}
		if length > size-at {
			return missing(name, at, length, size)
		}
		at += length
	}
	return ending{}
}

func walkRIFF(r io.ReaderAt, size int64) ending {
	var head [8]byte
	for at, chunks := int64(0), 0; chunks < maxBoxes; chunks++ {
		if n, _ := r.ReadAt(head[:], at); n < 8 || string(head[:4]) != "RIFF" {
			return ending{whole: at > 0} // data after the last RIFF chunk is not part of the film
		}
		length := 8 + int64(binary.LittleEndian.Uint32(head[4:]))
		if length > size-at {
			return missing("the RIFF chunk", at, length, size)
		}
		at += length + length&1
		if at >= size {
			return ending{whole: true}
		}
	}
	return ending{}
}

// segmentEnd reads the EBML header and the head of the segment, which is all there is outermost.
func segmentEnd(head []byte, size int64) ending {
	length, n := ebmlSize(head[4:])
	at := 4 + int64(n) + length
	if n == 0 || length < 0 || at+12 > int64(len(head)) || string(head[at:at+4]) != "\x18\x53\x80\x67" {
		return ending{}
	}
	length, n = ebmlSize(head[at+4:])
	start := at + 4 + int64(n)
	if n == 0 || length < 0 {
		return ending{}
	}
	if length > size-start {
		return missing("the segment", start, length, size)
	}
	return ending{whole: true}
}

// ebmlSize reads a variable-length size (RFC 8794, section 4) and how many bytes it takes. It is -1
// for the unknown size, with which live streams are written.
func ebmlSize(b []byte) (size int64, n int) {
	if len(b) == 0 || b[0] == 0 {
		return 0, 0
	}
	n = 1
	for mask := byte(0x80); b[0]&mask == 0; mask >>= 1 {
		n++
	}
	if len(b) < n {
		return 0, 0
	}
	value := int64(b[0]) & (1<<(8-n) - 1)
	for _, c := range b[1:n] {
		value = value<<8 | int64(c)
	}
	if value == 1<<(7*n)-1 {
		return -1, n
	}
	return value, n
}
