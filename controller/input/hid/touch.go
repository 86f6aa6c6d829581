package hid

import "encoding/binary"

// Bounds of what a touch screen tells.
const (
	// contacts is how many fingers touch at once. With ten, a report is 64 bytes, which is all that
	// an interrupt endpoint of a full-speed device may send.
	contacts     = 10
	contactBytes = 6
	touchBytes   = 1 + contacts*contactBytes + 2 + 1
	scanAt       = 1 + contacts*contactBytes
	touchReport  = 1 // number of the report with fingers
	countReport  = 2 // number of the one that tells how many there may be
)

// touchDescriptor returns the report descriptor of a touch screen for ten fingers. The millimetres
// are those of its surface, of which hosts reckon how far fingers go; a host makes places of the
// screen of it whatever they are.
func touchDescriptor(widthMM, heightMM int) []byte {
	var d descriptor
	d.page(pageDigitizer)
	d.usage(usageTouchScreen)
	d.collection(application, func() {
		d.unsigned(itemReportID, touchReport)
		for range contacts {
			d.page(pageDigitizer)
			d.usage(usageFinger)
			d.collection(logical, func() { d.finger(widthMM, heightMM) })
		}
		d.page(pageDigitizer)
		d.item(itemPhysicalMin, 0)
		d.item(itemPhysicalMax, 0)
		d.usage(usageScanTime)
		d.item(itemLogicalMin, 0)
		d.item(itemLogicalMax, 0xffff)
		d.item(itemUnitExponent, 0xc) // 10⁻⁴
		d.unsigned(itemUnit, 0x1001)  // seconds
		d.fields(itemInput, 1, 16, variable)
		d.item(itemUnitExponent, 0)
		d.unsigned(itemUnit, 0)
		d.usage(usageContactCount)
		d.bounds(0, contacts)
		d.fields(itemInput, 1, 8, variable)
		d.unsigned(itemReportID, countReport)
		d.usage(usageContactCountMax)
		d.fields(itemFeature, 1, 8, variable)
	})
	return d
}

// finger describes one contact: whether it touches, its number, and its place.
func (d *descriptor) finger(widthMM, heightMM int) {
	d.usage(usageTipSwitch)
	d.bounds(0, 1)
	d.fields(itemInput, 1, 1, variable)
	d.fields(itemInput, 1, 7, constant)
	d.usage(usageContactID)
	d.bounds(0, contacts-1)
	d.fields(itemInput, 1, 8, variable)
	d.page(pageDesktop)
	d.item(itemUnitExponent, 0xe) // 10⁻²
	d.unsigned(itemUnit, 0x11)    // centimetres: tenths of millimetres with the exponent's 10⁻²
	d.bounds(0, maxPlace)
	for _, side := range []struct {
		usage uint32
		mm    int
	}{{usageX, widthMM}, {usageY, heightMM}} {
		d.usage(side.usage)
		d.item(itemPhysicalMin, 0)
		d.item(itemPhysicalMax, int32(side.mm)*10)
		d.fields(itemInput, 1, 16, variable)
	}
	d.item(itemPhysicalMax, 0)
	d.item(itemUnitExponent, 0)
	d.unsigned(itemUnit, 0)
}

// encodeCountReport returns the feature report that a host asks for: how many fingers there may be.
func encodeCountReport() []byte { return []byte{countReport, contacts} }

// touch makes the reports of a touch screen. The zero value has no finger down.
type touch struct {
	contacts [contacts]contact
}

type contact struct {
	down, lifted bool // lifted: since the last report
	x, y         uint16
}

// set puts a finger at a place, see place, or draws it there. A number that no finger has is
// ignored.
func (t *touch) set(finger int, x, y uint16) {
	if finger >= 0 && finger < contacts {
		t.contacts[finger] = contact{down: true, x: min(x, maxPlace), y: min(y, maxPlace)}
	}
}

// lift lifts a finger.
func (t *touch) lift(finger int) {
	if finger >= 0 && finger < contacts && t.contacts[finger].down {
		t.contacts[finger].down, t.contacts[finger].lifted = false, true
	}
}

// liftAll lifts all fingers, also those that nobody has set: a host may know more than we do.
func (t *touch) liftAll() {
	for i := range t.contacts {
		t.contacts[i].down, t.contacts[i].lifted = false, true
	}
}

// report returns what the touch screen tells: the fingers that are down, and those that were lifted
// since the last report, where they were. The scan time is a count of tenths of milliseconds, which
// wraps.
func (t *touch) report(scan uint16) []byte {
	b := make([]byte, touchBytes)
	b[0] = touchReport
	count := 0
	for i := range t.contacts {
		c := &t.contacts[i]
		if !c.down && !c.lifted {
			continue
		}
		at := b[1+count*contactBytes:]
		if c.down {
			at[0] = 1
		}
		at[1] = byte(i)
		binary.LittleEndian.PutUint16(at[2:], c.x)
		binary.LittleEndian.PutUint16(at[4:], c.y)
		c.lifted = false
		count++
	}
	binary.LittleEndian.PutUint16(b[scanAt:], scan)
	b[touchBytes-1] = byte(count)
	return b
}

// setScan writes another scan time into a report of a touch screen.
func setScan(report []byte, scan uint16) { binary.LittleEndian.PutUint16(report[scanAt:], scan) }
