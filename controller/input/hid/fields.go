package hid

import (
	"errors"
	"fmt"
)

// field is one value of a report, as a report descriptor says: what a host makes of the bits.
type field struct {
	Kind     byte   // itemInput, itemOutput or itemFeature
	Report   uint8  // number of the report; 0: it has none
	Bit      int    // where it begins, behind the report's number
	Bits     int    // how many it has
	Usage    uint32 // page<<16 | usage: what it says; of an array, what its least value says
	Least    int32
	Greatest int32
	Flags    uint32
}

// Limits of a descriptor that is read. Linux reads 4096 bytes and fields of 12288 bits altogether.
const (
	maxDescriptor = 4096
	maxFields     = 4096
	maxBits       = 12288
)

// parseFields reads a report descriptor. Padding is left out.
func parseFields(d []byte) ([]field, error) {
	if len(d) > maxDescriptor {
		return nil, fmt.Errorf("report descriptor of %d bytes: limit %d", len(d), maxDescriptor)
	}
	p := fieldParser{used: map[[2]byte]int{}}
	for at := 0; at < len(d); {
		size := [...]int{0, 1, 2, 4}[d[at]&3]
		if d[at] == 0xfe {
			return nil, fmt.Errorf("report descriptor, byte %d: a long item, of which none is defined", at)
		}
		if at+1+size > len(d) {
			return nil, fmt.Errorf("report descriptor ends within the item at byte %d", at)
		}
		if err := p.item(d[at]&^3, d[at+1:at+1+size]); err != nil {
			return nil, fmt.Errorf("report descriptor, byte %d: %w", at, err)
		}
		at += 1 + size
	}
	if p.depth != 0 {
		return nil, fmt.Errorf("report descriptor leaves %d collections open", p.depth)
	}
	return p.fields, nil
}

// fieldParser is the state of a parser of HID 1.11, 5.4: global items stay until they are set
// again, local ones end with the next field or collection.
type fieldParser struct {
	fields          []field
	page            uint32
	least, greatest int32
	size, count     uint32
	report          uint8
	usages          []uint32
	from            uint32
	depth           int
	used            map[[2]byte]int // bits by kind and report
}

func (p *fieldParser) item(tag byte, data []byte) error {
	var u uint32
	for i, b := range data {
		u |= uint32(b) << (8 * i)
	}
	signed := int32(u)
	if n := len(data); n > 0 && n < 4 {
		shift := 32 - 8*n
		signed = int32(u<<shift) >> shift
	}
	switch tag {
	case itemInput, itemOutput, itemFeature:
		defer p.endLocal()
		return p.main(tag, u)
	case itemCollection:
		p.depth++
		p.endLocal()
	case itemEndCollection:
		p.depth--
		p.endLocal()
		if p.depth < 0 {
			return errors.New("a collection ends that has not begun")
		}
	case itemUsagePage:
		p.page = u
	case itemLogicalMin:
		p.least = signed
	case itemLogicalMax:
		p.greatest = signed
		if p.least >= 0 {
			p.greatest = int32(u) // so hosts read it where there is nothing below zero
		}
	case itemReportSize:
		p.size = u
	case itemReportCount:
		p.count = u
	case itemReportID:
		if u == 0 || u > 255 {
			return fmt.Errorf("report number %d", u)
		}
		p.report = uint8(u)
	case itemUsage:
		return p.add(u)
	case itemUsageMin:
		p.from = u
	case itemUsageMax:
		for usage := p.from; usage <= u; usage++ {
			if err := p.add(usage); err != nil {
				return err
			}
		}
	}
	return nil // units and the like do not change what the bits are
}

func (p *fieldParser) endLocal() { p.usages, p.from = nil, 0 }

func (p *fieldParser) add(usage uint32) error {
	if len(p.usages) == maxFields {
		return fmt.Errorf("more than %d usages", maxFields)
	}
	p.usages = append(p.usages, usage)
	return nil
}

// main makes the fields of an Input, Output or Feature item.
func (p *fieldParser) main(kind byte, flags uint32) error {
	key := [2]byte{kind, p.report}
	if p.size > 32 || p.count > maxFields || p.used[key]+int(p.size*p.count) > maxBits ||
		len(p.fields)+int(p.count) > maxFields {
		return fmt.Errorf("%d fields of %d bits are too many", p.count, p.size)
	}
	for i := range int(p.count) {
		f := field{
			Kind: kind, Report: p.report, Bit: p.used[key], Bits: int(p.size),
			Least: p.least, Greatest: p.greatest, Flags: flags,
		}
		p.used[key] += int(p.size)
		if flags&constant != 0 {
			continue
		}
		if len(p.usages) == 0 {
			return errors.New("a field says nothing: it has no usage")
		}
		f.Usage = p.usages[min(i, len(p.usages)-1)]
		if flags&variable == 0 {
			f.Usage = p.usages[0]
		}
		if f.Usage < 1<<16 {
			f.Usage |= p.page << 16
		}
		p.fields = append(p.fields, f)
	}
	return nil
}
