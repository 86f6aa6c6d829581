package video

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
)

func box(name string, n int) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(8+n)), append([]byte(name), make([]byte, n)...)...)
}

func longBox(name string, n int) []byte {
	b := append([]byte{0, 0, 0, 1}, name...)
	return append(binary.BigEndian.AppendUint64(b, uint64(16+n)), make([]byte, n)...)
}

func riff(n int) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(n)), make([]byte, n)...)
}

func TestCutShort(t *testing.T) {
	ts := bytes.Repeat(append([]byte{0x47}, make([]byte, 187)...), 4)
	m2ts := bytes.Repeat(append([]byte{0, 0, 0, 0, 0x47}, make([]byte, 187)...), 4)
	ebml := append([]byte("\x1a\x45\xdf\xa3\x84abcd\x18\x53\x80\x67\x40\x40"), make([]byte, 64)...)
	live := append([]byte("\x1a\x45\xdf\xa3\x84abcd\x18\x53\x80\x67\xff"), make([]byte, 64)...)
	mp4 := bytes.Join([][]byte{box("ftyp", 8), box("moov", 100), longBox("mdat", 50)}, nil)
	open := append(box("ftyp", 8), 0, 0, 0, 0, 'm', 'd', 'a', 't', 1, 2, 3)
	for _, tc := range []struct {
		name  string
		data  []byte
		whole bool
		cut   string
	}{
		{"mp4", mp4, true, ""},
		{"mp4 without a byte", mp4[:len(mp4)-1], false,
			`the box "mdat" at offset 124 has 66 bytes, and 1 of them are missing`},
		{"mp4 cut in a head", mp4[:127], false, "head of a box at offset 124"},
		{"mp4 cut in moov", mp4[:50], false, `"moov" at offset 16`},
		{"mp4 whose last box is open", open, false, ""},
		{"avi", append(riff(10), riff(3)...), true, ""},
		{"avi with something behind", append(riff(10), "JUNK...."...), true, ""},
		{"avi without a byte", riff(10)[:17], false, "RIFF chunk at offset 0"},
		{"ts", ts, false, ""},
		{"ts without a byte", ts[:len(ts)-1], false, "187 of 188 bytes"},
		{"m2ts without a byte", m2ts[:len(m2ts)-1], false, "191 of 192 bytes"},
		{"matroska", ebml, true, ""},
		{"matroska without a byte", ebml[:len(ebml)-1], false, "the segment at offset 15 has 64 bytes, and 1 of them"},
		{"live matroska", live, false, ""},
		{"something else", bytes.Repeat([]byte("x"), 100), false, ""},
		{"nothing", nil, false, ""},
	} {
		e := cutShort(bytes.NewReader(tc.data), int64(len(tc.data)))
		if e.whole != tc.whole || (e.cut == "") != (tc.cut == "") || !strings.Contains(e.cut, tc.cut) {
			t.Errorf("%s: %+v", tc.name, e)
		}
	}
}

// Whatever the bytes are, the walk ends.
func FuzzCutShort(f *testing.F) {
	f.Add(bytes.Join([][]byte{box("ftyp", 8), box("moov", 100), longBox("mdat", 50)}, nil))
	f.Add(riff(10))
	f.Add([]byte("\x1a\x45\xdf\xa3\x84abcd\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xfe...."))
	f.Add(bytes.Repeat([]byte{0x47}, 600))
	f.Fuzz(func(t *testing.T, data []byte) {
		e := cutShort(bytes.NewReader(data), int64(len(data)))
		if e.whole && e.cut != "" {
			t.Errorf("%+v", e)
		}
	})
}

func TestEBMLSize(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for range 20 {
			value := rand.Int64N(1<<(7*n) - 1)
			b := binary.BigEndian.AppendUint64(nil, uint64(value)|1<<(7*n))[8-n:]
			if got, m := ebmlSize(b); got != value || m != n {
				t.Fatalf("%x: %d in %d bytes, want %d in %d", b, got, m, value, n)
			}
			if _, m := ebmlSize(b[:n-1]); m != 0 {
				t.Fatalf("%x is cut and was read", b[:n-1])
			}
		}
	}
	if size, n := ebmlSize([]byte{0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}); size != -1 || n != 8 {
		t.Errorf("unknown size: %d in %d bytes", size, n)
	}
}

func TestStamps(t *testing.T) {
	const ms = timeline.Time(time.Millisecond)
	for _, tc := range []struct {
		name      string
		known     []timeline.Time
		fps       float64
		positions []float64
		want      []timeline.Time
		made      uint64
	}{
		{"variable", nil, 60, []float64{0, 16.666667, 100, 101}, []timeline.Time{0, 16666667, 100 * ms, 101 * ms}, 0},
		{"none at all", nil, 50, []float64{0, 0, 0, 0}, []timeline.Time{0, 20 * ms, 40 * ms, 60 * ms}, 3},
		{"none at the end", nil, 50, []float64{20, 40, 0}, []timeline.Time{20 * ms, 40 * ms, 60 * ms}, 1},
		{"goes back", nil, 100, []float64{0, 100, 50, 60, 130},
			[]timeline.Time{0, 100 * ms, 110 * ms, 120 * ms, 130 * ms}, 2},
		{"before the start", nil, 100, []float64{-20, 10}, []timeline.Time{0, 10 * ms}, 0},
		{"packets have times", []timeline.Time{0, 7, 5 * ms, 9 * ms}, 60, []float64{0, 0, 0, 0},
			[]timeline.Time{0, 7, 5 * ms, 9 * ms}, 0},
		{"packets without frames", []timeline.Time{0, 10 * ms, 20 * ms, 30 * ms}, 60, []float64{0, 20.0000001, 0},
			[]timeline.Time{0, 20 * ms, 30 * ms}, 0},
		{"positions of no packet", []timeline.Time{0, 10 * ms, 20 * ms}, 60, []float64{3, 14, 999},
			[]timeline.Time{0, 10 * ms, 20 * ms}, 0},
		{"more frames than packets", []timeline.Time{0, 10 * ms}, 100, []float64{0, 0, 0, 25},
			[]timeline.Time{0, 10 * ms, 20 * ms, 25 * ms}, 1},
		{"nonsense", nil, 100, []float64{0, 1e300}, []timeline.Time{0, 10 * ms}, 1},
	} {
		s := newStamps(tc.known, tc.fps)
		for n, p := range tc.positions {
			at, err := s.next(p)
			if err != nil || at != tc.want[n] {
				t.Errorf("%s: frame %d at %d, want %d (%v)", tc.name, n, at, tc.want[n], err)
			}
		}
		if s.made != tc.made {
			t.Errorf("%s: %d made up, want %d", tc.name, s.made, tc.made)
		}
	}
	s := newStamps(nil, 0)
	s.next(0)
	if _, err := s.next(0); err == nil || errors.Is(err, nil) {
		t.Error("no times and no rate, and no error")
	}
}
