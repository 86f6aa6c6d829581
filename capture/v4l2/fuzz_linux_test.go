//go:build (amd64 || arm64 || riscv64 || loong64) && !rigvm

package v4l2

import (
	"testing"
	"unsafe"

	"github.com/eideticker/eideticker/capture/frame"
)

// bytesOf is a structure of the kernel's as bytes, both ways.
func bytesOf[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

func timingsSeeds(t testing.TB) [][]byte {
	var all [][]byte
	for _, rate := range []int{24, 60, 240} {
		f := &fakeDriver{}
		f.play(1920, 1080, rate)
		all = append(all, append([]byte(nil), bytesOf(&f.timings)...))
	}
	if len(all) != 3 {
		t.Fatal("no seeds")
	}
	return all
}

// Timings that are accepted from a driver can be computed with.
func FuzzTimings(f *testing.F) {
	for _, b := range timingsSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var raw dvTimings
		copy(bytesOf(&raw), b)
		u, err := raw.decode()
		if err != nil {
			return
		}
		if u.Period.Num <= 0 || u.Period.Den <= 0 || u.Period.Num*u.Period.Den > 18_000_000_000 || u.Width <= 0 ||
			u.Height <= 0 {
			t.Fatalf("%+v", u)
		}
		if !u.same(u) || u.String() == "" {
			t.Fatalf("%v is not the same as itself", u)
		}
	})
}

func formatSeeds() []formatMulti {
	var all []formatMulti
	for _, tc := range []struct {
		fourcc string
		planes []planePixFormat
	}{
		{"BGR4", []planePixFormat{{sizeimage: 512, bytesperline: 64}}},
		{"NV12", []planePixFormat{{sizeimage: 192, bytesperline: 16}}},
		{"NM12", []planePixFormat{{sizeimage: 128, bytesperline: 16}, {sizeimage: 64, bytesperline: 16}}},
		{"YM12", []planePixFormat{{sizeimage: 160, bytesperline: 20}, {sizeimage: 64, bytesperline: 16},
			{sizeimage: 64, bytesperline: 16}}},
	} {
		m := formatMulti{pix: pixFormatMplane{width: 16, height: 8, field: fieldNone, numPlanes: uint8(len(tc.planes))}}
		m.pix.pixelformat = uint32(tc.fourcc[0]) | uint32(tc.fourcc[1])<<8 | uint32(tc.fourcc[2])<<16 | uint32(
			tc.fourcc[3])<<24
		copy(m.pix.planeFmt[:], tc.planes)
		all = append(all, m)
	}
	return all
}

func TestFuzzFormatHasSeeds(t *testing.T) {
	for _, m := range formatSeeds() {
		f, err := m.pix.normal()
		if err != nil {
			t.Fatal(err)
		}
		s := setup{driver: f}
		if err := s.layOut(); err != nil {
			t.Errorf("%v: %v", frame.PixelFormat(f.fourcc), err)
		}
	}
}

// Whatever a driver says of its format: a frame that is laid out is filled to its last byte from
// buffers of any length.
func FuzzFormat(f *testing.F) {
	for _, m := range formatSeeds() {
		f.Add(append([]byte(nil), bytesOf(&m)...), uint16(512))
	}
	f.Fuzz(func(t *testing.T, b []byte, length uint16) {
		var raw formatMulti
		copy(bytesOf(&raw), b)
		got, err := raw.pix.normal()
		if err != nil {
			return
		}
		s := setup{driver: got}
		if s.layOut() != nil || s.size > 1<<20 {
			return
		}
		var planes [][]byte
		for _, p := range got.planes {
			plane := make([]byte, min(p.bytes, int(length), 1<<20))
			for i := range plane {
				plane[i] = 1
			}
			planes = append(planes, plane)
		}
		dst := make([]byte, s.size)
		for i := range dst {
			dst[i] = 7
		}
		s.copyFrame(dst, planes)
		for i, v := range dst {
			if v == 7 {
				t.Fatalf("byte %d of %d of %v is what was there before", i, len(dst), s.format)
			}
		}
	})
}
