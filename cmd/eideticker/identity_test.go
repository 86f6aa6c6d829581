package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// TestRawComesBack records raw files and exports them: for every pixel format, the sizes of the
// issue's proof and the smallest there are, without padding and with. Padding and hidden bytes are
// random and must come back too. With EIDETICKER_SOAK most formats come in large sizes, and all
// without padding. Otherwise a packed and a planar one stand for large sizes, and the packed one
// for the largest. Of the small ones each has padding in turn.
func TestRawComesBack(t *testing.T) {
	t.Parallel()
	sizes := [][2]int{{1, 1}, {2, 2}, {342, 190}, {1366, 768}, {4096, 2160}}
	for i, pixel := range frame.PixelFormats() {
		for j, size := range sizes {
			for k, padding := range []int{0, 22} {
				rare := (i+j+k)%2 == 0 && size[0] <= 342 ||
					size[0] > 1366 && (pixel.String() != "BGR4" || padding == 0) ||
					size[0] > 342 && !slices.Contains([]string{"BGR4", "NV12"}, pixel.String())
				if rare && os.Getenv("EIDETICKER_SOAK") == "" {
					continue
				}
				t.Run(fmt.Sprintf("%v/%dx%d+%d", pixel, size[0], size[1], padding), func(t *testing.T) {
					f, err := frame.NewFormat(pixel, size[0], size[1])
					if size[0] == 1 && err != nil {
						refused(t, pixel)
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					f.Stride += padding
					source := fmt.Sprintf("raw:IN?size=%dx%d&format=%v&stride=%d&fps=60", f.Width, f.Height, pixel,
						f.Stride)
					comesBack(t, source, ".raw", story(f.Size(), f.Stride))
				})
			}
		}
	}
}

// refused wants formats without odd sizes to say so by name.
func refused(t *testing.T, pixel frame.PixelFormat) {
	t.Helper()
	in := filepath.Join(t.TempDir(), "in.raw")
	if err := os.WriteFile(in, make([]byte, 64), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := command(t, "record", "-s", fmt.Sprintf("raw:%s?size=1x1&format=%v", in, pixel), "-o", in+".eid")
	if code != exitUsage || !strings.Contains(errOut, pixel.String()) || !strings.Contains(errOut, "no odd") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
}

// TestY4MComesBack does the same for streams whose header and frame lines have all that Y4M knows.
func TestY4MComesBack(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		colour   string
		divX     int // of the chroma planes; 0 for none
		divY     int
		fullName string
	}{
		{"", 2, 2, "no colour"}, {" C420jpeg", 2, 2, "420jpeg"}, {" C420mpeg2", 2, 2, "420mpeg2"},
		{" C420paldv", 2, 2, "420paldv"}, {" C422", 2, 1, "422"}, {" C444", 1, 1, "444"}, {" Cmono", 0, 0, "mono"},
	} {
		for _, size := range [][2]int{{1, 1}, {7, 5}, {1366, 768}} {
			t.Run(fmt.Sprintf("%s/%dx%d", tc.fullName, size[0], size[1]), func(t *testing.T) {
				w, h := size[0], size[1]
				bytesOf := w * h
				if tc.divX > 0 {
					bytesOf += 2 * ((w + tc.divX - 1) / tc.divX) * ((h + tc.divY - 1) / tc.divY)
				}
				var stream bytes.Buffer
				fmt.Fprintf(&stream, "YUV4MPEG2 W%d H%d F30000:1001 Ip A1:1%s XCOLORRANGE=LIMITED\n", w, h, tc.colour)
				pixels := story(bytesOf, w)
				for n := 0; len(pixels) > 0; n++ {
					stream.WriteString([]string{"FRAME\n", "FRAME Ip\n"}[n%2])
					stream.Write(pixels[:bytesOf])
					pixels = pixels[bytesOf:]
				}
				comesBack(t, "y4m:IN", ".y4m", stream.Bytes())
			})
		}
	}
}

// story is some frames of random bytes: a picture, the same again, with a few changes, scrolled by
// a row, another.
func story(size, stride int) []byte {
	random := rand.NewChaCha8([32]byte{byte(size), byte(size >> 8), byte(stride)})
	first := make([]byte, size)
	random.Read(first)
	all := append(make([]byte, 0, 5*size), first...) // of large frames, copies would take long
	all = append(all, first...)
	changed := bytes.Clone(first)
	for i := range changed {
		if i%997 == 0 {
			changed[i]++
		}
	}
	all = append(all, changed...)
	step := stride % size
	all = append(all, changed[step:]...)
	all = append(all, changed[:step]...)
	last := all[4*size : 5*size]
	random.Read(last[:min(size, 1<<16)]) // and the rest black
	return all[:5*size]
}

// comesBack records a source, whose IN stands for a file of the given bytes, exports it, and wants
// those bytes.
func comesBack(t *testing.T, source, ending string, want []byte) {
	t.Helper()
	dir := t.TempDir()
	in, rec, out := filepath.Join(dir, "in"+ending), filepath.Join(dir, "a.eid"), filepath.Join(dir, "out"+ending)
	if err := os.WriteFile(in, want, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"record", "-s", strings.Replace(source, "IN", in, 1), "-o", rec},
		{"export", rec, "-o", out},
	} {
		if code, _, errOut := command(t, args...); code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, errOut)
		}
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Errorf("%d bytes came back of %d; the first that is different is %d", len(got), len(want), at)
}

// command runs the program within the test.
func command(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = run(context.WithoutCancel(t.Context()), args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}
