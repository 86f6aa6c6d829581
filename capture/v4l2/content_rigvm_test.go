//go:build linux && rigvm

package v4l2

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/eideticker/eideticker/capture/frame"
)

// Colour bars that do not move are the same bytes whatever way they take: through memory of the driver, through exported
// buffers, or straight into the ring; through one API or the other.
func TestPathsAgree(t *testing.T) {
	still(t, hdmi)
	still(t, hdmiMulti)
	tested := 0
	stored := map[frame.Format][]byte{} // also by formats of one and of several pieces of memory
	single, multi := recordable(t, hdmi), recordable(t, hdmiMulti)
	for _, fourcc := range multi {
		t.Run(fourcc, func(t *testing.T) {
			var want []byte
			var format frame.Format
			for _, path := range []string{hdmi, hdmiMulti} {
				if path == hdmi && !slices.Contains(single, fourcc) {
					continue
				}
				for _, memory := range []string{"mmap", "userptr", "dmabuf"} {
					got, f := oneFrame(t, path, fourcc, memory)
					switch {
					case got == nil: // refused by name, see oneFrame
					case want == nil:
						want, format = got, f
					case f != format:
						t.Errorf("%s with %s is %v, want %v", path, memory, f, format)
					case !bytes.Equal(got, want):
						t.Errorf("%s with %s has other bytes", path, memory)
					}
				}
			}
			if want == nil {
				t.Fatal("no way works")
			}
			if other, ok := stored[format]; ok && !bytes.Equal(other, want) {
				t.Errorf("another format that is stored as %v has other bytes", format)
			}
			stored[format] = want
			if bytes.Count(want, want[:1]) == len(want) {
				t.Error("the picture is empty")
			}
			tested++
		})
	}
	if tested < 10 {
		t.Errorf("%d formats were tested", tested)
	}
}

// recordable lists a device's formats that can be recorded, each by what it is stored as.
func recordable(t *testing.T, path string) []string {
	t.Helper()
	d, err := Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range d.Formats {
		if f.Pixel != 0 {
			all = append(all, f.Fourcc)
		}
	}
	t.Logf("%s: %s", path, strings.Join(all, " "))
	return all
}

// oneFrame returns a frame; nil where the way is refused by name.
func oneFrame(t *testing.T, path, fourcc, memory string) ([]byte, frame.Format) {
	t.Helper()
	s, err := Open(t.Context(), path, map[string][]string{"format": {fourcc}, "memory": {memory}})
	if err != nil {
		if memory == "userptr" && multiPlane[fourcc] != "" && strings.Contains(err.Error(), "use memory=mmap") {
			return nil, frame.Format{}
		}
		t.Errorf("%s with %s: %v", path, memory, err)
		return nil, frame.Format{}
	}
	defer s.Close()
	r := record(t, s.(*source))
	r.some(3)
	r.account()
	for i := range r.sums {
		if r.sums[i] != r.sums[0] {
			t.Errorf("%s with %s: frame %d differs from the first", path, memory, i)
		}
	}
	return r.last, s.Info().Format
}

// seqTap notes the driver's count of each buffer that comes back.
type seqTap struct {
	node
	seen []uint32
}

func (s *seqTap) ioctl(request uintptr, arg unsafe.Pointer) error {
	err := s.node.ioctl(request, arg)
	if err == nil && request == vidiocDqbuf {
		s.seen = append(s.seen, (*buffer)(arg).sequence)
	}
	return err
}

// vivid writes its count into the picture: at character 14 of a line that begins at pixel 16 of row 16, in letters of 8 by 16
// (drivers/media/test-drivers/vivid/vivid-kthread-cap.c). We do not know its font; but each digit must always look the same,
// no two alike, and the one in the picture must be that of the count that came with the buffer.
func TestCountInThePicture(t *testing.T) {
	for _, memory := range []string{"mmap", "userptr", "dmabuf"} {
		t.Run(memory, func(t *testing.T) {
			still(t, hdmi)
			const countersOnly = 1
			set(t, hdmi, "OSD Text Mode", countersOnly)
			var tap *seqTap
			open := func(path string) (node, error) {
				n, err := openNode(path)
				tap = &seqTap{node: n}
				return tap, err
			}
			s, err := openWith(t.Context(), hdmi, map[string][]string{"format": {"BGR4"}, "memory": {memory}}, open, findAgain)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			stride := s.Info().Format.Stride
			var tens, ones []string
			r := record(t, s.(*source))
			r.slots = 100
			r.look = func(pix []byte) {
				tens, ones = append(tens, letter(pix, stride, 14)), append(ones, letter(pix, stride, 15))
			}
			r.some(70)
			r.account()
			if r.lost > 0 {
				t.Fatalf("the ring lost %d frames: nothing can be said", r.lost)
			}
			digits := map[uint32]string{}
			checked := 0
			for i := range ones {
				seq := tap.seen[i]
				if seq < 10 || seq > 99 {
					continue // of another width
				}
				checked++
				for digit, look := range map[uint32]string{seq % 10: ones[i], seq / 10: tens[i]} {
					if seq%10 == seq/10 && ones[i] != tens[i] {
						t.Fatalf("frame %d has two digits that differ", seq)
					}
					if known, ok := digits[digit]; !ok {
						digits[digit] = look
					} else if known != look {
						t.Errorf("frame %d: the %d looks otherwise than before", seq, digit)
					}
				}
			}
			looks := map[string]bool{}
			for _, look := range digits {
				looks[look] = true
			}
			if len(looks) != len(digits) || len(digits) < 8 || checked < 40 {
				t.Errorf("%d frames with %d digits that look like %d", checked, len(digits), len(looks))
			}
		})
	}
}

// letter returns the pixels of a letter of that line.
func letter(pix []byte, stride, column int) string {
	var b []byte
	for y := range 16 {
		for x := range 8 {
			b = append(b, pix[(16+y)*stride+(16+8*column+x)*4])
		}
	}
	return string(b)
}
