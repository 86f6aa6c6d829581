package scroll

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/measure"
	"github.com/eideticker/eideticker/capture/frame"
)

// sight is a frame that an estimator looks at, and its luma, made pixel by pixel.
type sight struct {
	*estimator
	was, is [][]int
	around  measure.Rect
}

// sights calls do with frames of several formats, regions, masks and tolerances. Their content is
// scaled, displaced, noise, or faded.
func sights(t *testing.T, do func(t *testing.T, rng *rand.Rand, s *sight)) {
	formats := []frame.PixelFormat{frame.BGR4, frame.BGR3, frame.NV12, frame.RGB4}
	for seed := range analyzetest.Seeds(uint64(24)) {
		rng := rand.New(rand.NewPCG(seed, 81))
		size := [][2]int{{310, 250}, {150, 330}, {700, 120}}[rng.IntN(3)]
		f := analyzetest.Must(frame.NewFormat(formats[(seed+seed/4)%4], size[0], size[1]))(t)
		l := analyzetest.Must(frame.NewLayout(f))(t)
		region := frame.Region{Width: size[0], Height: size[1]}
		if rng.IntN(2) == 0 {
			region = frame.Region{X: []int{64, 2 * rng.IntN(40)}[rng.IntN(2)], Y: 2 * rng.IntN(20),
				Width: 60 + 2*rng.IntN(5), Height: 50}
		}
		var masks []frame.Region
		if rng.IntN(3) == 0 || seed%8 == 3 || seed%8 == 4 { // always with a fade and with a scale
			masks = []frame.Region{{X: region.X + 10, Y: region.Y + 6, Width: 20, Height: 8}}
		}
		area := analyzetest.Must(measure.NewArea(l, region, masks))(t)
		s := &sight{estimator: newEstimator(&measure.Case{Layout: l, Area: area,
			Options: measure.Options{Tolerance: rng.IntN(4)}})}
		kind := seed % 4
		few := kind > 0 && rng.IntN(2) == 0
		picture, other := noise(rng, 4*900, 400), noise(rng, 4*900, 400)
		for y, row := range picture {
			for x := range row {
				if few { // rows and columns that repeat, and levels that are near to each other
					row[x] = byte(96 + 2*(y/3%5+x/4/5%7) + rng.IntN(2))
				} else if kind == 0 {
					row[x] = byte(128 + 60*math.Sin(float64(x/4)/17) + 50*math.Cos(float64(y)/15))
				}
			}
		}
		draw := func(second bool) frame.Image {
			pix, packed := make([]byte, 4*size[0]*size[1]), make([]byte, l.Size)
			cx, cy := float64(region.X)+float64(region.Width)/2, float64(region.Y)+float64(region.Height)/2
			for i := range size[0] * size[1] {
				x, y := i%size[0], i/size[0]
				switch {
				case second && kind == 0:
					x, y = int(cx+(float64(x)-cx)/1.06), int(cy+(float64(y)-cy)/1.06)
				case second && kind == 1:
					x, y = x+5, y+40
				}
				for c := range 4 {
					v := picture[20+y][4*(20+x)+c]
					switch {
					case second && kind == 0 && i/size[0] < region.Y+region.Height/8:
						v += other[y][4*x+c] / 16 // more than in other lines
					case second && kind > 1:
						v = byte(int(v) + (int(other[y][4*x+c])-int(v))/[]int{1, 20}[kind-2])
					}
					pix[4*i+c] = v
				}
			}
			frame.NewPacker(l).BGRX(packed, pix)
			return l.View(packed)
		}
		before, now := draw(false), draw(true)
		d := measure.NewDiffer(area, s.Tolerance).Of(area.WholeChange(), before, now)
		s.choose(d, before, now)
		s.around = aroundDiff(d)
		conv := frame.NewConverter(l)
		luma := func(m frame.Image) (lines [][]int) {
			for y := range size[1] {
				row, line := make([]byte, 4*size[0]), make([]int, size[0])
				conv.RGBARow(row, m, y, 0, size[0])
				for x := range line {
					line[x] = (77*int(row[4*x]) + 150*int(row[4*x+1]) + 29*int(row[4*x+2]) + 128) >> 8
				}
				lines = append(lines, line)
			}
			return lines
		}
		s.was, s.is = luma(before), luma(now)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { do(t, rng, s) })
	}
}

func TestLumaLiteral(t *testing.T) {
	sights(t, func(t *testing.T, _ *rand.Rand, s *sight) {
		for y := s.Area.Region.Y; y < s.Area.Region.Y+s.Area.Region.Height; y++ {
			for i, v := range s.now.line(y) {
				if want := s.is[y][s.Area.Region.X+i]; int(v) != want {
					t.Fatalf("pixel %d of line %d has luma %d, want %d", i, y, v, want)
				}
			}
		}
	})
}

// TestCheckLiteral compares what a displacement explains with the definition.
func TestCheckLiteral(t *testing.T) {
	sights(t, func(t *testing.T, rng *rand.Rand, s *sight) {
		r := s.Area.Region
		in := func(x, y int) bool { return x > r.X && x < r.X+r.Width && y >= r.Y && y < r.Y+r.Height }
		moves, end := [][2]int{{-5, -40}}, r.X+r.Width
		for _, dx := range [...]int{1, 63, 64, 65, (end - 1) % 64, end % 64, (end + 1) % 64} {
			moves = append(moves, [2]int{dx}, [2]int{-dx, 1})
		}
		for range 10 {
			moves = append(moves, [2]int{rng.IntN(161) - 80, rng.IntN(41) - 20})
		}
		for _, move := range moves {
			dx, dy := move[0], move[1]
			want := candidate{dx: dx, dy: dy, left: 1, detail: 1}
			var explained, left, zero, detail, detailZero int
			for _, at := range s.lines {
				for i := range at.changed(0) {
					x, y := i-dx, at.y-dy
					if !in(i, at.y) || !in(x, y) || !s.Area.Holds(x, y) {
						continue
					}
					v, o, was := s.is[at.y], s.was[y], s.was[at.y]
					left += abs(v[i] - o[x])
					zero += abs(v[i] - was[i])
					detail += abs(v[i] - v[i-1] - o[x] + o[x-1])
					detailZero += abs(v[i] - v[i-1] - was[i] + was[i-1])
					if abs(v[i]-v[i-1]) > s.tau {
						want.tested++
						if abs(v[i]-o[x]) <= s.tau && abs(v[i-1]-o[x-1]) <= s.tau {
							explained++
						}
					}
				}
			}
			if want.tested > 0 {
				want.exact = float64(explained) / float64(want.tested)
			}
			if zero > 0 && detailZero > 0 {
				want.left, want.detail = float64(left)/float64(zero), float64(detail)/float64(detailZero)
			}
			if got := s.check(dx, dy); got != want {
				t.Errorf("region %v, tolerance %d: %+v, want %+v", r, s.tau, got, want)
			}
		}
	})
}

// TestFarLiteral compares rows and columns by all their pixels.
func TestFarLiteral(t *testing.T) {
	sights(t, func(t *testing.T, rng *rand.Rand, s *sight) {
		r := s.Area.Region
		for range 8 {
			b := measure.Rect{X0: r.X + rng.IntN(20), Y0: r.Y + rng.IntN(20)}
			b.X1, b.Y1 = min(r.X+r.Width, b.X0+1+rng.IntN(100)), min(r.Y+r.Height, b.Y0+1+rng.IntN(100))
			literal := func(n int, pixels func(lines [][]int, i int) []int) []int {
				e := new(equals).begin(n)
				names := map[string]uint64{}
				for i := range n {
					for k, lines := range [...][][]int{s.was, s.is} {
						p := pixels(lines, i)
						name := fmt.Sprint(p)
						if names[name] == 0 {
							names[name] = uint64(len(names) + 1)
						}
						m := mark{hash: names[name], plain: slices.Min(p) == slices.Max(p)}
						if k == 0 {
							e.before[i] = m
						} else {
							e.now[i] = m
						}
					}
				}
				return e.found()
			}
			var rows, columns []int
			for _, k := range s.farRows(b) {
				rows = append(rows, k.dy)
			}
			for _, k := range s.farColumns(b) {
				columns = append(columns, k.dx)
			}
			if want := literal(b.Y1-b.Y0, func(lines [][]int, i int) []int {
				return lines[b.Y0+i][b.X0:b.X1]
			}); !slices.Equal(rows, want) {
				t.Errorf("rows of %v: displacements %v, want %v", b, rows, want)
			}
			if want := literal(b.X1-b.X0, func(lines [][]int, i int) (column []int) {
				for _, line := range lines[b.Y0:b.Y1] {
					column = append(column, line[b.X0+i])
				}
				return column
			}); !slices.Equal(columns, want) {
				t.Errorf("columns of %v: displacements %v, want %v", b, columns, want)
			}
		}
	})
}

// TestFarPatterns finds rows and columns that differ in their last pixels only, or that repeat.
func TestFarPatterns(t *testing.T) {
	const height, moved = 64, 11
	for _, width := range []int{1, 2, 7, 8, 9, 15, 16, 24, 43} {
		for last := range 8 { // pixels; 0: all
			for _, period := range []int{1, 2, 4, 8, 9} {
				pixel := func(x, y int) byte {
					if last > 0 && x < width-last {
						y = 100
					}
					return byte(37*y + 11*(x%period))
				}
				var want []int
				if width > 1 && (period > 1 || 0 < last && last < width) { // others have one colour
					want = []int{moved}
				}
				for _, columns := range []bool{false, true} {
					w, h, find := width, height, (*estimator).farRows
					if columns {
						w, h, find = height, width, (*estimator).farColumns
					}
					l := analyzetest.Must(frame.NewLayout(analyzetest.Must(frame.NewFormat(frame.GREY, w, h))(t)))(t)
					m, _ := estimatorOf(t, l)
					for k, lumas := range []*lumas{&m.now, &m.before} {
						img := l.View(make([]byte, l.Size))
						for i := range w * h {
							x, y := i%w, i/w
							if columns {
								x, y = y, x
							}
							img.Rows[i/w][i%w] = pixel(x, y+k*moved)
						}
						lumas.begin(img)
					}
					var got []int
					for _, at := range find(m, measure.Box(0, 0, w, h)) {
						got = append(got, at.dx+at.dy)
					}
					if !slices.Equal(got, want) {
						t.Errorf("columns %t, of %d pixels, the last %d differ, period %d: displacements %v, want %v",
							columns, width, last, period, got, want)
					}
				}
			}
		}
	}
}

// literalTransform is the transform of one signal.
func literalTransform(w *waves, data []complex128) {
	n := len(data)
	for i := range n {
		if j := int(bits.Reverse64(uint64(i)) >> (64 - bits.Len(uint(n-1)))); i < j {
			data[i], data[j] = data[j], data[i]
		}
	}
	for half := 1; half < n; half *= 2 {
		for i := range n {
			if i&half == 0 {
				b, turn := data[i+half], w.turns[i%half*(n/2/half)]
				c := complex(float64(real(b)*real(turn))-float64(imag(b)*imag(turn)), // not fused
					float64(real(b)*imag(turn))+float64(imag(b)*real(turn)))
				data[i], data[i+half] = data[i]+c, data[i]-c
			}
		}
	}
}

// TestTransformLiteral compares transforms of a tile bit by bit with those of its columns, one
// after another. It does so with vectors and without.
func TestTransformLiteral(t *testing.T) {
	for _, n := range []int{32, 64, 256} {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		var p phase
		p.begin(n, n*n)
		for i := range p.in {
			p.in[i] = complex(rng.NormFloat64(), rng.NormFloat64())
		}
		want := slices.Clone(p.in)
		for range 2 {
			column, turned := make([]complex128, n), make([]complex128, n*n)
			for x := range n {
				for y := range column {
					column[y] = want[y*n+x]
				}
				literalTransform(p.waves, column)
				copy(turned[x*n:], column)
			}
			want = turned
		}
		for y := range n { // transposed
			for x := range y {
				want[y*n+x], want[x*n+y] = want[x*n+y], want[y*n+x]
			}
		}
		first := slices.Clone(p.in[:n*block])
		p.waves.transformBoth(p.in, p.spare)
		if !slices.Equal(p.in, want) {
			t.Errorf("a tile of %d has another spectrum", n)
		}
		second := slices.Clone(first)
		p.waves.transform(first)
		for half := 1; half < n; half *= 2 {
			p.waves.stage(second, half)
		}
		if !slices.Equal(first, second) {
			t.Errorf("vectors transform %d values otherwise", n)
		}
	}
}

// TestPhaseLiteral compares cross-power spectra with those that are made without use of their
// symmetry.
func TestPhaseLiteral(t *testing.T) {
	literalLine := func(a, b []int, hann []float64, fade float64) (line []complex128) {
		var ma, mb float64
		for i := range a {
			ma, mb = ma+float64(a[i]), mb+float64(b[i])
		}
		ma, mb = ma/float64(len(a)), mb/float64(len(a))
		for i := range a {
			w := hann[i] * fade
			line = append(line, complex((float64(a[i])-ma)*w, (float64(b[i])-mb)*w))
		}
		return line
	}
	add := func(cross []complex128, c, m complex128, i int) {
		addPhase(cross, c, m, i, i)
	}
	sights(t, func(t *testing.T, rng *rand.Rand, s *sight) {
		r, p := s.Area.Region, &s.phase
		const n = 32
		p.begin(n, n)
		want := make([]complex128, n)
		for range 1 + rng.IntN(20) {
			x, y := r.X+rng.IntN(r.Width-n+1), r.Y+rng.IntN(r.Height)
			p.vote(s.before.part(y, x, n), s.now.part(y, x, n))
			line := literalLine(s.was[y][x:x+n], s.is[y][x:x+n], p.waves.hann, 1)
			literalTransform(p.waves, line)
			for i, c := range line {
				add(want, c, line[(n-i)%n], i)
			}
		}
		p.found()
		if literalTransform(p.waves, want); !slices.Equal(p.cross, want) {
			t.Error("lines have another correlation")
		}
		p.begin(n, n*n)
		want = make([]complex128, n*n)
		for range 3 {
			x, y := r.X+rng.IntN(r.Width-n+1), r.Y+rng.IntN(r.Height-n+1)
			s.tile(x, y, n)
			var tile []complex128
			for i := range n {
				tile = append(tile, literalLine(s.was[y+i][x:x+n], s.is[y+i][x:x+n], p.waves.hann, p.waves.hann[i])...)
			}
			p.waves.transformBoth(tile, p.spare)
			for i, c := range tile {
				add(want, c, tile[(n-i/n)%n*n+(n-i%n)%n], i)
			}
		}
		if !slices.Equal(p.cross, want) {
			t.Error("tiles have another spectrum")
		}
	})
}

// TestZoomLiteral compares scales with those of a search that measures every scale.
func TestZoomLiteral(t *testing.T) {
	scaled := 0
	sights(t, func(t *testing.T, _ *rand.Rand, s *sight) {
		r, z := s.Area.Region, &s.zoom
		whole := measure.Box(r.X, r.Y, r.X+r.Width, r.Y+r.Height)
		got, ok := z.estimate(s.estimator, whole)
		reduce := func(luma [][]int) (means []float32) {
			lines := min(4, z.cell)
			for i := range z.w * z.h {
				sum := 0
				for k := range lines {
					y := r.Y + i/z.w*z.cell + (2*k+1)*z.cell/(2*lines)
					for x := range z.cell {
						sum += luma[y][r.X+i%z.w*z.cell+x]
					}
				}
				means = append(means, float32(sum)/float32(lines*z.cell))
			}
			return means
		}
		before, now := reduce(s.was), reduce(s.is)
		left := func(scale float64) float64 {
			cx, cy := float64(r.Width)/float64(2*z.cell)-0.5, float64(r.Height)/float64(2*z.cell)-0.5
			var sum float64
			n := 0
			for i, v := range now {
				fx, fy := cx+(float64(i%z.w)-cx)/scale, cy+(float64(i/z.w)-cy)/scale
				x, y := int(math.Floor(fx)), int(math.Floor(fy))
				at := y*z.w + x
				if x < 0 || y < 0 || x+1 >= z.w || y+1 >= z.h || !z.counts[i] || !z.counts[at] || !z.counts[at+1] ||
					!z.counts[at+z.w] || !z.counts[at+z.w+1] {
					continue
				}
				px, py := float32(fx-float64(x)), float32(fy-float64(y))
				above := float32(before[at]*(1-px)) + float32(before[at+1]*px)
				below := float32(before[at+z.w]*(1-px)) + float32(before[at+z.w+1]*px)
				sum += math.Abs(float64(float32(above*(1-py)) + float32(below*py) - v))
				n++
			}
			return sum / float64(max(1, n))
		}
		var all [2*zoomSteps + 1]float64
		best := 0
		for i := 0; i < len(all); i += 3 {
			if all[i] = left(math.Pow(1+zoomStep, float64(i-zoomSteps))); all[i] < all[best] {
				best = i
			}
		}
		for i, end := max(0, best-2), min(len(all), best+3); i < end; i++ {
			if all[i] = left(math.Pow(1+zoomStep, float64(i-zoomSteps))); all[i] < all[best] {
				best = i
			}
		}
		var want motion
		if best != 0 && best != len(all)-1 && best != zoomSteps && all[best] <= zoomLeft*left(1) {
			want.scale = math.Pow(1+zoomStep, float64(best-zoomSteps)+vertex(all[best-1], all[best], all[best+1]))
			want.bound = want.scale * zoomStep / 2
			scaled++
		}
		if got != want || ok != (want.scale > 0) {
			t.Errorf("region %v: %+v, want %+v", r, got, want)
		}
	})
	if scaled == 0 {
		t.Error("no frame was scaled")
	}
}

// fill repeats a word.
func fill(b, word []byte) {
	for i := range b {
		b[i] = word[i%4]
	}
}

// TestSearchAllLiteral compares where spans are found with a look at each place. Some rows repeat
// every few pixels, so that a row has more places than count.
func TestSearchAllLiteral(t *testing.T) {
	many, few := 0, 0
	sights(t, func(t *testing.T, rng *rand.Rand, s *sight) {
		r, each := s.Area.Region, s.pixelBytes()
		if (r.Width-4)*each < spanBytes {
			return
		}
		var lines []int
		for len(lines) < 20 {
			y, period := r.Y+rng.IntN(r.Height), each*(2+rng.IntN(8))
			lines = append(lines, y, r.Y+rng.IntN(r.Height))
			row := s.before.Rows[y]
			from := each * (r.X + rng.IntN(20)) * rng.IntN(2) // also left of R
			for i := from + period; i < min(len(row), each*(r.X+r.Width-rng.IntN(20))); i++ {
				row[i] = row[i-period]
			}
		}
		s.hits, s.wanted = nil, nil
		for tries := 0; len(s.wanted) < spans && tries < 1000; tries++ {
			most := r.Width - spanBytes/each
			x, y := each*(r.X+rng.IntN(most)), lines[rng.IntN(len(lines))]
			switch row := s.before.Rows[y]; rng.IntN(8) {
			case 0: // of which few keys differ from one word
				fill(row[x+4:x+36], row[x:x+4])
			case 1: // of which only the last does, at the end of R
				x = each * (r.X + most)
				fill(row[x:x+spanBytes-4], row[x:x+4])
			}
			if span := s.before.Rows[y][x : x+spanBytes]; !flat(span) {
				s.wanted = append(s.wanted, wantedSpan{x: x, y: y, span: span})
			}
		}
		want := map[spanHit]int{}
		for _, w := range s.wanted {
			found := 0
			for y := r.Y; y < r.Y+r.Height; y++ {
				row := s.before.Rows[y]
				for at := each * r.X; at+spanBytes <= each*(r.X+r.Width); at += each {
					if found < spanHits && string(row[at:at+spanBytes]) == string(w.span) {
						found++
						want[spanHit{dx: (w.x - at) / each, dy: w.y - y}]++
					}
				}
			}
			if found == spanHits {
				many++
			} else {
				few++
			}
		}
		s.searchAll()
		got := map[spanHit]int{}
		for _, h := range s.hits {
			got[spanHit{dx: h.dx, dy: h.dy}] = h.votes
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d bytes a pixel: found %v, want %v", each, got, want)
		}
	})
	if many == 0 || few == 0 {
		t.Errorf("%d spans at many places, %d at few", many, few)
	}
}
