package v4l2

import (
	"encoding/binary"
	"fmt"
)

// makeEDID makes an EDID of two blocks that offers exactly the given modes, the first one
// preferred: an HDMI sink that takes RGB and no audio. The same modes make the same bytes.
//
// By VESA E-EDID A2 the first block offers nothing but detailed timings: no established or standard
// ones, no range to choose from. Sources may still send 640x480 in distress, which HDMI obliges
// every sink to take.
func makeEDID(modes []Mode) ([]byte, error) {
	if len(modes) == 0 || len(modes) > maxModes {
		return nil, fmt.Errorf("an EDID of %d modes: want 1 to %d", len(modes), maxModes)
	}
	var timings []timing
	for _, m := range modes {
		t, err := m.timing()
		if err != nil {
			return nil, fmt.Errorf("mode %v: %w", m, err)
		}
		timings = append(timings, t)
	}
	b := make([]byte, 2*edidBlock)
	baseBlock(b[:edidBlock], timings)
	ctaBlock(b[edidBlock:], timings)
	for i := 0; i < len(b); i += edidBlock {
		b[i+edidBlock-1] = -edidSum(b[i : i+edidBlock-1])
	}
	return b, nil
}

// baseBlock fills all but the sum.
func baseBlock(b []byte, timings []timing) {
	copy(b, edidHeader)
	binary.BigEndian.PutUint16(b[8:], uint16(('E'-'@')<<10|('I'-'@')<<5|('D'-'@')))
	binary.LittleEndian.PutUint16(b[10:], 1) // product
	b[16], b[17] = 1, 2026-1990              // week, year
	b[18], b[19] = 1, 3                      // version 1.3
	b[20] = 0x80                             // digital
	b[23] = 120                              // gamma 2.2
	b[24] = 0x0a                             // RGB; the first detailed timing is preferred
	// Chromaticity of sRGB, from section 3.7.
	copy(b[25:], []byte{0xee, 0x91, 0xa3, 0x54, 0x4c, 0x99, 0x26, 0x0f, 0x50, 0x54})
	for i := 38; i < 54; i++ {
		b[i] = 1 // no standard timing
	}
	timings[0].detailed(b[54:72])
	rangeLimits(b[72:90], timings)
	copy(b[90:108], []byte{0, 0, 0, 0xfc, 0, 'E', 'i', 'd', 'e', 't', 'i', 'c', 'k', 'e', 'r', '\n', ' ', ' '})
	b[111] = 0x10 // the last descriptor is empty
	b[126] = 1    // an extension follows
}

// detailed writes 18 bytes: E-EDID, table 3.21.
func (t timing) detailed(d []byte) {
	hBlank, vBlank := t.hfp+t.hs+t.hbp, t.vfp+t.vs+t.vbp
	binary.LittleEndian.PutUint16(d, uint16(t.clock))
	d[2], d[3], d[4] = byte(t.width), byte(hBlank), byte(t.width>>8<<4|hBlank>>8)
	d[5], d[6], d[7] = byte(t.height), byte(vBlank), byte(t.height>>8<<4|vBlank>>8)
	d[8], d[9] = byte(t.hfp), byte(t.hs)
	d[10] = byte(t.vfp&15<<4 | t.vs&15)
	d[11] = byte(t.hfp>>8<<6 | t.hs>>8<<4 | t.vfp>>4<<2 | t.vs>>4)
	d[17] = 0x18 // separate digital syncs
	if t.vPos {
		d[17] |= 4
	}
	if t.hPos {
		d[17] |= 2
	}
}

// rangeLimits says between which rates all the modes lie: E-EDID, table 3.26.
func rangeLimits(d []byte, timings []timing) {
	lowV, highV, lowH, highH, clock := 255, 1, 255, 1, 0
	for _, t := range timings {
		h := t.clock * 10 / (t.width + t.hfp + t.hs + t.hbp) // kHz
		v := t.clock * 10_000 / (t.width + t.hfp + t.hs + t.hbp) / (t.height + t.vfp + t.vs + t.vbp)
		lowH, highH = min(lowH, h), max(highH, h+1)
		lowV, highV = min(lowV, v), max(highV, v+1)
		clock = max(clock, t.clock)
	}
	copy(d, []byte{0, 0, 0, 0xfd, 0, byte(lowV), byte(min(highV, 255)), byte(lowH), byte(min(highH, 255)),
		byte((clock + 999) / 1000), 0, '\n', ' ', ' ', ' ', ' ', ' ', ' '})
}

// ctaBlock fills all but the sum: CTA-861-G, section 7.5.
func ctaBlock(b []byte, timings []timing) {
	b[0], b[1] = 0x02, 3
	b[3] = 1 // neither audio nor YCbCr; one native timing
	at := 4
	put := func(kind byte, data ...byte) {
		b[at] = kind<<5 | byte(len(data))
		at += 1 + copy(b[at+1:], data)
	}
	var vics []byte
	fastest := 0
	for _, t := range timings {
		if t.vic != 0 {
			vics = append(vics, byte(t.vic))
		}
		fastest = max(fastest, t.clock)
	}
	if len(vics) > 0 {
		put(dataVideo, vics...)
	}
	// HDMI 1.4b, section 8.3.2: physical address 1.0.0.0, fastest TMDS clock in units of 5 MHz.
	put(dataVendor, 0x03, 0x0c, 0x00, 0x10, 0x00, 0x00, byte(min((fastest+499)/500, 340/5)))
	if fastest > 34_000 {
		// HDMI 2.0, section 10.3.2: version 1, fastest character rate in units of 5 MHz, SCDC
		// there.
		put(dataVendor, 0xd8, 0x5d, 0xc4, 0x01, byte(min((fastest+499)/500, 600/5)), 0x80, 0x00)
	}
	b[2] = byte(at)
	for _, t := range timings[1:] {
		t.detailed(b[at : at+18])
		at += 18
	}
}
