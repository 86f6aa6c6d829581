package synth

import (
	"bytes"
	"compress/flate"
	"testing"
)

func TestTearsAgainstPixels(t *testing.T) {
	for _, query := range []string{"size=64x48", "size=33x90&seed=5&format=YU12", "size=640x480&seed=8&markers=1"} {
		t.Run(query, func(t *testing.T) {
			s := open(t, "tear", query)
			truth, l := s.Truth(), s.geo.layout
			var images [tearImages][]byte // from frames that are whole by their place
			for i := range images {
				images[i] = render(s, truth.Content.First+uint64(i*tearHold+tearHold-1))
			}
			torn, twice := 0, 0
			for n := truth.Content.First; n < truth.Cycle.From+truth.Cycle.Frames; n++ {
				pix, tear := render(s, n), truth.TornAt(n)
				want := images[(n-truth.Content.First)/tearHold%tearImages]
				for y := range l.Rows {
					row := y
					if tear != nil {
						line := l.Rows[y].Y << s.geo.parts[l.Rows[y].Plane].subY
						part := 0
						for part < len(tear.Rows) && line >= tear.Rows[part] {
							part++
						}
						want = images[tear.Images[part]]
					}
					if !l.RowEqual(row, l.Row(pix, row), l.Row(want, row)) {
						t.Fatalf("frame %d, tear %v: row %d is of another image", n, tear, row)
					}
				}
				if tear != nil {
					torn++
					twice += len(tear.Rows) - 1
				}
			}
			if torn < 5 || twice < 1 {
				t.Errorf("%d torn frames, %d of them twice: too few to test with", torn, twice)
			}
		})
	}
}

func TestTearImagesAreDisjoint(t *testing.T) {
	for _, query := range []string{"size=320x200", "size=320x200&seed=3&format=GREY",
		"size=320x200&seed=4&format=YU12"} {
		s := open(t, "tear", query)
		a, b, c := render(s, 3), render(s, 7), render(s, 11)
		unit, luma := s.geo.parts[0].unit, s.geo.planes[0].Rows*s.geo.planes[0].Stride
		for i := 0; i < luma; i += unit {
			if a[i] == b[i] || b[i] == c[i] || a[i] == c[i] {
				t.Fatalf("%s: equal samples at byte %d", query, i)
			}
		}
	}
}

func TestCheckerAgainstPixels(t *testing.T) {
	for _, query := range []string{"size=160x96", "size=101x67&seed=4&markers=1", "size=420x230&seed=2"} {
		t.Run(query, func(t *testing.T) {
			s := open(t, "checker", query)
			truth := s.Truth()
			w, h := truth.Width, truth.Height
			page := render(s, truth.Content.First)
			most := 0
			for n := truth.Content.First; n < truth.Cycle.From+truth.Cycle.Frames; n++ {
				checkered := make([]bool, w*h)
				for _, tile := range truth.Checker.Tiles {
					if tile.Shown.Holds(n) {
						for y := tile.Y; y < tile.Y+tile.Height; y++ {
							for x := tile.X; x < tile.X+tile.Width; x++ {
								checkered[y*w+x] = true
							}
						}
					}
				}
				pix, count := render(s, n), 0
				for i, is := range checkered {
					want := page[4*i : 4*i+3]
					if is {
						count++
						c := truth.Checker.Colours[(i%w/truth.Checker.Cell+i/w/truth.Checker.Cell)%2]
						want = []byte{byte(c), byte(c >> 8), byte(c >> 16)}
					}
					if !bytes.Equal(pix[4*i:4*i+3], want) {
						t.Fatalf("frame %d: pixel %d,%d is %x, want %x", n, i%w, i/w, pix[4*i:4*i+3], want)
					}
				}
				if got := truth.CheckerPixels(n); got != count {
					t.Fatalf("frame %d: truth says %d pixels, there are %d", n, got, count)
				}
				most = max(most, count)
			}
			if most != w*h {
				t.Errorf("at most %d of %d pixels are checkered", most, w*h)
			}
		})
	}
}

func TestPingsAgainstPixels(t *testing.T) {
	s := open(t, "pingpong", "size=80x60&seed=9&markers=1")
	truth := s.Truth()
	for _, p := range truth.Pings {
		for n := p.Frame - 2; n < p.Pong+3; n++ {
			if got, want := truth.Changed(n), n == p.Pong; got != want {
				t.Errorf("ping of frame %d: frame %d differs %v, want %v", p.Frame, n, got, want)
			}
		}
		px := func(n uint64) []byte {
			return render(s, n)[4*(truth.PingArea.Y*truth.Width+truth.PingArea.X):][:4]
		}
		if bytes.Equal(px(p.Pong-1), px(p.Pong)) {
			t.Errorf("area does not change in frame %d", p.Pong)
		}
	}
}

func TestPageLoads(t *testing.T) {
	s := open(t, "page", "size=1280x720")
	truth := s.Truth()
	done := render(s, loadEnd+10)
	for _, b := range truth.Load {
		line := func(pix []byte) []byte {
			return pix[4*((b.Y+b.Height/2)*truth.Width+b.X):][:4*b.Width]
		}
		if bytes.Equal(line(render(s, b.Frame-1)), line(done)) {
			t.Errorf("block at %d,%d is there before frame %d", b.X, b.Y, b.Frame)
		}
		if b.Y > headerHeight && !bytes.Equal(line(render(s, b.Frame)), line(done)) {
			t.Errorf("block at %d,%d is not whole in frame %d", b.X, b.Y, b.Frame)
		}
	}
}

func TestScrolls(t *testing.T) {
	for _, scene := range []string{"page", "pan"} {
		s := open(t, scene, "size=640x480")
		truth := s.Truth()
		for i, run := range truth.Scroll.Frames {
			dx, dy := truth.Scroll.DX[i], truth.Scroll.DY[i]
			for _, n := range []uint64{run.First, run.First + 77, run.End - 1} {
				before, now := render(s, n-1), render(s, n)
				for y := 16; y < 464; y++ {
					a, b := 4*(y*640+16), 4*((y+dy)*640+16+dx)
					if !bytes.Equal(before[a:a+4*600], now[b:b+4*600]) {
						t.Fatalf("%s: row %d of frame %d has not moved by %d,%d in frame %d", scene, y, n-1, dx, dy, n)
					}
				}
			}
		}
	}
}

func TestCadence(t *testing.T) {
	for _, c := range []struct {
		query string
		until uint64
		want  int // frames that differ, of those from 1 to until
	}{
		{"rate=24", 600, 240},
		{"rate=60", 100, 100},
		{"rate=7.5&fps=30", 300, 75},
		{"fps=59.94&rate=24", 2500, 1001},
		{"repeats=1,1,2", 400, 300},
		{"repeats=3", 30, 10},
		{"", 60, 30},
	} {
		truth := open(t, "fps", "size=64x64&"+c.query).Truth()
		got := 0
		for n := uint64(1); n <= c.until; n++ {
			if truth.Changed(n) {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s: %d of %d frames differ, want %d", c.query, got, c.until, c.want)
		}
	}
}

// TestNoiseIsNoise: nothing to find within a frame, and no row of one frame in the next.
func TestNoiseIsNoise(t *testing.T) {
	for _, query := range []string{"size=256x128", "size=255x33&format=BGR3&stride=1000", "size=640x480&format=NV12"} {
		s := open(t, "noise", query)
		before := render(s, 0)
		for n := uint64(1); n < 40; n++ {
			now := render(s, n)
			rows := map[string]bool{}
			for y := range s.geo.layout.Rows {
				rows[string(s.geo.layout.Row(before, y))] = true
			}
			for y := range s.geo.layout.Rows {
				if rows[string(s.geo.layout.Row(now, y))] {
					t.Fatalf("%s: row %d of frame %d is in the frame before", query, y, n)
				}
			}
			differs := 0
			for i := range now {
				if now[i] != before[i] {
					differs++
				}
			}
			if !s.geo.padded && differs < len(now)*98/100 {
				t.Errorf("%s: only %d of %d bytes of frame %d are new", query, differs, len(now), n)
			}
			before = now
		}
		if size := deflated(t, before); !s.geo.padded && size < len(before) {
			t.Errorf("%s: %d bytes compress to %d", query, len(before), size)
		}
	}
}

func TestVideoIsNoisy(t *testing.T) {
	s := open(t, "web", "size=800x500")
	v, w := s.Truth().Video, s.Truth().Width
	cut := func(n uint64) (rows []string) {
		pix := render(s, n)
		for y := v.Y; y < v.Y+v.Height; y++ {
			rows = append(rows, string(pix[4*(y*w+v.X):][:4*v.Width]))
		}
		return rows
	}
	before := cut(videoFirst)
	for _, n := range []uint64{videoFirst + 1, videoFirst + 2, videoFirst + 3} {
		seen := map[string]bool{}
		for _, r := range before {
			seen[r] = true
		}
		now := cut(n)
		for y, r := range now {
			if seen[r] {
				t.Fatalf("row %d of frame %d's video is in the frame before", y, n)
			}
		}
		before = now
	}
	all := []byte{}
	for _, r := range before[:64] {
		all = append(all, r...)
	}
	if size := deflated(t, all); size < len(all)/3 {
		t.Errorf("%d bytes of video compress to %d", len(all), size)
	}
}

func deflated(t *testing.T, b []byte) int {
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}
