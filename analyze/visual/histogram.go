package visual

import (
	"encoding/binary"
	"math"
)

// white is where white begins: a pixel whose samples are all at least this is left out of a
// histogram, as the script does it.
const white = 250

// Histogram counts how many pixels have each value, for each of a picture's three channels. Pixels
// that are white (all three samples ≥ white) are not counted. It is updated by subtracting pixels
// and adding others, so unchanged parts cost nothing.
//
// The order of the channels does not matter. Pixels may be RGB, BGR, RGBA or BGRX, if all have the
// same order. The fourth byte is ignored.
//
// The zero value is the histogram of no pixels.
type Histogram struct {
	// White pixels are counted too, but 256 higher, where nobody looks: that needs no branch.
	bins [3][512]uint32
	// Grey pixels of eights that are all grey are counted here, once for the three channels; text
	// has many. Each pixel of an eight has its own table. Neighbours are often equal, and with one
	// table each increment would wait for the previous one.
	grey [8][256]uint32
}

// counts returns the histogram of one channel.
func (h *Histogram) counts(channel int) (n [256]uint32) {
	copy(n[:], h.bins[channel][:])
	for t := range h.grey {
		for i, g := range h.grey[t][:white] {
			n[i] += g
		}
	}
	return n
}

// Add puts in pixels of step bytes each, 3 or 4. Bytes after the last whole pixel are ignored.
func (h *Histogram) Add(row []byte, step int) { h.count(row, step, 1) }

// Remove takes out pixels that were put in, as Add puts them in.
func (h *Histogram) Remove(row []byte, step int) { h.count(row, step, ^uint32(0)) }

// Update takes out the old pixels and puts in the new ones. Pixels that are the same in both may be
// among them.
func (h *Histogram) Update(old, now []byte, step int) {
	h.Remove(old, step)
	h.Add(now, step)
}

func (h *Histogram) count(row []byte, step int, by uint32) {
	if step == 4 {
		h.count4(row, by)
		return
	}
	for ; len(row) >= 3; row = row[min(step, len(row)):] {
		h.bump(uint32(row[0])|uint32(row[1])<<8|uint32(row[2])<<16, by)
	}
}

// bump counts one pixel, given with its three samples in the lower 24 bits.
func (h *Histogram) bump(pixel, by uint32) {
	a, b, c := pixel&0xff, pixel>>8&0xff, pixel>>16&0xff
	const up = 256 - white
	white := (a + up) & (b + up) & (c + up) & 256
	h.bins[0][(a|white)&511] += by
	h.bins[1][(b|white)&511] += by
	h.bins[2][(c|white)&511] += by
}

// count4 counts pixels of 4 bytes. Screens are full of runs of one colour: eight equal pixels are
// counted at once, and runs of such eights with them.
func (h *Histogram) count4(row []byte, by uint32) {
	const (
		samples = 0x00ffffff
		two     = 0x00ffffff00ffffff // two pixels' samples
		upper   = 0x0000ffff0000ffff // of two pixels that were xored with themselves, 8 bits lower: zero if grey
		size    = 32                 // bytes of eight pixels
	)
	for len(row) >= size {
		p := binary.LittleEndian.Uint64(row) & two
		q := binary.LittleEndian.Uint64(row[8:]) & two
		r := binary.LittleEndian.Uint64(row[16:]) & two
		s := binary.LittleEndian.Uint64(row[24:]) & two
		if (p^q)|(p^r)|(p^s)|(p^p>>32)&samples != 0 {
			if ((p^p>>8)|(q^q>>8)|(r^r>>8)|(s^s>>8))&upper == 0 {
				h.bumpGrey(p, q, r, s, by)
			} else {
				h.bumpAll(p, q, r, s, by)
			}
			row = row[size:]
			continue
		}
		n := run(row[size:], p)
		h.bump(uint32(p), by*uint32(8*(n+1)))
		row = row[size*(n+1):]
	}
	for ; len(row) >= 4; row = row[4:] {
		h.bump(binary.LittleEndian.Uint32(row)&0xffffff, by)
	}
}

func (h *Histogram) bumpGrey(p, q, r, s uint64, by uint32) {
	h.grey[0][p&255] += by
	h.grey[1][p>>32&255] += by
	h.grey[2][q&255] += by
	h.grey[3][q>>32&255] += by
	h.grey[4][r&255] += by
	h.grey[5][r>>32&255] += by
	h.grey[6][s&255] += by
	h.grey[7][s>>32&255] += by
}

func (h *Histogram) bumpAll(p, q, r, s uint64, by uint32) {
	h.bump(uint32(p), by)
	h.bump(uint32(p>>32), by)
	h.bump(uint32(q), by)
	h.bump(uint32(q>>32), by)
	h.bump(uint32(r), by)
	h.bump(uint32(r>>32), by)
	h.bump(uint32(s), by)
	h.bump(uint32(s>>32), by)
}

// run returns how many eights of pixels from the row's start on have the colour, which is given
// twice.
func run(row []byte, p uint64) (n int) {
	const two = 0x00ffffff00ffffff
	for len(row) >= 32 {
		q := binary.LittleEndian.Uint64(row)
		r := binary.LittleEndian.Uint64(row[8:])
		s := binary.LittleEndian.Uint64(row[16:])
		t := binary.LittleEndian.Uint64(row[24:])
		if ((q^p)|(r^p)|(s^p)|(t^p))&two != 0 {
			break
		}
		row = row[32:]
		n++
	}
	return n
}

// Progress is the completed part of the way from one histogram to another, in pixels of all
// channels together.
type Progress struct {
	Matched, Total int64
}

// HistogramProgress compares a picture's histogram with those of the first and the last picture, as
// the script does:
//
//	matched = Σ min(|cur − first|, |last − first|)    total = Σ |last − first|
//
// over the 256 values of three channels. It has no slop: a value counts only at its place. It is 1
// for the last picture, and 0 for the first. The script takes the difference without its sign. So a
// number of pixels beyond the last picture's, or in the other direction, counts as arrived.
func HistogramProgress(cur, first, last *Histogram) Progress {
	var p Progress
	for c := range 3 {
		a, b, e := cur.counts(c), first.counts(c), last.counts(c)
		for i := range a {
			want := apart(e[i], b[i])
			p.Matched += min(apart(a[i], b[i]), want)
			p.Total += want
		}
	}
	return p
}

// HistogramProgressSlop is the progress of the old script, which accepts a pixel near its value.
// The pixels for value v are taken from the changes in the values v − 5 to v + 4, lowest first. The
// script's author may have meant v + 5. v goes from 0 to 255. Taken pixels are removed.
func HistogramProgressSlop(cur, first, last *Histogram) Progress {
	const slop = 5
	var p Progress
	var have [256]int64
	for c := range 3 {
		a, b, e := cur.counts(c), first.counts(c), last.counts(c)
		for i := range have {
			have[i] = apart(a[i], b[i])
		}
		for i := range have {
			want := apart(e[i], b[i])
			p.Total += want
			for j := max(0, i-slop); j < min(256, i+slop) && want > 0; j++ {
				took := min(want, have[j])
				have[j] -= took
				want -= took
				p.Matched += took
			}
		}
	}
	return p
}

func apart(a, b uint32) int64 {
	d := int64(a) - int64(b)
	return max(d, -d)
}

// Fraction returns matched/total, from 0 to 1. Where first and last have the same histogram, it is
// 1, as in the script.
func (p Progress) Fraction() float64 {
	if p.Total == 0 {
		return 1
	}
	return float64(p.Matched) / float64(p.Total)
}

// Percent returns the progress as the script keeps it, in whole per cents: the fraction times 100
// in float64, rounded down. So 29/100 is 28 %, for 0.29·100 is a little less than 29.
func (p Progress) Percent() int {
	return int(math.Floor(p.Fraction() * 100))
}
