package recording

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

const (
	fuzzFile  = 1 << 20 // bytes of a file that are tried
	fuzzFrame = 1 << 22 // bytes of a frame that are decoded
)

// soundRecording is the small tale's file, flushed only at its end.
func soundRecording(t testing.TB) []byte {
	d := &memDisk{}
	tale := smallTale(t)
	w := newWriter(d, testOptions())
	if err := tale.write(w, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return d.b
}

func TestFuzzTargetsHaveSeeds(t *testing.T) {
	if n := len(patchSeeds(t)); n < 10 {
		t.Errorf("%d recordings", n)
	}
	d := &memDisk{b: soundRecording(t)}
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for tl := r.Timeline(0, r.Frames()); tl.Next(); {
		moved += len(tl.delta.Moved)
	}
	if moved < 2 {
		t.Errorf("%d moved spans", moved)
	}
	if n := len(tableSeeds(t)); n < 2 {
		t.Errorf("%d tables", n)
	}
	if n := len(entrySeeds(t)); n < 2 {
		t.Errorf("%d indexes", n)
	}
}

// patchSeeds are changes to a recording: none, one at each kind of record, a cut.
func patchSeeds(t testing.TB) (seeds [][]byte) {
	seeds = [][]byte{{}, {0xff}, {0x80, 0, 0, 1}}
	_, places := fuzzBase(t, soundRecording(t))
	for i := 0; i < len(places); i += 97 {
		seeds = append(seeds, []byte{0, byte(i), byte(i >> 8), 1, byte(i + 5), byte(i >> 8), 0x80})
	}
	return seeds
}

// fuzzBase returns a recording and the offsets in it that are not padding.
func fuzzBase(t testing.TB, b []byte) ([]byte, []int) {
	var places []int
	all := records(t, b)
	for at := range b {
		if !isPadding(all, int64(at)) {
			places = append(places, at)
		}
	}
	return b, places
}

// FuzzOpen reads and repairs a recording that was changed: the first byte says where it is cut,
// each three more which byte becomes what. Files are so large and so empty that whole ones would
// teach the fuzzer little. With resealed set, checksums of headers and heads are made right again,
// or it would never get behind them.
func FuzzOpen(f *testing.F) {
	for _, seed := range patchSeeds(f) {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	base, places := fuzzBase(f, soundRecording(f))
	f.Fuzz(func(t *testing.T, patch []byte, resealed bool) { openPatched(t, base, places, patch, resealed) })
}

// FuzzOpenPacked is FuzzOpen with blocks of residuals.
func FuzzOpenPacked(f *testing.F) {
	for _, seed := range patchSeeds(f) {
		f.Add(seed, true, false)
		f.Add(seed, true, true)
	}
	_, p := packedTale(f)
	_, d := residualTale(f)
	packed, packedPlaces := fuzzBase(f, p.b)
	live, livePlaces := fuzzBase(f, d.b)
	f.Fuzz(func(t *testing.T, patch []byte, resealed, isLive bool) {
		if isLive {
			openPatched(t, live, livePlaces, patch, resealed)
		} else {
			openPatched(t, packed, packedPlaces, patch, resealed)
		}
	})
}

func openPatched(t *testing.T, base []byte, places []int, patch []byte, resealed bool) {
	b := bytes.Clone(base)
	if len(patch) > 0 {
		b = b[:len(b)-len(b)*int(patch[0])/256]
		for p := patch[1:]; len(p) >= 3; p = p[3:] {
			if at := places[int(binary.LittleEndian.Uint16(p))%len(places)]; at < len(b) {
				b[at] ^= p[2]
			}
		}
	}
	if resealed {
		reseal(b)
	}
	d := &memDisk{b: b}
	r, err := newReader(d, int64(len(b)))
	if err != nil {
		return
	}
	readAll(t, r)
	if _, err := repair(d, int64(len(b)), nil); err != nil {
		return // a file may be beyond repair, and says so
	}
	if r, err = newReader(d, int64(len(d.b))); err != nil || !r.complete {
		t.Fatalf("after repair: complete %v, %v", r != nil && r.complete, err)
	}
	readAll(t, r)
}

// readAll uses everything that a reader has. Whatever the file says, it ends, and does not panic.
func readAll(t *testing.T, r *Reader) {
	r.Info()
	r.Damage()
	if len(r.frames) > int(r.size)/recordHeaderSize+1 ||
		len(r.segments)+len(r.events)+len(r.gaps)+len(r.checkpoints) > int(r.size)/recordHeaderSize {
		t.Fatalf("a file of %d bytes claims %d frames", r.size, len(r.frames))
	}
	for _, s := range r.segments {
		if s.Layout.Size > fuzzFrame {
			return
		}
	}
	for n := range min(r.Frames(), 50) {
		_, _ = r.Image(n)
		_, _ = r.Meta(n)
		_, _ = r.SegmentOf(n)
		_ = r.Find(r.frames[n].meta.Sampled.Earliest)
	}
	for n := range min(len(r.Events()), 50) {
		_, _ = r.Event(n)
	}
	p, err := r.Play(0, r.Frames())
	if err != nil {
		t.Fatal(err)
	}
	for p.Next() {
		p.Image()
		p.previous()
	}
	p.Close()
	for tl := r.Timeline(0, r.Frames()); tl.Next(); {
		tl.Change()
	}
	if _, err := r.Verify(context.Background(), nil); err != nil {
		t.Fatalf("verify cannot be carried out: %v", err)
	}
}

// reseal makes the checksums right of everything that looks like a record.
func reseal(b []byte) {
	le := binary.LittleEndian
	for at := 0; at < dataStart && at+headerSize <= len(b); at += headerSize {
		copy(b[at:], fileMagic[:])
		le.PutUint32(b[at+headerSize-4:], checksum(b[at:at+headerSize-4]))
	}
	for at := dataStart; at+recordHeaderSize <= len(b); at += recordAlign {
		h := b[at : at+recordHeaderSize]
		if le.Uint32(h) != recordMagic {
			continue
		}
		le.PutUint64(h[24:], uint64(at))
		copy(h[32:36], b[16:20])
		if n := int(le.Uint32(h[8:])); n <= len(b)-at-recordHeaderSize {
			le.PutUint32(h[12:], checksum(b[at+recordHeaderSize:at+recordHeaderSize+n]))
		}
		le.PutUint32(h[36:], checksum(h[:36]))
	}
}

var fuzzLayout = frame.Format{Width: 9, Height: 12, Stride: 9, Pixel: frame.GREY}

// tableSeeds are the tables of checkpoints that a random film would get.
func tableSeeds(t testing.TB) (seeds [][]byte) {
	l, err := frame.NewLayout(fuzzLayout)
	if err != nil {
		t.Fatal(err)
	}
	e := rowdelta.NewEncoder(l)
	var table blockTable
	var d rowdelta.Delta
	var prev []byte
	number := int64(0)
	for _, pix := range film(t, 4, fuzzLayout, 20) {
		e.Encode(prev, pix, &d, number)
		for _, b := range d.Blocks(nil) {
			table.add(number, blockInfo{offset: dataStart + 100*number, raw: uint32(b.Raw), stored: uint32(b.Raw)})
			number++
		}
		seeds = append(seeds, table.appendTable(nil, e.Places(), len(l.Rows)))
		prev = pix
	}
	return seeds
}

// TestTableComesBack writes and parses the tables of a film.
func TestTableComesBack(t *testing.T) {
	for _, seed := range tableSeeds(t) {
		checkTable(t, seed, true)
	}
}

func FuzzTable(f *testing.F) {
	for _, seed := range tableSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkTable(t, b, false) })
}

// checkTable parses a table. Every piece must be inside its row, its block and the file. Writing
// the table again must give an equal one.
func checkTable(t *testing.T, b []byte, must bool) {
	const end = 1 << 20
	l, err := frame.NewLayout(fuzzLayout)
	if err != nil {
		t.Fatal(err)
	}
	rowBytes := func(y int) int { return l.Rows[y].Bytes }
	places := rowdelta.NewPlaces(l)
	blocks, err := parseTable(b, places, rowBytes, len(l.Rows), end, nil)
	if err != nil {
		if must {
			t.Fatal(err)
		}
		return
	}
	var again blockTable
	for i, b := range blocks {
		if b.offset < dataStart || b.offset+int64(b.stored) > end {
			t.Fatalf("block %+v", b)
		}
		again.add(int64(i), b)
	}
	for y := range l.Rows {
		p := places.Row(y)
		for i, q := range p.Pieces[:p.N] {
			to := int32(l.Rows[y].Bytes)
			if i+1 < int(p.N) {
				to = p.Pieces[i+1].Start
			}
			if to <= q.Start || q.Off < 0 || q.Off+to-q.Start > int32(blocks[q.Block].raw) {
				t.Fatalf("row %d: piece %+v", y, q)
			}
		}
	}
	places2 := rowdelta.NewPlaces(l)
	wire := again.appendTable(nil, places, len(l.Rows))
	if _, err := parseTable(wire, places2, rowBytes, len(l.Rows), end, nil); err != nil {
		t.Fatalf("written again: %v", err)
	}
	if !bytes.Equal(wire, again.appendTable(nil, places2, len(l.Rows))) || must && !bytes.Equal(wire, b) {
		t.Fatal("parse and append do not settle")
	}
}

// entrySeeds are the entries of real indexes.
func entrySeeds(t testing.TB) (seeds [][]byte) {
	d := &memDisk{b: soundRecording(t)}
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.indexes {
		heads, err := r.heads(int32(i))
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, heads)
	}
	return seeds
}

// FuzzIndex takes in the entries of an index whose checksums are right, and then reads.
func FuzzIndex(f *testing.F) {
	for _, seed := range entrySeeds(f) {
		f.Add(seed)
	}
	base := soundRecording(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > fuzzFile {
			return
		}
		r, err := newReader(bytes.NewReader(base[:dataStart]), dataStart)
		if err != nil {
			t.Fatal(err)
		}
		r.f, r.size = bytes.NewReader(base), int64(len(base))
		r.intervals = []interval{{heads: b}}
		_ = eachEntry(b, dataStart, r.size, func(h recordHeader, head []byte, at uint32) {
			if err := r.entry(h, head, 0, at); err != nil && !isCorrupt(err) {
				t.Fatalf("error names no offset: %v", err)
			}
		})
		r.finishSegments()
		readAll(t, r)
	})
}

// TestIndexSurvivesDamagedEvent destroys the body of one event: all else must be there, once.
func TestIndexSurvivesDamagedEvent(t *testing.T) {
	tale := smallTale(t)
	whole := &memDisk{}
	tale.record(t, whole, 300*time.Millisecond, time.Hour)
	for _, rec := range records(t, whole.b) {
		if rec.typ != typeEvent {
			continue
		}
		d := &memDisk{b: bytes.Clone(whole.b)}
		d.b[rec.to-8] ^= 1
		r, err := newReader(d, int64(len(d.b)))
		if err != nil {
			t.Fatal(err)
		}
		var damaged []error
		for n := range r.Events() {
			if _, err := r.Event(n); err != nil {
				damaged = append(damaged, err)
			}
		}
		var c *CorruptError
		if len(r.Events()) != len(tale.events) || len(damaged) != 1 || !errors.As(damaged[0], &c) ||
			c.Offset < rec.from || c.Offset >= rec.to {
			t.Errorf("%d events, damaged %v", len(r.Events()), damaged)
		}
		if v, err := r.Verify(t.Context(), nil); err != nil || len(v.Problems) == 0 {
			t.Errorf("verify: %+v, %v", v, err)
		}
		if err := allReadable(tale, r, len(tale.frames)); err != nil {
			t.Error(err)
		}
	}
}

// TestLostSegmentIsNotReadInAnotherFormat destroys the record of a segment that follows one of
// equal size.
func TestLostSegmentIsNotReadInAnotherFormat(t *testing.T) {
	tale := newTale(t, 3, 50*time.Millisecond,
		talePart{format(t, frame.BGR4, 8, 8, 0), 4}, talePart{format(t, frame.RGB4, 8, 8, 0), 4},
		talePart{format(t, frame.BGR4, 8, 8, 0), 4})
	d := &memDisk{}
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(d, testOptions())
		if err := tale.write(w, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	})
	segments := 0
	var first int64
	for _, rec := range records(t, d.b) {
		switch {
		case rec.typ == typeSegment:
			if segments++; segments == 2 {
				clear(d.b[rec.from:rec.to])
			}
		case rec.typ == typeIndex && first == 0:
			first = rec.from
		}
	}
	d.b = d.b[:first] // as after a power cut: no index yet
	r, err := newReader(d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	readable, err := tale.check(r)
	if err != nil {
		t.Fatal(err)
	}
	for n, ok := range readable {
		if want := n < 4 || n >= 8; ok != want {
			t.Errorf("frame %d: readable %v, want %v", n, ok, want)
		}
	}
	if err := checkRepairKeeps(tale, d, readable); err != nil {
		t.Error(err)
	}
}
