package recording

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// packed returns a packed copy of a recording.
func packed(t testing.TB, d *memDisk) *memDisk {
	t.Helper()
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	to := &memDisk{}
	if err := r.pack(context.Background(), to, func(int) {}); err != nil {
		t.Fatal(err)
	}
	q, err := newReader(to, int64(len(to.b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.sameAs(context.Background(), q, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if digest(t, r) != digest(t, q) {
		t.Fatal("the packed recording has another digest")
	}
	return to
}

func digest(t testing.TB, r *Reader) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Digest(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestDigest: recordings that differ in one byte of pixels or one event have other digests. So do
// those that differ in one time or gap.
func TestDigest(t *testing.T) {
	seen := map[string]string{}
	for _, what := range []string{"", "pixel", "time", "flags", "event", "value", "gap", "format"} {
		is := func(name string) int {
			if name == what {
				return 1
			}
			return 0
		}
		d := &memDisk{}
		w := newWriter(d, testOptions())
		f := format(t, frame.GREY, 16, 2, is("format"))
		pix := make([]byte, f.Size())
		pix[5] = byte(is("pixel"))
		m := frame.Meta{Sampled: timeline.At(timeline.Time(10 + is("time"))), Flags: frame.Flags(is("flags"))}
		err := errors.Join(w.Metadata("a", fmt.Appendf(nil, "%d", is("value"))), w.Segment(f, 1, 60),
			w.Event(timeline.Event{Kind: "e", Data: fmt.Appendf(nil, "%d", is("event"))}), w.WriteFrame(pix, m, nil),
			w.Gap(frame.Gap{First: 1, Count: uint64(1 + is("gap")), Cause: frame.RingFull}), w.Close())
		if err != nil {
			t.Fatal(err)
		}
		r, err := newReader(d, int64(len(d.b)))
		if err != nil {
			t.Fatal(err)
		}
		r.header.id = [16]byte{} // which differs always
		if was, is := seen[digest(t, r)]; is {
			t.Errorf("other %s, and the digest of other %q", what, was)
		}
		seen[digest(t, r)] = what
	}
}

// TestPackedFramesComeBack packs films of all formats and all phases. Each frame must return
// unchanged in any order. With -short, formats with the same rows have one film.
func TestPackedFramesComeBack(t *testing.T) {
	check := func(t *testing.T, d *memDisk, all [][]byte) {
		p := packed(t, d)
		r, err := newReader(p, int64(len(p.b)))
		if err != nil {
			t.Fatal(err)
		}
		checkFrames(t, r, all)
		v, err := r.Verify(context.Background(), nil)
		if err != nil || len(v.Problems) > 0 || v.Checked != len(all) || v.Tables == 0 {
			t.Errorf("verify: %+v, %v", v, err)
		}
	}
	seen := map[string]bool{}
	for i, f := range testFormats(t) {
		l, err := frame.NewLayout(f)
		if err != nil {
			t.Fatal(err)
		}
		rows := fmt.Sprint(l.Rows)
		if f.Width == 120 || testing.Short() && seen[rows] { // odd sizes are harder
			continue
		}
		seen[rows] = true
		t.Run(f.String(), func(t *testing.T) {
			all := film(t, uint64(i), f, 70)
			d := &memDisk{}
			record(t, d, f, all)
			check(t, d, all)
		})
	}
	for i, p := range phases() {
		t.Run(p.name, func(t *testing.T) {
			f, all := p.film(t, newStage(151, 77, 13, uint64(i)), 70)
			d := &memDisk{}
			record(t, d, f, all)
			check(t, d, all)
		})
	}
}

// drift makes a frame whose bytes all differ from the one before by 1.
func drift(pix, prev []byte) {
	for i := range pix {
		pix[i] = prev[i] + 1
	}
}

func noise(pix []byte, rng *rand.Rand) {
	for i := range pix {
		pix[i] = byte(rng.Uint32())
	}
}

// smooth fills a frame with content that is stored as residuals.
func smooth(pix []byte, n int, rng *rand.Rand) {
	for i := range pix {
		pix[i] = byte(i*3/2+7*n) + byte(rng.IntN(4))
	}
}

// packedTale returns a tale and its packed recording, with blocks of all packings.
func packedTale(t testing.TB) (*tale, *memDisk) {
	t.Helper()
	tale := newTale(t, 5, 300*time.Millisecond,
		talePart{format(t, frame.GREY, 160, 4, 0), 9}, talePart{format(t, frame.BGR4, 20, 7, 3), 6})
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range tale.frames {
		pix := tale.frames[n].pix
		switch {
		case n >= 9 || n == 5: // smooth
			for i := range pix {
				pix[i] = byte(3*i + 7*n)
			}
		case n == 2: // a difference that repeats
			for i, was := range tale.frames[1].pix {
				pix[i] = was + byte(i%40*i%40)
			}
		case n == 6: // of one value
			for i := range pix {
				pix[i] = byte(n)
			}
		case n == 7:
			smooth(pix, n, rng)
		case n > 0:
			drift(pix, tale.frames[n-1].pix)
		default:
			noise(pix, rng)
		}
	}
	d := &memDisk{}
	w := newWriter(d, testOptions())
	if err := errors.Join(tale.write(w, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	d = packed(t, d)
	mustHave(t, d, "raw", "LZ4", "residuals, zstd", "residuals, Huffman", "differences, zstd", "differences, Huffman")
	return tale, d
}

// residualTale returns a tale and its recording, whose writer chose residuals for most frames.
func residualTale(t testing.TB) (*tale, *memDisk) {
	t.Helper()
	tale := newTale(t, 5, 300*time.Millisecond, talePart{format(t, frame.GREY, 64, 40, 0), 5},
		talePart{format(t, frame.YUYV, 70, 20, 3), 3})
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range tale.frames {
		pix := tale.frames[n].pix
		smooth(pix, n, rng)
	}
	d := &memDisk{}
	w := newWriter(d, testOptions())
	if err := errors.Join(tale.write(w, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	if n := predictedBlocks(t, d); n < len(tale.frames) {
		t.Fatalf("%d blocks of residuals", n)
	}
	return tale, d
}

// predictedBlocks returns how many blocks of residuals the frames of a recording have.
func predictedBlocks(t testing.TB, d *memDisk) int {
	t.Helper()
	kinds := blockKinds(t, d)
	return kinds["residuals, zstd"] + kinds["residuals, Huffman"]
}

// blockKinds counts the blocks of a recording's frames by packing and coding.
func blockKinds(t testing.TB, d *memDisk) map[string]int {
	t.Helper()
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	var h frameHead
	for i := range r.Frames() {
		if err := r.frameHead(i, &h); err != nil {
			t.Fatal(err)
		}
		for _, b := range h.blocks {
			switch {
			case b.stored == b.raw:
				kinds["raw"]++
			case b.kind == rowdelta.Plain:
				kinds["LZ4"]++
			case b.kind == rowdelta.Predicted:
				kinds["residuals, "+codingOf(d, b)]++
			default:
				kinds["differences, "+codingOf(d, b)]++
			}
		}
	}
	return kinds
}

// codingOf returns the coding of a block of residuals. It stands after the sections.
func codingOf(d *memDisk, b blockInfo) string {
	in := d.b[b.offset:][:b.stored]
	for left := uint64(b.raw); left > 0; {
		pitch, n := binary.Uvarint(in)
		rows, m := binary.Uvarint(in[n:])
		in, left = in[n+m+1:], left-pitch*rows
	}
	return [...]string{"zstd", "Huffman"}[in[0]]
}

// mustHave fails unless frames of a recording have blocks of all given kinds.
func mustHave(t testing.TB, d *memDisk, kinds ...string) {
	t.Helper()
	have := blockKinds(t, d)
	for _, k := range kinds {
		if have[k] == 0 {
			t.Fatalf("no block of %s: %v", k, have)
		}
	}
}

// TestResidualsAreDamaged cuts recordings with residuals at their bytes and flips bits in them. A
// reader shows no wrong frame.
//
// Fault: The file was cut
// Fault: A bit was flipped
func TestResidualsAreDamaged(t *testing.T) {
	for name, make := range map[string]func(testing.TB) (*tale, *memDisk){"packed": packedTale, "live": residualTale} {
		t.Run(name, func(t *testing.T) {
			tale, d := make(t)
			all := records(t, d.b)
			inParallel(t, len(d.b), func(at int) error {
				if !picked(at) {
					return nil
				}
				if err := checkCut(tale, all, d.b[:at]); err != nil {
					return fmt.Errorf("cut: %w", err)
				}
				if err := checkFlip(tale, all, d.b, at, at%8); err != nil {
					return fmt.Errorf("flip: %w", err)
				}
				return nil
			})
		})
	}
}

// TestResidualsArePacked packs a recording whose writer chose residuals.
func TestResidualsArePacked(t *testing.T) {
	d := &memDisk{}
	f, all := phases()[5].film(t, newStage(320, 180, 6, 1), 20)
	if record(t, d, f, all); predictedBlocks(t, d) < len(all) {
		t.Fatal("no residuals")
	}
	path := filepath.Join(t.TempDir(), "a.eid")
	if err := os.WriteFile(path, d.b, 0o600); err != nil {
		t.Fatal(err)
	}
	if rep, err := Pack(context.Background(), path, false, nil); err != nil || !rep.Packed {
		t.Errorf("%+v, %v", rep, err)
	}
}

// TestHostileChains makes chains of differences longer than the format allows.
func TestHostileChains(t *testing.T) {
	_, d := packedTale(t)
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	l := r.segments[0].Layout
	for _, length := range []int{rowdelta.MaxChain, rowdelta.MaxChain + 1} {
		v := &resolver{layout: l, wanted: []wantedRow{{y: 0}}, places: rowdelta.NewPlaces(l)}
		*v.places.Row(0) = rowdelta.Place{N: 1, Pieces: [rowdelta.MaxPieces]rowdelta.Piece{{Block: int64(length)}}}
		var h frameHead
		if err := r.frameHead(0, &h); err != nil {
			t.Fatal(err)
		}
		v.blocks = append(v.blocks, h.blocks[0])
		for n := 1; n <= length; n++ {
			b := h.blocks[0] // stored as it is
			b.kind = rowdelta.Difference
			v.blocks = append(v.blocks, b)
			v.bases = append(v.bases, basePiece{block: int32(n), n: 160, from: int32(n - 1)})
		}
		err := r.assemble(v, make([]byte, 160))
		if want := length > rowdelta.MaxChain; isCorrupt(err) != want || !want && err != nil {
			t.Errorf("chain of %d: %v", length, err)
		}
		v.bases = v.bases[1:] // the last block differs from nothing
		if err := r.assemble(v, make([]byte, 160)); !isCorrupt(err) {
			t.Errorf("chain without an end: %v", err)
		}
	}
}

// TestManyPiecesOfOneRow: a row of the most pieces can be read by itself. Each piece is the sum of
// as many.
func TestManyPiecesOfOneRow(t *testing.T) {
	const n = rowdelta.MaxPieces
	v := &resolver{wanted: []wantedRow{{y: 0}}, blocks: make([]blockInfo, 2)}
	v.blocks[1].kind = rowdelta.Difference
	for i := range int32(n * n) {
		v.bases = append(v.bases, basePiece{block: 1, off: i, n: 1, fromByte: 2 * i})
		if i%n == 0 {
			v.asked = append(v.asked, askedPiece{1, wantedPiece{i, i, n}})
		}
	}
	if _, err := v.askBases(); err != nil || len(v.asked) != n*n || v.asked[n*n-1].off != 2*(n*n-1) {
		t.Errorf("%d pieces, %v", len(v.asked), err)
	}
	k := packer{chains: []chain{{1, n}, {packedChain, 2}, {}}}
	l, err := frame.NewLayout(format(t, frame.GREY, 160, 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	places := rowdelta.NewPlaces(l)
	*places.Row(0) = rowdelta.Place{N: 3, Pieces: [n]rowdelta.Piece{{}, {Start: 50, Block: 2}, {Start: 90, Block: 1}}}
	d := rowdelta.Delta{}
	rowdelta.NewEncoder(l).Restore(make([]byte, 160), &d, 0)
	if k.allow(&d, places); k.allowed[0] != (allowance{chain{packedChain, n + 3}, 3}) {
		t.Errorf("allowed %+v", k.allowed)
	}
}

// TestPackedIsSought: a packed file never replaces the original if its checkpoints cannot be read.
// A player from the start reads neither their rows nor their tables.
func TestPackedIsSought(t *testing.T) {
	_, p := packedTale(t)
	r, err := newReader(&memDisk{b: bytes.Clone(p.b)}, int64(len(p.b)))
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(q *Reader){
		"rows": func(q *Reader) {
			for _, h := range records(t, p.b) {
				if h.typ == typeRows {
					p.b[h.to-1]++ // its rows or its padding
					return
				}
			}
			t.Error("there are none")
		},
		"table": func(q *Reader) { q.checkpoints[len(q.checkpoints)-1].hash++ },
	} {
		t.Run(name, func(t *testing.T) {
			q, err := newReader(p, int64(len(p.b)))
			if err != nil {
				t.Fatal(err)
			}
			spoil(q)
			if err := r.sameAs(context.Background(), q, func(int) {}); err == nil {
				t.Error("it replaces the original")
			}
		})
	}
}

// packableTale returns a tale that becomes smaller.
func packableTale(t *testing.T) (*tale, *memDisk) {
	t.Helper()
	tale := powerTale(t, 21)
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range tale.frames {
		if n > 0 && tale.frames[n].format == tale.frames[n-1].format {
			drift(tale.frames[n].pix, tale.frames[n-1].pix)
		} else {
			noise(tale.frames[n].pix, rng)
		}
	}
	whole := &memDisk{}
	tale.record(t, whole, 100*time.Millisecond, time.Hour)
	return tale, whole
}

// TestPackKeepsTheFile interrupts packing at many steps and fills the disk. The old file stays as
// it is until the new one takes its place.
//
// Fault: `pack` is interrupted or killed, or finds the disk full
func TestPackKeepsTheFile(t *testing.T) {
	tale, whole := packableTale(t)
	r, err := newReader(whole, int64(len(whole.b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, dataStart, len(whole.b) / 3} {
		if err := r.pack(context.Background(), &memDisk{limit: limit}, func(int) {}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("disk of %d bytes: %v", limit, err)
		}
	}
	path := filepath.Join(t.TempDir(), "a.eid")
	if err := os.WriteFile(path, whole.b, 0o640); err != nil {
		t.Fatal(err)
	}
	for _, stop := range []int{0, 1, 49, 51, 99} {
		ctx, cancel := context.WithCancel(context.Background())
		if stop == 0 {
			cancel()
		}
		_, err := Pack(ctx, path, false, func(done, _ int) {
			if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, whole.b) {
				t.Errorf("after %d steps the file differs: %v", done, err)
			}
			if done == stop {
				cancel()
			}
		})
		if b, again := os.ReadFile(path); !errors.Is(err, context.Canceled) || !bytes.Equal(b, whole.b) {
			t.Errorf("stopped at %d: %v; the file is the old one: %v, %v", stop, err, bytes.Equal(b, whole.b), again)
		}
		if names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(names) != 1 {
			t.Errorf("files left: %v", names)
		}
		cancel()
	}
	left := filepath.Join(filepath.Dir(path), ".a.eid.packing") // by a killed program
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	rep, err := Pack(context.Background(), path, false, func(done, _ int) {
		if st, err := os.Stat(left); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("the copy: %v, %v", st, err)
		}
		if _, err := Pack(context.Background(), path, false, nil); done == 1 && err == nil {
			t.Error("packed twice at once")
		}
	})
	if err != nil || !rep.Packed || rep.After >= rep.Before || rep.Frames != len(tale.frames) {
		t.Fatalf("%+v, %v", rep, err)
	}
	b, err := os.ReadFile(path)
	st, again := os.Stat(path)
	if err = errors.Join(err, again); err != nil || int64(len(b)) != rep.After || st.Mode().Perm() != 0o640 {
		t.Fatalf("%d bytes, want %d; mode %v; %v", len(b), rep.After, st.Mode(), err)
	}
	q, err := newReader(bytes.NewReader(b), rep.After)
	if err != nil || !q.header.packed || q.Info().ID != r.Info().ID {
		t.Fatal(err)
	}
	if readable, err := tale.check(q); err != nil || slices.Contains(readable, false) {
		t.Errorf("packed: %v, %v", readable, err)
	}
	for _, force := range []bool{false, true} { // it does not become smaller
		worked := false
		rep, err := Pack(context.Background(), path, force, func(int, int) { worked = true })
		if err != nil || rep.Packed || rep.Already == force || worked != force {
			t.Errorf("packed again, force %v: %+v, %v", force, rep, err)
		}
	}
	if err := os.WriteFile(path, whole.b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Pack(context.Background(), path, false, func(done, _ int) {
		if done == 1 { // for longer than a recording waits with a mark of the bytes on disk
			time.Sleep(1200 * time.Millisecond)
		}
	})
	if slow, again := os.ReadFile(path); errors.Join(err, again) != nil || len(records(t, slow)) != len(records(t, b)) {
		t.Errorf("a slow machine writes %d records, a fast one %d: %v", len(records(t, slow)), len(records(t, b)), err)
	}
	other := path + ".other"
	if err := errors.Join(os.WriteFile(path, whole.b, 0o600), os.WriteFile(other, []byte("new"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = Pack(context.Background(), path, false, func(done, _ int) {
		if done == 1 {
			if err := os.Rename(other, path); err != nil {
				t.Error(err)
			}
		}
	})
	if b, again := os.ReadFile(path); err == nil || string(b) != "new" {
		t.Errorf("a file that took the place was replaced: %v, %v", err, again)
	}
	if err := os.WriteFile(path, whole.b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Pack(context.Background(), path, false, func(done, total int) {
		if done == total { // a program without the lock began again
			if err := errors.Join(os.Remove(left), os.WriteFile(left, []byte("half"), 0o600)); err != nil {
				t.Error(err)
			}
		}
	})
	if b, again := os.ReadFile(path); err == nil || !bytes.Equal(b, whole.b) {
		t.Errorf("another program's half replaced the file: %v, %v", err, again)
	}
	torn := whole.b[:len(whole.b)-blockSize]
	if err := os.WriteFile(path, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Pack(context.Background(), path, false, nil); !errors.Is(err, errIncomplete) {
		t.Errorf("an incomplete recording: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, torn) {
		t.Errorf("an incomplete recording was changed: %v", err)
	}
}
