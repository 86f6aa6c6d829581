package render

import (
	"strings"
	"testing"
)

func TestHasIndex(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		want       bool
	}{
		{"nothing", "", false},
		{"half a head", "\x00\x00\x00", false},
		{"at the end", "\x00\x00\x00\x0cftyp1234\x00\x00\x00\x08mdat\x00\x00\x00\x09moovx", true},
		{"to the end of the file", "\x00\x00\x00\x00moov1234", true},
		{"behind a large box", "\x00\x00\x00\x01mdat\x00\x00\x00\x00\x00\x00\x00\x12xx\x00\x00\x00\x08moov", true},
		{"missing", "\x00\x00\x00\x0cftyp1234\x00\x00\x00\x08mdat", false},
		{"cut", "\x00\x00\x00\x0cftyp1234\x00\x00\x00\x10moovx", false},
		{"a box of no size", "\x00\x00\x00\x07ftyp\x00\x00\x00\x08moov", false},
		{"a negative size", "\x00\x00\x00\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x08moov", false},
		{"boxes without end", strings.Repeat("\x00\x00\x00\x08free", 1000) + "\x00\x00\x00\x08moov", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := hasIndex(strings.NewReader(tc.file), int64(len(tc.file))); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
