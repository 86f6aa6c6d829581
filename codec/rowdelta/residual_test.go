package rowdelta

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/eideticker/eideticker/capture/frame"
)

// residualFilm returns two frames of some content and the delta of all rows.
func residualFilm(t testing.TB, p frame.PixelFormat, w, h int, content string) (*frame.Layout, []byte, []byte, *Delta) {
	t.Helper()
	f, err := frame.NewFormat(p, w, h)
	if err != nil {
		t.Fatal(err)
	}
	f.Stride += 5
	l, err := frame.NewLayout(f)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	a, b := make([]byte, l.Size), make([]byte, l.Size)
	for i := range a {
		x, y := i%f.Stride, i/f.Stride
		switch content {
		case "noise":
			a[i], b[i] = byte(rng.Uint32()), byte(rng.Uint32())
		case "smooth":
			a[i] = byte(x/3 + y + rng.IntN(3))
			b[i] = a[i] + byte(rng.IntN(2))
		case "flat":
			b[i] = 7
		case "ramp":
			b[i] = byte(x + y*3)
		}
	}
	d := &Delta{}
	NewEncoder(l).Encode(nil, b, d, 0)
	return l, a, b, d
}

// TestLiveResidualsComeBack packs blocks of all kinds of content while they are recorded. Blocks of
// noise and page content stay without residuals, and so do all under pressure.
func TestLiveResidualsComeBack(t *testing.T) {
	p, u := NewLivePacker(), NewUnpacker(4<<20, 2)
	for _, pixel := range frame.PixelFormats() {
		for _, content := range []string{"noise", "smooth", "flat", "ramp"} {
			want := Plain
			if content == "smooth" {
				want = Predicted
			}
			for _, width := range []int{122, 1222} {
				l, _, b, d := residualFilm(t, pixel, width, 98, content)
				kinds := map[Packing]int{}
				for i, block := range d.Blocks(nil) {
					src := block.Gather(l, b, make([]byte, block.Raw))
					dst, got := make([]byte, PackBound(len(src))), make([]byte, len(src))
					for _, level := range []int{Thorough, Smallest, fastest, uncompress} {
						n, kind, err := p.PackBlock(l, &block, src, dst, level)
						if level == Thorough {
							kinds[kind]++
						}
						switch {
						case err != nil:
						case kind == Predicted && level == Thorough:
							err = u.Unpack(dst[:n], got)
						case kind != Plain:
							err = errResidual
						case n > 0:
							err = Unpack(dst[:n], got)
						default:
							copy(got, src)
						}
						if err != nil || !bytes.Equal(got, src) || n*unpackedLimit < len(src) && n > 0 {
							t.Fatalf("%v %s block %d at %d: %v, packing %d, %d of %d bytes", pixel, content, i, level,
								err, kind, n, len(src))
						}
					}
				}
				if kinds[want] == 0 {
					t.Errorf("%v %s: packings %v", pixel, content, kinds)
				}
			}
		}
	}
}

// TestResidualsComeBack packs blocks of all kinds of content with and without a previous frame.
func TestResidualsComeBack(t *testing.T) {
	p, u := NewResidualPacker(), NewUnpacker(4<<20, 2)
	kinds := map[Packing]int{}
	for _, pixel := range frame.PixelFormats() {
		for _, content := range []string{"noise", "smooth", "flat", "ramp"} {
			l, a, b, d := residualFilm(t, pixel, 122, 98, content)
			for _, prev := range [][]byte{nil, a} {
				for i, block := range d.Blocks(nil) {
					want := block.Gather(l, b, make([]byte, block.Raw))
					before := block.Gather(l, a, make([]byte, block.Raw))
					stored, kind, err := p.Pack(l, &block, b, prev)
					kinds[kind]++
					got := make([]byte, block.Raw)
					switch {
					case err != nil:
					case kind != Plain:
						err = u.Unpack(stored, got)
					case len(stored) < block.Raw:
						err = Unpack(stored, got)
					default:
						copy(got, stored)
					}
					if kind == Difference {
						Add(got, before)
					}
					if err != nil || !bytes.Equal(got, want) || len(stored)*unpackedLimit < block.Raw {
						t.Fatalf("%v %s block %d: %v, packing %d, %d of %d bytes", pixel, content, i, err, kind,
							len(stored), block.Raw)
					}
				}
			}
		}
	}
	if kinds[Plain] == 0 || kinds[Predicted] == 0 || kinds[Difference] == 0 {
		t.Errorf("packings: %v", kinds)
	}
}

// residualSeeds returns packed blocks.
func residualSeeds(t testing.TB) (seeds [][]byte) {
	p := NewResidualPacker()
	for _, content := range []string{"smooth", "ramp"} {
		l, _, b, d := residualFilm(t, frame.BGR4, 40, 30, content)
		for _, block := range d.Blocks(nil) {
			stored, _, err := p.Pack(l, &block, b, nil)
			if err != nil {
				t.Fatal(err)
			}
			seeds = append(seeds, bytes.Clone(stored))
		}
	}
	return seeds
}

// TestDamagedResiduals unpacks blocks with each byte changed and cut at each byte.
func TestDamagedResiduals(t *testing.T) {
	u := NewUnpacker(4<<20, 1)
	dst := make([]byte, 40*4*30+5*30)
	for _, seed := range residualSeeds(t) {
		if err := u.Unpack(seed, dst); err != nil {
			t.Fatal(err)
		}
		for i := range seed {
			if err := u.Unpack(seed[:i], dst); err == nil {
				t.Errorf("block of %d bytes cut to %d is accepted", len(seed), i)
			}
			bad := bytes.Clone(seed)
			bad[i] ^= 1 << (i % 8)
			u.Unpack(bad, dst) // an error, or other bytes
		}
	}
	for _, bad := range [][]byte{{0, 1, 0, 0}, {1, 0, 0, 0}, {255, 255, 255, 255, 15, 1, 0, 0}, {1, 1, 0xff, 0},
		{1, 1, 15, 0}, {}} {
		if u.Unpack(bad, dst) == nil {
			t.Errorf("sections %x are accepted", bad)
		}
	}
}

// TestConstantChannel fills channels with one value. Nothing else is written.
func TestConstantChannel(t *testing.T) {
	for _, n := range []int{1, 2, 3, 255, 256, 257} {
		dst := bytes.Repeat([]byte{0xaa}, n+8)
		rest, err := new(unpacking).channel(dst[:n:n], []byte{channelConstant, 7, 1, 2})
		want := append(bytes.Repeat([]byte{7}, n), bytes.Repeat([]byte{0xaa}, 8)...)
		if err != nil || !bytes.Equal(dst, want) || !bytes.Equal(rest, []byte{1, 2}) {
			t.Errorf("%d bytes: %x, rest %x, %v", n, dst, rest, err)
		}
	}
}

// FuzzResiduals unpacks anything.
func FuzzResiduals(f *testing.F) {
	for _, seed := range residualSeeds(f) {
		f.Add(seed, uint16(40*4*30+5*30))
	}
	f.Add([]byte{8, 2, 0x34, 1, 1, 0, 1, 0, 1, 0, 1, 0}, uint16(16))
	u := NewUnpacker(1<<16, 1)
	f.Fuzz(func(t *testing.T, src []byte, raw uint16) {
		dst := make([]byte, raw)
		if u.Unpack(src, dst) == nil && raw == 0 {
			t.Error("an empty block was unpacked")
		}
	})
}

// FuzzPredictors compares the restored bytes of any section with its bytes.
func FuzzPredictors(f *testing.F) {
	f.Add([]byte("residuals of a few bytes"), uint8(5), uint8(3), uint8(4))
	long, rng := make([]byte, 5000), rand.New(rand.NewPCG(1, 1))
	for i := range long { // all relations of neighbours
		long[i] = byte(rng.IntN(4)*85 + rng.IntN(2))
	}
	for from := range predictors {
		for step := range uint8(maxStep) {
			f.Add(long, uint8(99+step), step, uint8(from))
			f.Add(long[:100], uint8(0), step, uint8(from)) // rows shorter than a step
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, pitch, step, from uint8) {
		s := section{pitch: int(pitch) + 1, step: int(step%maxStep) + 1, from: predictor(from % uint8(predictors))}
		s.rows = len(b) / s.pitch
		b = b[:s.rows*s.pitch]
		if s.rows == 0 {
			return
		}
		residuals, planes := make([]byte, len(b)), make([]byte, len(b))
		fence := bytes.Repeat([]byte{0xa5}, 64)
		fenced := slices.Concat(fence, b, fence)
		got := fenced[len(fence):][:len(b)]
		s.residuals(residuals, b)
		split(planes, residuals, s.step)
		for _, vectors := range []bool{false, hasVectors()} {
			clear(got)
			join(got, planes, s.step, vectors)
			s.restore(got, vectors)
			if !bytes.Equal(got, b) {
				t.Errorf("%+v, vectors %v: got %x, want %x", s, vectors, got, b)
			}
			if !bytes.HasPrefix(fenced, fence) || !bytes.HasSuffix(fenced, fence) {
				t.Errorf("%+v, vectors %v: written outside of the block", s, vectors)
			}
		}
	})
}

// TestLargerThanClaimed: a block of few bytes whose frame unpacks to many costs no memory for them.
func TestLargerThanClaimed(t *testing.T) {
	const raw, many = 64, 4 << 20
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	src := e.EncodeAll(make([]byte, many), append((&section{raw, 1, 1, fromNothing}).append(nil), byte(byZstd)))
	u, dst := NewUnpacker(many, 1), make([]byte, raw)
	unpack := func() {
		if err := u.Unpack(src, dst); !errors.Is(err, errResidual) {
			t.Errorf("unpacked: %v", err)
		}
	}
	unpack() // the decoder's own memory is made once
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	unpack()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > many/4 {
		t.Errorf("%d bytes of memory", n)
	}
}
