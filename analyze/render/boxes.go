package render

import (
	"encoding/binary"
	"io"
)

// hasIndex reports whether an MP4 file (ISO/IEC 14496-12, boxes of a 32-bit size and a type) has its index, the box
// "moov", which is written last: a disk that is full leaves it out. OpenCV must not be asked, since it and FFmpeg
// then write to standard error on their own.
func hasIndex(r io.ReaderAt, size int64) bool {
	const most = 64 // boxes of one file; an encoder writes three or four
	at := int64(0)
	for range most {
		var head [16]byte
		n, _ := r.ReadAt(head[:], at) // how much there is says it all
		if n < 8 {
			return false
		}
		length := int64(binary.BigEndian.Uint32(head[:4]))
		switch {
		case length == 1 && n == len(head): // a 64-bit size follows
			length = int64(binary.BigEndian.Uint64(head[8:]))
		case length == 0: // to the end of the file
			length = size - at
		}
		if length < 8 || length > size-at {
			return false
		}
		if string(head[4:8]) == "moov" {
			return true
		}
		at += length
	}
	return false
}
