package v4l2

import (
	"bytes"
	"fmt"
	"strings"
)

// EDID is what an input tells the device under test: which modes it can take. It is read by VESA
// E-EDID (A2), its extension by CTA-861-G.
type EDID struct {
	Manufacturer string   // three letters
	Product      int      // the manufacturer's number
	Name         string   // of the monitor
	Modes        []string // "1920x1080p60", in the order in which they stand, the preferred one first; each once
	HDMI         bool     // it says that it is HDMI, not DVI
	Audio        bool     // it offers to take audio
	HDR          bool     // it offers to take signals of high dynamic range
	Raw          []byte
}

// Sizes of an EDID.
const (
	edidBlock     = 128
	maxEDIDBlocks = 256
)

// edidHeader is never written to.
var edidHeader = []byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0}

// parseEDID reads an EDID of whole blocks and checks their sums. It needs no device.
func parseEDID(b []byte) (*EDID, error) {
	switch {
	case len(b) < edidBlock || len(b)%edidBlock != 0 || len(b) > maxEDIDBlocks*edidBlock:
		return nil, fmt.Errorf("an EDID of %d bytes: want blocks of %d", len(b), edidBlock)
	case !bytes.Equal(b[:8], edidHeader):
		return nil, fmt.Errorf("an EDID that starts with % x: want % x", b[:8], edidHeader)
	}
	for i := 0; i < len(b); i += edidBlock {
		if sum := edidSum(b[i : i+edidBlock]); sum != 0 {
			return nil, fmt.Errorf("block %d of the EDID has a wrong checksum", i/edidBlock)
		}
	}
	e := &EDID{
		Manufacturer: manufacturer(b[8], b[9]),
		Product:      int(b[10]) | int(b[11])<<8,
		Raw:          bytes.Clone(b),
	}
	for at := 54; at < 126; at += 18 {
		e.descriptor(b[at : at+18])
	}
	for at := edidBlock; at < len(b); at += edidBlock {
		if b[at] == 0x02 {
			e.extension(b[at : at+edidBlock])
		}
	}
	return e, nil
}

// edidSum adds up the bytes of a block, which makes 0.
func edidSum(b []byte) (sum byte) {
	for _, x := range b {
		sum += x
	}
	return sum
}

func manufacturer(hi, lo byte) string {
	v := int(hi)<<8 | int(lo)
	letter := func(n int) byte {
		if n &= 31; n >= 1 && n <= 26 {
			return byte('A' + n - 1)
		}
		return '?'
	}
	return string([]byte{letter(v >> 10), letter(v >> 5), letter(v)})
}

// descriptor reads 18 bytes: a detailed timing, or a name.
func (e *EDID) descriptor(d []byte) {
	if d[0] != 0 || d[1] != 0 {
		e.detailed(d)
	} else if d[3] == 0xfc {
		e.Name = text([]byte(strings.TrimRight(string(d[5:]), "\n ")))
	}
}

func (e *EDID) detailed(d []byte) {
	t := Timings{
		Width: int(d[2]) | int(d[4]>>4)<<8, Height: int(d[5]) | int(d[7]>>4)<<8,
		PixelClock: (uint64(d[0]) | uint64(d[1])<<8) * 10_000,
	}
	t.TotalWidth = t.Width + (int(d[3]) | int(d[4]&15)<<8)
	t.TotalHeight = t.Height + (int(d[6]) | int(d[7]&15)<<8)
	if t.bounded() != nil {
		return
	}
	t.Period = framePeriod(uint64(t.TotalWidth)*uint64(t.TotalHeight), t.PixelClock, false)
	if d[17]&0x80 != 0 { // interlaced: the size is that of one field
		t.Interlaced, t.Height = true, t.Height*2
		t.Period.Num *= 2
	}
	e.add(t.String())
}

func (e *EDID) add(mode string) {
	for _, m := range e.Modes {
		if m == mode {
			return
		}
	}
	e.Modes = append(e.Modes, mode)
}

// extension reads a CTA-861 block: data blocks, then detailed timings from the offset in its third
// byte.
func (e *EDID) extension(b []byte) {
	details := int(b[2])
	e.Audio = e.Audio || b[3]&0x40 != 0
	if details < 4 || details > 127 {
		return
	}
	for at := 4; at < details; {
		size := int(b[at] & 31)
		if at+1+size > details {
			return
		}
		e.dataBlock(b[at]>>5, b[at+1:at+1+size])
		at += 1 + size
	}
	for at := details; at+18 <= 127 && (b[at] != 0 || b[at+1] != 0); at += 18 {
		e.detailed(b[at : at+18])
	}
}

// Kinds of data blocks: CTA-861-G, tables 54 and 55.
const (
	dataAudio    = 1
	dataVideo    = 2
	dataVendor   = 3
	dataExtended = 7
	extendedHDR  = 6
)

func (e *EDID) dataBlock(kind byte, d []byte) {
	switch {
	case kind == dataAudio:
		e.Audio = true
	case kind == dataVideo:
		for _, v := range d {
			e.vic(int(v))
		}
	case kind == dataVendor && len(d) >= 3:
		e.HDMI = e.HDMI || d[0] == 0x03 && d[1] == 0x0c && d[2] == 0x00
	case kind == dataExtended && len(d) >= 1 && d[0] == extendedHDR:
		e.HDR = true
	}
}

// sameEDID compares two but for the physical address in HDMI's data block, which drivers set as CEC
// has it.
func sameEDID(a, b []byte) bool { return bytes.Equal(withoutAddress(a), withoutAddress(b)) }

// withoutAddress returns a copy of an EDID with a physical address of 0, and the sums that go with
// it.
func withoutAddress(b []byte) []byte {
	b = bytes.Clone(b)
	for at := edidBlock; at+edidBlock <= len(b); at += edidBlock {
		block := b[at : at+edidBlock]
		if block[0] != 0x02 {
			continue
		}
		for i := 4; i < min(int(block[2]), edidBlock-1); i += 1 + int(block[i]&31) {
			if block[i]>>5 == dataVendor && block[i]&31 >= 5 && i+5 < edidBlock-1 &&
				bytes.Equal(block[i+1:i+4], []byte{0x03, 0x0c, 0x00}) {
				block[i+4], block[i+5] = 0, 0
				block[edidBlock-1] = -edidSum(block[:edidBlock-1])
			}
		}
	}
	return b
}

// vic adds the mode of a video identification code.
func (e *EDID) vic(v int) {
	if v >= 129 && v <= 192 { // 1 to 64 marked as native
		v -= 128
	}
	for _, c := range ctaModes {
		if c.t.vic == v {
			e.add(fmt.Sprintf("%dx%dp%d", c.width, c.height, c.rate))
			return
		}
	}
	e.add(fmt.Sprintf("VIC %d", v))
}
