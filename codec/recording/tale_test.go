package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// tale is a recording with something of everything, and what must come back of it.
type tale struct {
	name   string
	frames []taleFrame
	gaps   []Gap
	events []timeline.Event
	values []Metadata
	parts  []talePart
}

type taleFrame struct {
	format frame.Format
	pix    []byte
	meta   frame.Meta
}

type talePart struct {
	format frame.Format
	frames int
}

// newTale makes up frames of each part's format, one each period.
func newTale(t testing.TB, seed uint64, period time.Duration, parts ...talePart) *tale {
	t.Helper()
	tale := &tale{name: fmt.Sprintf("seed %d", seed), parts: parts}
	for k, part := range parts {
		for _, pix := range film(t, seed+uint64(k), part.format, part.frames) {
			i := len(tale.frames)
			at := timeline.Time(time.Hour + time.Duration(i)*period)
			tale.frames = append(tale.frames, taleFrame{part.format, pix, frame.Meta{
				Sequence: uint64(10 + i), Sampled: timeline.Interval{Earliest: at, Latest: at + 500},
			}})
		}
	}
	return tale
}

func format(t testing.TB, p frame.PixelFormat, width, height, padding int) frame.Format {
	t.Helper()
	f, err := frame.NewFormat(p, width, height)
	if err != nil {
		t.Fatal(err)
	}
	f.Stride += padding
	return f
}

// smallTale is short enough to be tried at each of its bytes.
func smallTale(t testing.TB) *tale {
	return newTale(t, 5, 300*time.Millisecond,
		talePart{format(t, frame.GREY, 160, 4, 0), 9}, talePart{format(t, frame.BGR4, 5, 7, 3), 6})
}

// write plays the tale to a writer. between is called before each frame.
func (tale *tale) write(w *Writer, between func(n int)) error {
	value := Metadata{"truth", json.RawMessage(`{"scene":"tale"}`)}
	if err := w.Metadata(value.Name, value.Value); err != nil {
		return err
	}
	tale.values, tale.gaps, tale.events = []Metadata{value}, nil, nil
	n := 0
	for k, part := range tale.parts {
		if k > 0 {
			g := frame.Gap{First: uint64(n), Count: 2, Cause: frame.FormatChange,
				At: timeline.Interval{Earliest: 1, Latest: 9}}
			if err := w.Gap(g); err != nil {
				return err
			}
			tale.gaps = append(tale.gaps, Gap{Before: n, Gap: g})
			tale.frames[n].meta.Flags = frame.FlagGapBefore
		}
		if err := w.Segment(part.format, 1, 60); err != nil {
			return err
		}
		for range part.frames {
			if between != nil {
				between(n)
			}
			if n%5 == 2 {
				e := timeline.Event{At: timeline.Time(n), Source: "tale", Kind: "tap",
					Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
				if err := w.Event(e); err != nil {
					return err
				}
				tale.events = append(tale.events, e)
			}
			f := &tale.frames[n]
			m := f.meta
			m.Flags = 0
			if err := w.WriteFrame(f.pix, m, nil); err != nil {
				return err
			}
			n++
		}
	}
	return nil
}

// record writes the whole tale in simulated time, flushing every so often.
func (tale *tale) record(t *testing.T, d storage, every, sync time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := testOptions()
		o.SyncEvery = sync
		w := newWriter(d, o)
		err := tale.write(w, func(int) {
			time.Sleep(every)
			synctest.Wait()
		})
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// check reads everything that a reader offers. What it offers must be right; what it refuses must
// be refused for damage. It returns which frames could be read.
func (tale *tale) check(r *Reader) (readable []bool, err error) {
	readable = make([]bool, len(tale.frames))
	if r.Frames() > len(tale.frames) {
		return nil, fmt.Errorf("%d frames of %d", r.Frames(), len(tale.frames))
	}
	for n := range r.Frames() {
		want := &tale.frames[n]
		m, err := r.Image(n)
		if err != nil {
			if !isCorrupt(err) {
				return nil, fmt.Errorf("frame %d is refused without naming an offset: %w", n, err)
			}
			continue
		}
		if err := want.is(m); err != nil {
			return nil, fmt.Errorf("frame %d: %w", n, err)
		}
		if meta, err := r.Meta(n); err != nil || meta != want.meta {
			return nil, fmt.Errorf("frame %d: meta %+v, want %+v (%v)", n, meta, want.meta, err)
		}
		readable[n] = true
	}
	if err := tale.play(r); err != nil {
		return nil, err
	}
	return readable, tale.checkRest(r)
}

func (f *taleFrame) is(m frame.Image) error {
	if m.Layout.Format != f.format {
		return fmt.Errorf("has format %v, want %v", m.Layout.Format, f.format)
	}
	got := make([]byte, m.Layout.Size)
	m.CopyTo(got)
	if !bytes.Equal(got, f.pix) {
		return fmt.Errorf("has wrong pixels")
	}
	return nil
}

// play goes through the frames in order, as far as that goes.
func (tale *tale) play(r *Reader) error {
	p, err := r.Play(0, r.Frames())
	if err != nil {
		return err
	}
	defer p.Close()
	tl := r.Timeline(0, r.Frames())
	for p.Next() {
		if err := tale.frames[p.Number()].is(p.Image()); err != nil {
			return fmt.Errorf("played frame %d: %w", p.Number(), err)
		}
		if !tl.Next() || !reflect.DeepEqual(*tl.Change(), *p.lastChange()) {
			return fmt.Errorf("frame %d: timeline differs from player: %v", p.Number(), tl.Err())
		}
	}
	if err := p.Err(); err != nil && !isCorrupt(err) {
		return fmt.Errorf("player stops without naming an offset: %w", err)
	}
	return nil
}

// checkRest compares gaps, events and metadata with the written ones. Some may be lost, none
// invented.
func (tale *tale) checkRest(r *Reader) error {
	k := 0
	for _, g := range r.Gaps() {
		for k < len(tale.gaps) && tale.gaps[k] != g {
			k++
		}
		if k == len(tale.gaps) {
			return fmt.Errorf("gap %+v was never written, or comes twice", g)
		}
		k++
	}
	k = 0
	for n := range r.Events() {
		e, err := r.Event(n)
		if isCorrupt(err) {
			continue
		}
		if err != nil {
			return err
		}
		for k < len(tale.events) && !reflect.DeepEqual(tale.events[k], e) {
			k++
		}
		if k == len(tale.events) {
			return fmt.Errorf("event %+v was never written, or comes twice", e)
		}
		k++
	}
	if got := r.Metadata(); len(got) > 0 && !reflect.DeepEqual(got, tale.values) {
		return fmt.Errorf("metadata %+v", got)
	}
	return nil
}

// recordAt is where one record lies.
type recordAt struct {
	typ      recordType
	from, to int64
}

// records lists the records of a sound recording.
func records(t testing.TB, b []byte) (all []recordAt) {
	t.Helper()
	h, err := parseFileHeader(b)
	if err != nil {
		t.Fatal(err)
	}
	s := scanner{f: bytes.NewReader(b), size: int64(len(b)), tag: h.tag(), at: dataStart}
	for {
		h, skipped, err := s.next()
		if err == errEnd && skipped == nil {
			return all
		}
		if err != nil || skipped != nil {
			t.Fatal(err, skipped)
		}
		all = append(all, recordAt{h.typ, h.offset, h.offset + h.size()})
	}
}

// framesBefore counts the frames whose records end at or before an offset.
func framesBefore(all []recordAt, offset int64) (n int) {
	for _, r := range all {
		if r.typ == typeFrame && r.to <= offset {
			n++
		}
	}
	return n
}

// inParallel calls do for 0 to n, shared out evenly over a few subtests that run at once.
func inParallel(t *testing.T, n int, do func(i int) error) {
	const shares = 4
	for k := range shares {
		t.Run(fmt.Sprintf("share=%d", k), func(t *testing.T) {
			t.Parallel()
			for i := k; i < n; i += shares {
				if err := do(i); err != nil {
					t.Fatalf("at %d: %v", i, err)
				}
			}
		})
	}
}

// picked reports whether case i is tried. With EIDETICKER_SOAK all are, else one of 10, and in a
// short run one of 40. The choice is random from a fixed seed.
func picked(i int) bool {
	of := 10
	switch {
	case os.Getenv("EIDETICKER_SOAK") != "":
		return true
	case testing.Short():
		of = 40
	}
	return rand.New(rand.NewPCG(uint64(i), 77)).IntN(of) == 0
}
