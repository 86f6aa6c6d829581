package render

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/eideticker/eideticker/analyze"
)

// NumPy's file format, version 1.0 (numpy.lib.format). It begins with the magic "\x93NUMPY", the
// version 1 0, and the header's length as a 16-bit little-endian number. The header is a Python
// dictionary with the keys descr, fortran_order and shape. It is padded with spaces and ends with a
// newline. So the data begin at a multiple of 64 bytes. The data follow.

// npyHeader returns the header for rows×columns numbers of 4 bytes.
func npyHeader(descr string, rows, columns int) []byte {
	return npyHead(fmt.Sprintf("'%s'", descr), fmt.Sprintf("%d, %d", rows, columns))
}

// NPYField is a field of a structured array.
type NPYField struct{ Name, Type string }

// NPYStructHeader returns the header of a structured array.
func NPYStructHeader(fields []NPYField, rows int) ([]byte, error) {
	var descr []string
	for _, f := range fields {
		quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", " ").Replace(f.Name)
		descr = append(descr, fmt.Sprintf("('%s', '%s')", quoted, f.Type))
	}
	head := npyHead("["+strings.Join(descr, ", ")+"]", fmt.Sprintf("%d,", rows))
	if len(head) > math.MaxUint16 {
		return nil, fmt.Errorf("%d fields are too many for a NumPy file", len(fields))
	}
	return head, nil
}

func npyHead(descr, shape string) []byte {
	const fixed = 6 + 2 + 2 // magic, version, length
	dict := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (%s), }", descr, shape)
	pad := 63 - (fixed+len(dict))%64
	dict += strings.Repeat(" ", pad) + "\n"
	head := append([]byte("\x93NUMPY\x01\x00"), byte(len(dict)), byte(len(dict)>>8))
	return append(head, dict...)
}

// WriteNPY writes the counts as an array of uint32 for numpy.load, shape (Height, Width).
func WriteNPY(w io.Writer, h *analyze.Heat) error {
	if err := checkHeat(h); err != nil {
		return fmt.Errorf("write counts: %w", err)
	}
	return writeNPY(w, "<u4", h.Width, h.Counts)
}

// WriteDifferenceNPY writes b's counts less a's as an array of int32 for numpy.load, shape (Height,
// Width). Values outside int32 are clipped.
func WriteDifferenceNPY(w io.Writer, a, b *analyze.Heat) error {
	if err := checkPair(a, b); err != nil {
		return fmt.Errorf("write difference of counts: %w", err)
	}
	row := make([]uint32, a.Width)
	out := bufio.NewWriterSize(w, 1<<16)
	_, _ = out.Write(npyHeader("<i4", a.Height, a.Width)) // Flush tells
	for y := range a.Height {
		for x := range row {
			d := int64(b.Counts[y*a.Width+x]) - int64(a.Counts[y*a.Width+x])
			row[x] = uint32(int32(min(max(d, math.MinInt32), math.MaxInt32)))
		}
		if err := binary.Write(out, binary.LittleEndian, row); err != nil {
			return fmt.Errorf("write difference of counts: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write difference of counts: %w", err)
	}
	return nil
}

func writeNPY(w io.Writer, descr string, width int, counts []uint32) error {
	out := bufio.NewWriterSize(w, 1<<16)
	_, _ = out.Write(npyHeader(descr, len(counts)/width, width)) // Flush tells
	for len(counts) > 0 {
		if err := binary.Write(out, binary.LittleEndian, counts[:width]); err != nil {
			return fmt.Errorf("write counts: %w", err)
		}
		counts = counts[width:]
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write counts: %w", err)
	}
	return nil
}
