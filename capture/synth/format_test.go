package synth

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// TestFormats renders every scene in every format at sizes that are hard, and checks the padding.
func TestFormats(t *testing.T) {
	for _, p := range frame.PixelFormats() {
		for _, c := range [][3]int{{1, 1, 5}, {2, 2, 0}, {67, 45, 0}, {67, 45, 13}, {98, 66, 13}} {
			f, err := frame.NewFormat(p, c[0], c[1])
			if err != nil {
				continue // no odd sizes; frame's own tests have that
			}
			query := fmt.Sprintf("size=%dx%d&format=%v&stride=%d&seed=3", c[0], c[1], p, f.Stride+c[2])
			t.Run(query, func(t *testing.T) {
				for _, scene := range sceneNames() {
					checkPadding(t, open(t, scene, query))
				}
			})
		}
	}
}

func checkPadding(t *testing.T, s *Source) {
	t.Helper()
	for _, n := range []uint64{0, 31, 70, 131, 200} {
		a, b := make([]byte, s.geo.size), bytes.Repeat([]byte{0xEE}, s.geo.size)
		s.Render(n, a)
		s.Render(n, b)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s: frame %d leaves bytes unwritten", s.Info().URI, n)
		}
		for y := range s.geo.layout.Rows {
			row, seen := s.geo.layout.Row(a, y), s.geo.layout.Rows[y].Seen
			for i, v := range row[seen:] {
				if v != 0xA5^byte(i) {
					t.Fatalf("%s: frame %d, row %d: byte %d of the padding is %#x", s.Info().URI, n, y, i, v)
				}
			}
		}
	}
}

// TestColours holds converted markers against values computed by hand from BT.601 and BT.709.
func TestColours(t *testing.T) {
	for _, c := range []struct {
		query      string
		green, red string // bytes of the first unit, or of one sample of each plane
	}{
		{"format=BGR4", "00ff0000", "0000ff00"},
		{"format=RGB4", "0000ff00", "00ff0000"},
		{"format=BA24", "ff00ff00", "ffff0000"},
		{"format=AB24", "00ff00ff", "ff0000ff"},
		{"format=RX24", "0000ff00", "000000ff"},
		{"format=RA24", "ff00ff00", "ff0000ff"},
		{"format=BGR3", "00ff00", "0000ff"},
		{"format=RGB3", "00ff00", "ff0000"},
		{"format=YUYV", "91369122", "515a51f0"},
		{"format=UYVY", "36912291", "5a51f051"},
		{"format=YVYU", "91229136", "51f0515a"},
		{"format=VYUY", "22913691", "f0515a51"},
		{"format=Y210", "8090c03580904022", "8051405a805100f0"},
		{"format=YUYV&size=8x720", "ad2aad1a", "3f663ff0"},
		{"format=NV12", "913622", "515af0"},
		{"format=NV16", "913622", "515af0"},
		{"format=NV24", "913622", "515af0"},
		{"format=P010", "8090c0354022", "8051405a00f0"},
		{"format=YU12", "913622", "515af0"},
		{"format=422P", "913622", "515af0"},
		{"format=444P", "913622", "515af0"},
		{"format=GREY", "91", "51"},
	} {
		size := "&size=8x8"
		if len(c.query) > 12 {
			size = ""
		}
		s := open(t, "static", c.query+size+"&markers=1&frames=1")
		for n, want := range map[uint64]string{0: c.green, 31: c.red} {
			pix, got := render(s, n), []byte(nil)
			for i, p := range s.geo.planes {
				got = append(got, pix[p.Offset:][:s.geo.parts[i].unit]...)
			}
			if fmt.Sprintf("%x", got) != want {
				t.Errorf("%s: frame %d is %x, want %s", c.query, n, got, want)
			}
		}
	}
}
