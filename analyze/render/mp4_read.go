package render

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// clip is what the index of a short MP4 file says: a single stream of H.264 at a constant rate (ISO/IEC 14496-12 and -15).
type clip struct {
	entry  []byte // the sample entry "avc1" as it is, box head included
	data   int64  // where in the file the coded frames begin; they follow each other
	bytes  int64  // how many there are
	frames []coded
}

// coded is one frame of a clip, in the order of decoding.
type coded struct {
	bytes uint32
	shown int32 // place in the order of showing
	key   bool
}

// errIncomplete is wrapped where a file lacks its index, or its index what it should say. The index is written last: a disk that
// is full leaves it out, and OpenCV does not tell.
var errIncomplete = errors.New("the file was not written to its end, is the disk full?")

// maxIndex bounds the index of a clip of a second or so.
const maxIndex = 4 << 20

// readClip reads the index of a file that should hold so many frames.
func readClip(r io.ReaderAt, size int64, want int) (*clip, error) {
	var c clip
	var moov []byte
	err := topBoxes(r, size, func(kind string, at, end int64) error {
		switch kind {
		case "mdat":
			c.data, c.bytes = at, end-at
		case "moov":
			if end-at > maxIndex {
				return fmt.Errorf("index of %d bytes, want at most %d", end-at, maxIndex)
			}
			moov = make([]byte, end-at)
			_, err := r.ReadAt(moov, at)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errIncomplete, err)
	}
	if moov == nil {
		return nil, errIncomplete
	}
	if err := c.parse(moov, want); err != nil {
		return nil, fmt.Errorf("%w (%w)", errIncomplete, err)
	}
	return &c, nil
}

// topBoxes goes through the boxes of a file: each has a 32-bit size and a type, and a 64-bit size behind that if the other is 1.
func topBoxes(r io.ReaderAt, size int64, each func(kind string, at, end int64) error) error {
	const most = 64 // boxes of one file; an encoder writes three or four
	at := int64(0)
	for range most {
		var head [16]byte
		n, _ := r.ReadAt(head[:], at) // how much there is says it all
		if n == 0 {
			return nil
		}
		if n < 8 {
			return fmt.Errorf("half a box at byte %d", at)
		}
		length, skip := int64(binary.BigEndian.Uint32(head[:4])), int64(8)
		switch {
		case length == 1 && n == len(head):
			length, skip = int64(binary.BigEndian.Uint64(head[8:])), 16
		case length == 0: // to the end of the file
			length = size - at
		}
		if length < skip || length > size-at {
			return fmt.Errorf("box of %d bytes at byte %d of %d", length, at, size)
		}
		if err := each(string(head[4:8]), at+skip, at+length); err != nil {
			return err
		}
		at += length
	}
	return fmt.Errorf("more than %d boxes", most)
}

// child returns the content of the first box of a kind among those in b.
func child(b []byte, path ...string) ([]byte, error) {
	for _, kind := range path {
		found := false
		for len(b) >= 8 {
			n := int64(binary.BigEndian.Uint32(b))
			if n < 8 || n > int64(len(b)) {
				return nil, fmt.Errorf("box of %d bytes in one of %d", n, len(b))
			}
			if string(b[4:8]) == kind {
				b, found = b[8:n], true
				break
			}
			b = b[n:]
		}
		if !found {
			return nil, fmt.Errorf("no box %q", kind)
		}
	}
	return b, nil
}

// table reads a box that has a version, flags, a number of entries, and as many entries of so many 32-bit fields.
func table(b []byte, fields, most int) ([]uint32, error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("table of %d bytes", len(b))
	}
	n := int(binary.BigEndian.Uint32(b[4:]))
	if n < 0 || n > most || len(b) < 8+4*fields*n {
		return nil, fmt.Errorf("table of %d entries in %d bytes, want at most %d", n, len(b), most)
	}
	all := make([]uint32, fields*n)
	for i := range all {
		all[i] = binary.BigEndian.Uint32(b[8+4*i:])
	}
	return all, nil
}

func (c *clip) parse(moov []byte, want int) error {
	stbl, err := child(moov, "trak", "mdia", "minf", "stbl")
	if err != nil {
		return err
	}
	stsd, err := child(stbl, "stsd")
	if err != nil {
		return err
	}
	if err := c.parseEntry(stsd); err != nil {
		return err
	}
	if err := c.parseSizes(stbl, want); err != nil {
		return err
	}
	if err := c.parseKeys(stbl); err != nil {
		return err
	}
	return c.parseOrder(stbl)
}

// visualEntry is how long a sample entry's fields are, before the boxes in it.
const visualEntry = 8 + 78

func (c *clip) parseEntry(stsd []byte) error {
	if len(stsd) < 8+visualEntry {
		return fmt.Errorf("sample entry of %d bytes", len(stsd))
	}
	b := stsd[8:]
	n := int64(binary.BigEndian.Uint32(b))
	if string(b[4:8]) != "avc1" || n < visualEntry || n > int64(len(b)) {
		return fmt.Errorf("sample entry %q of %d bytes, want H.264", b[4:8], n)
	}
	c.entry = slices.Clone(b[:n])
	return nil
}

func (c *clip) parseSizes(stbl []byte, want int) error {
	b, err := child(stbl, "stsz")
	if err != nil {
		return err
	}
	if len(b) < 12 {
		return fmt.Errorf("sizes of %d bytes", len(b))
	}
	each, n := binary.BigEndian.Uint32(b[4:]), int(binary.BigEndian.Uint32(b[8:]))
	if n != want || each == 0 && len(b) < 12+4*n {
		return fmt.Errorf("%d of %d frames", n, want)
	}
	c.frames = make([]coded, n)
	sum := int64(0)
	for i := range c.frames {
		c.frames[i].bytes = each
		if each == 0 {
			c.frames[i].bytes = binary.BigEndian.Uint32(b[12+4*i:])
		}
		sum += int64(c.frames[i].bytes)
	}
	if sum != c.bytes {
		return fmt.Errorf("frames of %d bytes in %d", sum, c.bytes)
	}
	return nil
}

func (c *clip) parseKeys(stbl []byte) error {
	b, err := child(stbl, "stss")
	if err != nil { // each is one
		for i := range c.frames {
			c.frames[i].key = true
		}
		return nil
	}
	keys, err := table(b, 1, len(c.frames))
	if err != nil {
		return err
	}
	for _, n := range keys {
		if n < 1 || int(n) > len(c.frames) {
			return fmt.Errorf("keyframe %d of %d", n, len(c.frames))
		}
		c.frames[n-1].key = true
	}
	if len(c.frames) > 0 && !c.frames[0].key {
		return errors.New("it does not begin with a keyframe")
	}
	return nil
}

// parseOrder finds out when each frame is shown: at the time of its decoding plus an offset.
func (c *clip) parseOrder(stbl []byte) error {
	b, err := child(stbl, "stts")
	if err != nil {
		return err
	}
	durations, err := table(b, 2, len(c.frames))
	if err != nil {
		return err
	}
	shown := make([]int64, 0, len(c.frames))
	at := int64(0)
	for ; len(durations) > 0; durations = durations[2:] {
		for range min(int(durations[0]), len(c.frames)-len(shown)) {
			shown = append(shown, at)
			at += int64(durations[1])
		}
	}
	if len(shown) != len(c.frames) {
		return fmt.Errorf("%d times for %d frames", len(shown), len(c.frames))
	}
	if b, err := child(stbl, "ctts"); err == nil {
		offsets, err := table(b, 2, len(c.frames))
		if err != nil {
			return err
		}
		i := 0
		for ; len(offsets) > 0; offsets = offsets[2:] {
			for range min(int(offsets[0]), len(shown)-i) {
				shown[i] += int64(int32(offsets[1]))
				i++
			}
		}
	}
	order := make([]int, len(shown))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(max(-1, min(1, shown[a]-shown[b]))) })
	for place, i := range order {
		c.frames[i].shown = int32(place)
	}
	return nil
}
