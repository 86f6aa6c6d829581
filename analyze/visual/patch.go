package visual

import "encoding/binary"

// Patch is the histogram of a part of a picture that is counted anew, all of it, when it changes:
// see [Counter.Move]. The zero value is that of no pixels.
type Patch struct {
	bins [3][256]uint32
}

// Counter counts many pixels of 4 bytes at once. White ones are counted with the others and taken
// out at the end, if there can be any: three additions a pixel are all that is left. Once there
// were some, they are taken out at once until a move without any. That saves the second pass.
//
// The zero value has counted nothing.
type Counter struct {
	// Each of four neighbours has its own table. With one table, increments of equal values would
	// wait for each other.
	tables [4][3][256]uint32
	grey   [8][256]uint32 // as in Histogram, white ones never looked at
	greys  bool           // there are some
	rows   [][]byte       // that were counted, since the last move
	bright bool           // white pixels are taken out at once
	some   uint32         // not 0: there were some since the last move
}

// Add counts pixels, which must stay as they are until the next move.
func (c *Counter) Add(row []byte) {
	c.rows = append(c.rows, row)
	t := &c.tables
	for len(row) >= eight {
		q := (*[eight]byte)(row)
		if halvesEqual(q) {
			if p, same := oneColour(q); same {
				n := run(row[eight:], p) + 1
				c.same(uint32(p), uint32(8*n))
				row = row[eight*n:]
				continue
			}
		}
		if allGrey(q) {
			c.addGrey(q)
			row = row[eight:]
			continue
		}
		t[0][0][q[0]]++
		t[0][1][q[1]]++
		t[0][2][q[2]]++
		t[1][0][q[4]]++
		t[1][1][q[5]]++
		t[1][2][q[6]]++
		t[2][0][q[8]]++
		t[2][1][q[9]]++
		t[2][2][q[10]]++
		t[3][0][q[12]]++
		t[3][1][q[13]]++
		t[3][2][q[14]]++
		t[0][0][q[16]]++
		t[0][1][q[17]]++
		t[0][2][q[18]]++
		t[1][0][q[20]]++
		t[1][1][q[21]]++
		t[1][2][q[22]]++
		t[2][0][q[24]]++
		t[2][1][q[25]]++
		t[2][2][q[26]]++
		t[3][0][q[28]]++
		t[3][1][q[29]]++
		t[3][2][q[30]]++
		if c.bright && brightAmong(q) {
			c.some |= c.dropEach(q[:])
		}
		row = row[eight:]
	}
	if c.bright {
		c.some |= c.dropEach(row)
	}
	for ; len(row) >= 4; row = row[4:] {
		t[0][0][row[0]]++
		t[0][1][row[1]]++
		t[0][2][row[2]]++
	}
}

const (
	eight = 32                 // bytes of eight pixels
	both  = 0x00ffffff00ffffff // two pixels' samples
)

// halvesEqual is a first, quick look at whether eight pixels are all the same.
func halvesEqual(q *[eight]byte) bool {
	return binary.LittleEndian.Uint64(q[0:]) == binary.LittleEndian.Uint64(q[16:])
}

// oneColour returns the colour of eight pixels, twice, if they have one.
func oneColour(q *[eight]byte) (p uint64, same bool) {
	p = binary.LittleEndian.Uint64(q[0:]) & both
	a, b, c := binary.LittleEndian.Uint64(q[8:]), binary.LittleEndian.Uint64(q[16:]), binary.LittleEndian.Uint64(q[24:])
	off := (a ^ p) | (b ^ p) | (c ^ p)
	return p, off&both == 0 && p>>32 == p&(1<<32-1)
}

// allGrey reports whether eight pixels are all grey.
func allGrey(q *[eight]byte) bool {
	return q[0] == q[1] && q[0] == q[2] && greyEight(q)
}

func greyEight(q *[eight]byte) bool {
	const upper = 0x0000ffff0000ffff // of two pixels that were xored with themselves, 8 bits lower: zero if grey
	a, b := binary.LittleEndian.Uint64(q[0:]), binary.LittleEndian.Uint64(q[8:])
	d, e := binary.LittleEndian.Uint64(q[16:]), binary.LittleEndian.Uint64(q[24:])
	return ((a^a>>8)|(b^b>>8)|(d^d>>8)|(e^e>>8))&upper == 0
}

func (c *Counter) addGrey(q *[eight]byte) {
	c.greys = true
	g := &c.grey
	g[0][q[0]]++
	g[1][q[4]]++
	g[2][q[8]]++
	g[3][q[12]]++
	g[4][q[16]]++
	g[5][q[20]]++
	g[6][q[24]]++
	g[7][q[28]]++
}

// same counts pixels of one colour, unless it is white.
func (c *Counter) same(p, n uint32) {
	if isWhite(p) {
		return
	}
	t := &c.tables[0]
	t[0][p&255] += n
	t[1][p>>8&255] += n
	t[2][p>>16&255] += n
}

func isWhite(p uint32) bool { return p&255 >= white && p>>8&255 >= white && p>>16&255 >= white }

// Move replaces the patch's counts by the new ones, and the same in the histogram that contains the
// patch. h may be nil if it has them already. The counter is then empty.
func (c *Counter) Move(p *Patch, h *Histogram) {
	if c.bright {
		c.bright = c.some != 0
	} else if c.whitePossible() {
		for _, row := range c.rows {
			c.dropWhite(row)
		}
		c.bright = true
	}
	c.some = 0
	if c.greys {
		c.spreadGrey()
	}
	for k := range 3 {
		a, b, d, e := &c.tables[0][k], &c.tables[1][k], &c.tables[2][k], &c.tables[3][k]
		had := &p.bins[k]
		if h == nil {
			for v := range had {
				had[v] = a[v] + b[v] + d[v] + e[v]
			}
			continue
		}
		all := (*[256]uint32)(h.bins[k][:])
		for v := range had {
			n := a[v] + b[v] + d[v] + e[v]
			all[v] += n - had[v]
			had[v] = n
		}
	}
	clear(c.tables[:])
	clear(c.rows)
	c.rows = c.rows[:0]
}

// spreadGrey adds the counts of grey pixels to the three channels. They do not include white.
func (c *Counter) spreadGrey() {
	t := &c.tables[0]
	for v := range white {
		var n uint32
		for k := range c.grey {
			n += c.grey[k][v]
		}
		t[0][v] += n
		t[1][v] += n
		t[2][v] += n
	}
	clear(c.grey[:])
	c.greys = false
}

// whitePossible reports whether each channel has a sample that white has.
func (c *Counter) whitePossible() bool {
	for k := range 3 {
		var n uint32
		for t := range c.tables {
			for _, m := range c.tables[t][k][white:] {
				n |= m
			}
		}
		if n == 0 {
			return false
		}
	}
	return true
}

// dropWhite takes out the white pixels of a row that Add has counted in the channels. It passes
// over the same runs and greys.
func (c *Counter) dropWhite(row []byte) {
	for len(row) >= eight {
		q := (*[eight]byte)(row)
		n := 1
		if brightAmong(q) {
			p, same := oneColour(q)
			if same && halvesEqual(q) {
				n += run(row[eight:], p)
			} else if !allGrey(q) {
				c.dropEach(row[:eight])
			}
		}
		row = row[eight*n:]
	}
	c.dropEach(row)
}

// brightAmong reports whether one of eight pixels has three samples of 248 or more.
func brightAmong(q *[eight]byte) bool {
	const top = 0x000000f8000000f8
	p, r := binary.LittleEndian.Uint64(q[0:]), binary.LittleEndian.Uint64(q[8:])
	s, t := binary.LittleEndian.Uint64(q[16:]), binary.LittleEndian.Uint64(q[24:])
	p, r, s, t = p&(p>>8)&(p>>16)&top, r&(r>>8)&(r>>16)&top, s&(s>>8)&(s>>16)&top, t&(t>>8)&(t>>16)&top
	const up = 0x0000000800000008 // all five bits and one more carry into the next
	return ((p+up)|(r+up)|(s+up)|(t+up))&(up<<5) != 0
}

// dropEach has no branch: which pixels are white cannot be foretold. The result is 0 if none is.
func (c *Counter) dropEach(row []byte) (some uint32) {
	const up = 256 - white
	t := &c.tables[0]
	for ; len(row) >= 4; row = row[4:] {
		a, b, d := uint32(row[0]), uint32(row[1]), uint32(row[2])
		white := (a + up) & (b + up) & (d + up) >> 8
		t[0][a] -= white
		t[1][b] -= white
		t[2][d] -= white
		some |= white
	}
	return some
}
