//go:build linux && rigvm

package v4l2

import (
	"bytes"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// Colour bars that do not move are the same bytes whatever way they take: through memory of the driver, through exported
// buffers, or straight into the ring; through one API or the other.
func TestPathsAgree(t *testing.T) {
	still(t, hdmi)
	still(t, hdmiMulti)
	tested := 0
	stored := map[frame.Format][]byte{} // also by formats of one and of several pieces of memory
	for _, fourcc := range recordable(t, hdmiMulti) {
		t.Run(fourcc, func(t *testing.T) {
			var want []byte
			var format frame.Format
			for _, path := range []string{hdmi, hdmiMulti} {
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

// oneFrame returns a frame; nil where the device has not the format, or the way is refused by name.
func oneFrame(t *testing.T, path, fourcc, memory string) ([]byte, frame.Format) {
	t.Helper()
	d, err := Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	has := false
	for _, f := range d.Formats {
		has = has || f.Fourcc == fourcc
	}
	if !has {
		return nil, frame.Format{}
	}
	s, err := Open(path, map[string][]string{"format": {fourcc}, "memory": {memory}})
	if err != nil {
		if memory == "userptr" && multiPlane[fourcc] != "" && strings.Contains(err.Error(), "use memory=mmap") {
			return nil, frame.Format{}
		}
		t.Errorf("%s with %s: %v", path, memory, err)
		return nil, frame.Format{}
	}
	defer s.Close()
	r := record(t, s.(*source))
	r.some(4)
	r.account()
	for i := range r.sums {
		if r.sums[i] != r.sums[0] {
			t.Errorf("%s with %s: frame %d differs from the first", path, memory, i)
		}
	}
	return r.last, s.Info().Format
}
