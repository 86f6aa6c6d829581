package render

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// readNPY reads an array as the format's specification says, and holds every rule of version 1.0
// against it.
func readNPY(t *testing.T, b []byte) (descr string, rows, columns int, data []byte) {
	t.Helper()
	if string(b[:8]) != "\x93NUMPY\x01\x00" {
		t.Fatalf("it begins with %q", b[:8])
	}
	n := int(binary.LittleEndian.Uint16(b[8:]))
	if (10+n)%64 != 0 {
		t.Errorf("data begin at byte %d, want a multiple of 64", 10+n)
	}
	head := string(b[10 : 10+n])
	form := regexp.MustCompile(`^\{'descr': '(<[iu]4)', 'fortran_order': False, 'shape': \((\d+), (\d+)\), \} *\n$`)
	m := form.FindStringSubmatch(head)
	if m == nil {
		t.Fatalf("header %q", head)
	}
	rows, _ = strconv.Atoi(m[2])
	columns, _ = strconv.Atoi(m[3])
	return m[1], rows, columns, b[10+n:]
}

func TestNPY(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {3, 2}, {1000, 7}, {12345, 1}} {
		h := &analyze.Heat{Width: size[0], Height: size[1], Counts: make([]uint32, size[0]*size[1])}
		for i := range h.Counts {
			h.Counts[i] = uint32(i) * 2654435761
		}
		var b bytes.Buffer
		analyzetest.Check(t, WriteNPY(&b, h))
		descr, rows, columns, data := readNPY(t, b.Bytes())
		if descr != "<u4" || rows != h.Height || columns != h.Width || len(data) != 4*len(h.Counts) {
			t.Fatalf("%s of %dx%d in %d bytes, want <u4 of %dx%d", descr, rows, columns, len(data), h.Height, h.Width)
		}
		for i, want := range h.Counts {
			if got := binary.LittleEndian.Uint32(data[4*i:]); got != want {
				t.Fatalf("number %d is %d, want %d", i, got, want)
			}
		}
	}
}

func TestDifferenceNPY(t *testing.T) {
	a := &analyze.Heat{Width: 2, Height: 2, Counts: []uint32{5, 0, math.MaxUint32, 0}}
	b := &analyze.Heat{Width: 2, Height: 2, Counts: []uint32{2, 7, 0, math.MaxUint32}}
	var out bytes.Buffer
	analyzetest.Check(t, WriteDifferenceNPY(&out, a, b))
	descr, rows, columns, data := readNPY(t, out.Bytes())
	if descr != "<i4" || rows != 2 || columns != 2 || len(data) != 16 {
		t.Fatalf("%s of %dx%d in %d bytes", descr, rows, columns, len(data))
	}
	for i, want := range []int32{-3, 7, math.MinInt32, math.MaxInt32} {
		if got := int32(binary.LittleEndian.Uint32(data[4*i:])); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
}

func TestHeatRefusals(t *testing.T) {
	good := heatOf(4, 3, 5)
	small := page(t, 3, 3, 1)
	for _, tc := range []struct {
		name string
		a, b *analyze.Heat
		o    HeatOptions
	}{
		{name: "none", a: good},
		{name: "empty", a: good, b: &analyze.Heat{}},
		{name: "too few counts", a: good, b: &analyze.Heat{Width: 4, Height: 3, Counts: make([]uint32, 11)}},
		{name: "overflowing", a: good, b: &analyze.Heat{Width: 1 << 32, Height: 1 << 32}},
		{name: "another size", a: good, b: heatOf(3, 4, 5)},
		{name: "a frame that is too small", a: good, b: good, o: HeatOptions{Under: &small}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := HeatDifference(tc.a, tc.b, tc.o); !errors.Is(err, errHeat) {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := HeatPicture(nil, HeatOptions{}); !errors.Is(err, errHeat) {
		t.Errorf("no heat map: error %v", err)
	}
	if err := WriteNPY(&bytes.Buffer{}, nil); !errors.Is(err, errHeat) {
		t.Errorf("no heat map: error %v", err)
	}
}
