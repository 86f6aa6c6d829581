package raw

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/capture/internal/capturetest"
)

// y4mSeeds are whole, odd and broken streams.
func y4mSeeds() [][]byte {
	return [][]byte{
		stream("YUV4MPEG2 W1 H1 F60:1", 3, "FRAME", "FRAME"),
		stream("YUV4MPEG2 W3 H5 F30000:1001 It A1:1 C422 XCOLORRANGE=FULL", 35, "FRAME It", "FRAME", "FRAME"),
		stream("YUV4MPEG2 W2 H2 F1:1 Cmono", 4, "FRAME"),
		stream("YUV4MPEG2 W2 H2 F1:1 C444 ", 12, "FRAME", "FRAME X"),
		stream("YUV4MPEG2 W2 H2 F1:1 C420p10", 12, "FRAME"),
		stream("YUV4MPEG2 W32768 H32768 F1:1", 3, "FRAME"),
		stream("YUV4MPEG2 W2 H2 F1:1 Cmono", 3, "FRAME"),
		[]byte("YUV4MPEG2"),
		{},
	}
}

func TestFuzzHasSeeds(t *testing.T) {
	good := 0
	for _, data := range y4mSeeds() {
		if s, err := OpenY4M(write(t, data)); err == nil {
			s.Close()
			good++
		}
	}
	if good < 4 {
		t.Errorf("%d seeds can be read", good)
	}
}

// Whatever the bytes are: a stream that can be opened is played to its end and comes out of the
// writer as it was; any other is refused. Neither takes more memory than the input is long, times a
// constant.
func FuzzY4M(f *testing.F) {
	for _, data := range y4mSeeds() {
		f.Add(data)
	}
	path := filepath.Join(f.TempDir(), "in")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := OpenY4M(path)
		if err != nil {
			return
		}
		info := s.Info()
		if size := info.Format.Size(); size > len(data) {
			t.Fatalf("frames of %d bytes in a file of %d", size, len(data))
		}
		g := capturetest.Play(t, s)
		if g.Err != nil {
			t.Fatal(g.Err)
		}
		if !bytes.Equal(rewrite(t, info, g), data) {
			t.Error("the stream changed on its way")
		}
	})
}
