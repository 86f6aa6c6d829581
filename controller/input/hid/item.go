package hid

// descriptor is a report descriptor that is being written: short items of HID 1.11, 6.2.2.2.
type descriptor []byte

// Items by tag and type, without the size in the lowest two bits: HID 1.11, 6.2.2.4 to 6.2.2.8.
const (
	itemInput         = 0x80
	itemOutput        = 0x90
	itemFeature       = 0xb0
	itemCollection    = 0xa0
	itemEndCollection = 0xc0
	itemUsagePage     = 0x04
	itemLogicalMin    = 0x14
	itemLogicalMax    = 0x24
	itemPhysicalMin   = 0x34
	itemPhysicalMax   = 0x44
	itemUnitExponent  = 0x54
	itemUnit          = 0x64
	itemReportSize    = 0x74
	itemReportID      = 0x84
	itemReportCount   = 0x94
	itemUsage         = 0x08
	itemUsageMin      = 0x18
	itemUsageMax      = 0x28
)

// Flags of Input, Output and Feature items: HID 1.11, 6.2.2.5.
const (
	array    = 0x00 // of the numbers of pressed items
	constant = 0x01 // padding
	variable = 0x02
	relative = 0x04
	nullable = 0x40 // values out of bounds say that there is none
)

// Kinds of collections: HID 1.11, 6.2.2.6.
const (
	physical    = 0x00
	application = 0x01
	logical     = 0x02
)

// Pages and usages: HID Usage Tables 1.5.
const (
	pageDesktop   = 0x01
	pageKeyboard  = 0x07
	pageLEDs      = 0x08
	pageButton    = 0x09
	pageConsumer  = 0x0c
	pageDigitizer = 0x0d

	usagePointer  = 0x01 // Generic Desktop, 4
	usageMouse    = 0x02
	usageKeyboard = 0x06
	usageX        = 0x30
	usageY        = 0x31
	usageWheel    = 0x38

	usageNumLock = 0x01 // LEDs, 11
	usageKana    = 0x05

	usageACPan = 0x238 // Consumer, 15

	usageTouchScreen     = 0x04 // Digitizers, 16
	usageFinger          = 0x22
	usageTipSwitch       = 0x42
	usageContactID       = 0x51
	usageContactCount    = 0x54
	usageContactCountMax = 0x55
	usageScanTime        = 0x56
)

// item adds an item with the fewest bytes that its number, taken as signed, needs; 0 takes one.
func (d *descriptor) item(tag byte, value int32) {
	switch {
	case value >= -1<<7 && value < 1<<7:
		*d = append(*d, tag|1, byte(value))
	case value >= -1<<15 && value < 1<<15:
		*d = append(*d, tag|2, byte(value), byte(value>>8))
	default:
		*d = append(*d, tag|3, byte(value), byte(value>>8), byte(value>>16), byte(value>>24))
	}
}

// unsigned adds an item whose number is not signed: a usage, or a count.
func (d *descriptor) unsigned(tag byte, value uint32) {
	switch {
	case value < 1<<8:
		*d = append(*d, tag|1, byte(value))
	case value < 1<<16:
		*d = append(*d, tag|2, byte(value), byte(value>>8))
	default:
		*d = append(*d, tag|3, byte(value), byte(value>>8), byte(value>>16), byte(value>>24))
	}
}

// page sets the page of the usages that follow.
func (d *descriptor) page(page uint32) { d.unsigned(itemUsagePage, page) }

// usage names what the next item is about.
func (d *descriptor) usage(usage uint32) { d.unsigned(itemUsage, usage) }

// usages names what the next item is about, one usage for each field.
func (d *descriptor) usages(from, to uint32) {
	d.unsigned(itemUsageMin, from)
	d.unsigned(itemUsageMax, to)
}

// bounds sets the least and the greatest value.
func (d *descriptor) bounds(least, greatest int32) {
	d.item(itemLogicalMin, least)
	d.item(itemLogicalMax, greatest)
}

// fields adds an Input, Output or Feature item: a number of fields of so many bits each.
func (d *descriptor) fields(kind byte, count, bits uint32, flags uint32) {
	d.unsigned(itemReportSize, bits)
	d.unsigned(itemReportCount, count)
	d.unsigned(kind, flags)
}

// collection adds what within describes, as a collection.
func (d *descriptor) collection(kind uint32, within func()) {
	d.unsigned(itemCollection, kind)
	within()
	*d = append(*d, itemEndCollection)
}
