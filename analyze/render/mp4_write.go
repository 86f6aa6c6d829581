package render

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// movie joins clips of one size and coding to one MP4 file (ISO/IEC 14496-12). OpenCV can neither be told how often to
// write a keyframe nor to keep a rate exactly; as each clip begins with a keyframe, and the index is ours, a
// movie has both, and says what its colours mean.
//
// What it keeps in memory is 6 bytes for each frame.
type movie struct {
	file    *os.File
	rateNum uint32 // frames in rateDen seconds; also the units of time in a second
	rateDen uint32
	width   int
	height  int
	entry   []byte
	clips   []span   // where they lie in the file
	sizes   []uint32 // of all frames
	delays  []int16  // place in the order of showing less place in that of decoding
	keys    []uint32 // numbers of keyframes, from 1
	end     int64    // of the file so far
}

type span struct {
	at     int64
	frames int
}

const mdatHead = 16 // of a box with a 64-bit size

func newMovie(file *os.File, width, height int, rateNum, rateDen uint32) (*movie, error) {
	m := &movie{file: file, width: width, height: height, rateNum: rateNum, rateDen: rateDen}
	head := box("ftyp", []byte("isom\x00\x00\x02\x00isomiso2avc1mp41"))
	head = append(head, make([]byte, mdatHead)...) // its size is known at the end
	if _, err := file.Write(head); err != nil {
		return nil, err
	}
	m.end = int64(len(head))
	return m, nil
}

// add appends a file of want frames.
func (m *movie) add(path string, want int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // was only read
	st, err := f.Stat()
	if err != nil {
		return err
	}
	c, err := readClip(f, st.Size(), want)
	if err != nil {
		return err
	}
	entry, err := colourEntry(c.entry)
	if err != nil {
		return err
	}
	if m.entry == nil {
		m.entry = entry
	}
	if !bytes.Equal(m.entry, entry) {
		return errors.New("the encoder changed its settings in the middle")
	}
	if _, err := io.Copy(m.file, io.NewSectionReader(f, c.data, c.bytes)); err != nil {
		return err
	}
	m.clips = append(m.clips, span{m.end, want})
	m.end += c.bytes
	for i, s := range c.frames {
		m.sizes = append(m.sizes, s.bytes)
		m.delays = append(m.delays, int16(int(s.shown)-i))
		if s.key {
			m.keys = append(m.keys, uint32(len(m.sizes)))
		}
	}
	return nil
}

// colourEntry returns a sample entry of the fields and the decoder's settings alone, and a "colr" box of type "nclx": OpenCV converts
// with the matrix of BT.601 in limited range whatever the size, where players guess BT.709 from 720 lines on. The primaries and the
// transfer function are those of sRGB (ISO/IEC 23091-2).
func colourEntry(entry []byte) ([]byte, error) {
	settings, err := child(entry[visualEntry:], "avcC")
	if err != nil {
		return nil, err
	}
	colr := box("colr", []byte("nclx\x00\x01\x00\x0d\x00\x06\x00"))
	content := append(entry[8:visualEntry:visualEntry], box("avcC", settings)...)
	return box("avc1", append(content, colr...)), nil
}

// finish writes the index. The file stays open.
func (m *movie) finish() error {
	if _, err := m.file.Write(m.index()); err != nil {
		return err
	}
	const ftyp = 8 + 24
	head := binary.BigEndian.AppendUint32(nil, 1)
	head = append(head, "mdat"...)
	head = binary.BigEndian.AppendUint64(head, uint64(m.end-ftyp))
	_, err := m.file.WriteAt(head, ftyp)
	return err
}

// box returns a box of the parts' bytes.
func box(kind string, parts ...[]byte) []byte {
	n := 8
	for _, p := range parts {
		n += len(p)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, n), uint32(n))
	b = append(b, kind...)
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// fields returns numbers as 32 bits each.
func fields(numbers ...uint32) []byte {
	b := make([]byte, 0, 4*len(numbers))
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// long returns a number as two fields.
func long(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// matrix of a picture that is neither turned nor scaled.
func matrix() []byte { return fields(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000) }

func (m *movie) index() []byte {
	const version1 = 1 << 24 // 64-bit times
	frames := uint64(len(m.sizes))
	duration := frames * uint64(m.rateDen)
	mvhd := box("mvhd", fields(version1), long(0), long(0), fields(m.rateNum), long(duration),
		fields(0x10000, 0x1000000, 0, 0), matrix(), fields(0, 0, 0, 0, 0, 0), fields(2))
	tkhd := box("tkhd", fields(version1|3), long(0), long(0), fields(1, 0), long(duration),
		fields(0, 0, 0, 0), matrix(), fields(uint32(m.width)<<16, uint32(m.height)<<16))
	// The edit skips the time by which showing lags behind decoding.
	lag := m.lag()
	edts := box("edts", box("elst", fields(version1, 1), long(duration), long(uint64(lag)*uint64(m.rateDen)), fields(0x10000)))
	mdhd := box("mdhd", fields(version1), long(0), long(0), fields(m.rateNum), long(duration), fields(0x55c40000))
	hdlr := box("hdlr", fields(0, 0), []byte("vide"), fields(0, 0, 0), []byte("video\x00"))
	vmhd := box("vmhd", fields(1, 0, 0))
	dinf := box("dinf", box("dref", fields(0, 1), box("url ", fields(1))))
	minf := box("minf", vmhd, dinf, m.sampleTable(lag))
	return box("moov", mvhd, box("trak", tkhd, edts, box("mdia", mdhd, hdlr, minf)))
}

// lag is by how many frames showing must lag behind decoding so that none is shown before it is decoded.
func (m *movie) lag() int {
	lag := 0
	for _, d := range m.delays {
		lag = max(lag, -int(d))
	}
	return lag
}

func (m *movie) sampleTable(lag int) []byte {
	n := uint32(len(m.sizes))
	var offsets, chunks, places []byte
	entries := uint32(0)
	for i := 0; i < len(m.delays); { // runs of equal offsets
		j := i
		for j < len(m.delays) && m.delays[j] == m.delays[i] {
			j++
		}
		offsets = append(offsets, fields(uint32(j-i), uint32(int(m.delays[i])+lag)*m.rateDen)...)
		entries++
		i = j
	}
	runs := uint32(0)
	for i, c := range m.clips { // runs of clips with equally many frames
		if i == 0 || c.frames != m.clips[i-1].frames {
			chunks = append(chunks, fields(uint32(i+1), uint32(c.frames), 1)...)
			runs++
		}
		places = append(places, long(uint64(c.at))...)
	}
	return box("stbl",
		box("stsd", fields(0, 1), m.entry),
		box("stts", fields(0, 1, n, m.rateDen)),
		box("stss", fields(0, uint32(len(m.keys))), fields(m.keys...)),
		box("ctts", fields(0, entries), offsets),
		box("stsc", fields(0, runs), chunks),
		box("stsz", fields(0, 0, n), fields(m.sizes...)),
		box("co64", fields(0, uint32(len(m.clips))), places),
	)
}

// units returns a rate as a fraction of 32-bit numbers, as near as they come, or an error.
func units(num, den int64) (uint32, uint32, error) {
	if num < 1 || den < 1 {
		return 0, 0, fmt.Errorf("rate of %d/%d", num, den)
	}
	for a, b := num, den; ; { // the greatest common divisor
		if b == 0 {
			num, den = num/a, den/a
			break
		}
		a, b = b, a%b
	}
	const most = 1 << 24 // so that hours fit into what players compute with
	for num > most || den > most {
		num, den = (num+1)/2, (den+1)/2
	}
	const fewest = 10_000 // units a second that every player is used to
	for num < fewest && den <= most/2 {
		num, den = 2*num, 2*den
	}
	return uint32(num), uint32(den), nil
}
