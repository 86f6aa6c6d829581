//go:build linux && rigvm

package v4l2

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/eideticker/eideticker/capture/frame"
)

// Colour bars that do not move are the same bytes whatever way they take: through memory of the
// driver, through exported buffers, or straight into the ring; through one API or the other. Each
// format takes two ways in turn, one through each API, in different memory. With EIDETICKER_SOAK,
// and where one API alone has it, it takes all.
func TestPathsAgree(t *testing.T) {
	still(t, hdmi)
	still(t, hdmiMulti)
	tested := 0
	stored := map[frame.Format][]byte{} // also by formats of one and of several pieces of memory
	single, multi := recordable(t, hdmi), recordable(t, hdmiMulti)
	memories := []string{"mmap", "userptr", "dmabuf"}
	for turn, fourcc := range multi {
		t.Run(fourcc, func(t *testing.T) {
			var want []byte
			var format frame.Format
			both := slices.Contains(single, fourcc)
			for i, path := range []string{hdmi, hdmiMulti} {
				if path == hdmi && !both {
					continue
				}
				for j, memory := range memories {
					if both && j != (turn+i)%len(memories) && os.Getenv("EIDETICKER_SOAK") == "" {
						continue
					}
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
	r.slots = leastSlots
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

// vivid writes its count into the picture, in letters of 8 by 16
// (drivers/media/test-drivers/vivid/vivid-kthread-cap.c). The count is at character 14 of a line
// that begins at pixel 16 of row 16. The font is unknown. But each digit must always look the same,
// and no two digits alike. The digits must give the number under which the frame is counted.
func TestCountInThePicture(t *testing.T) {
	for _, path := range []string{hdmi, hdmiMulti} {
		for _, memory := range []string{"mmap", "userptr", "dmabuf"} {
			t.Run(path[len("/dev/"):]+" "+memory, func(t *testing.T) {
				still(t, path)
				const countersOnly = 1
				set(t, path, "OSD Text Mode", countersOnly)
				for try := 0; !countInThePicture(t, path, memory); try++ {
					if try == 50 { // a busy host makes vivid late in most recordings
						t.Fatal("no recording in which the driver counts each frame")
					}
				}
			})
		}
	}
}

// countInThePicture reports false where number and picture may differ for good reasons: the stream
// was begun again, so that the driver counts anew; or vivid, which is late under load, has given
// two frames one number.
func countInThePicture(t *testing.T, path, memory string) bool {
	t.Helper()
	var tap *seqTap
	open := func(path string) (node, error) {
		n, err := openNode(path)
		tap = &seqTap{node: n}
		return tap, err
	}
	s, err := openWith(t.Context(), path, map[string][]string{"format": {"BGR4"}, "memory": {memory}}, open, findAgain)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	format := s.Info().Format
	if format.Width != 640 || format.Height != 480 {
		t.Fatalf("the signal is %v", format)
	}
	var seen [][4]string
	r := record(t, s.(*source))
	r.look = func(pix []byte) {
		var number [4]string
		for i := range number {
			number[i] = letter(pix, format.Stride, 14+i)
		}
		seen = append(seen, number)
	}
	r.some(30) // a machine that emulates ours may lose others between them: each that is stored has its number
	r.account()
	if len(r.kinds()) > 0 || len(slices.Compact(slices.Clone(tap.seen))) < len(tap.seen) {
		return false
	}
	first, digits := uint64(tap.seen[0]), countDigits{}
	for i, m := range r.metas {
		digits.add(t, first+m.Sequence-r.metas[0].Sequence, seen[i])
	}
	digits.check(t, 20)
	return true
}

// countDigits is how the digits look that were seen.
type countDigits struct {
	looks   [10]string
	checked int
}

// add takes the letters of a picture where its number should begin. Numbers of more letters are
// passed over.
func (d *countDigits) add(t *testing.T, number uint64, letters [4]string) {
	t.Helper()
	text := strconv.FormatUint(number, 10)
	if len(text) > len(letters) {
		return
	}
	d.checked++
	for i, digit := range text {
		known := &d.looks[digit-'0']
		if *known == "" {
			*known = letters[i]
		}
		if *known != letters[i] {
			t.Errorf("frame %d: the %c looks otherwise than before", number, digit)
		}
	}
}

func (d *countDigits) check(t *testing.T, least int) {
	t.Helper()
	known := map[string]bool{}
	digits := 0
	for _, look := range d.looks {
		if look != "" {
			digits++
			known[look] = true
		}
	}
	if len(known) != digits || digits < 8 || d.checked < least {
		t.Errorf("%d frames with %d digits that look like %d", d.checked, digits, len(known))
	}
	t.Logf("%d frames show their numbers, in %d digits", d.checked, digits)
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
