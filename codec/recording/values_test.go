package recording

import (
	"bytes"
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// blanks is a JSON value of n bytes that compresses to nearly nothing.
func blanks(n int) json.RawMessage {
	return append(bytes.Repeat([]byte(" "), n-1), '1')
}

// TestOpenReadsNoEventData opens a small file with large events.
//
// Bug: a pushed file of 72 KB with 2,000 events of 1 MiB took 4 GB of memory to open.
func TestOpenReadsNoEventData(t *testing.T) {
	const events = 200
	var d memDisk
	w := newWriter(&d, testOptions())
	for i := range events {
		if err := w.Event(timeline.Event{At: timeline.Time(i), Source: "page", Kind: "large",
			Data: blanks(timeline.MaxEventData)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := newReader(&d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	const all = events * timeline.MaxEventData
	if took := after.TotalAlloc - before.TotalAlloc; took > all/20 {
		t.Errorf("open allocated %d bytes for events of %d", took, all)
	}
	if got := r.ValueBytes(); got < all || got > all+events*100 {
		t.Errorf("%d bytes of values, want a little over %d", got, all)
	}
	if e, err := r.Event(events - 1); err != nil || len(e.Data) != timeline.MaxEventData ||
		r.Events()[events-1].Bytes != len(e.Data) {
		t.Errorf("last event has %d bytes: %v", len(e.Data), err)
	}
}

// TestMetadataIsBounded writes more metadata than a reader keeps, and one name over and over.
func TestMetadataIsBounded(t *testing.T) {
	var d memDisk
	w := newWriter(&d, testOptions())
	// the values of b, c and d fit beside that of a
	values := []string{"a", "a", "a", "a", "a", "a", "b", "c", "d", "e"}
	for _, name := range values {
		if err := w.Metadata(name, blanks(maxMetadata)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Metadata("small", json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := newReader(&d, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	var names string
	for _, m := range r.Metadata() {
		names += m.Name
	}
	if damage := r.Damage(); names != "abcd" || len(damage) != 2 {
		t.Errorf("metadata %q, damage %v", names, damage)
	}
}

// TestManyEventsOfOthers keeps 20,000 events within the limit of untrusted files.
func TestManyEventsOfOthers(t *testing.T) {
	const events = 20_000
	var d memDisk
	o := testOptions()
	o.SyncEvery = time.Hour
	w := newWriter(&d, o)
	for i := range events {
		if err := w.Event(timeline.Event{At: timeline.Time(i), Source: "page", Kind: "move",
			Data: blanks(3000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := newReader(&d, int64(len(d.b)))
	if err != nil || len(r.Events()) != events || r.ValueBytes() > MaxUntrustedValues {
		t.Errorf("%d events, %d bytes: %v", len(r.Events()), r.ValueBytes(), err)
	}
}

// TestHugeGap opens a gap that no source can have.
//
// Bug: a gap of 2^64−1 frames overflowed the account.
func TestHugeGap(t *testing.T) {
	for _, g := range []frame.Gap{{First: 1, Count: 1<<64 - 1}, {First: 1<<64 - 1, Count: 2},
		{First: 5, Count: 1 << 40}} {
		head := gapHead{0, g}
		var read gapHead
		if err := read.parse(head.append(nil)); (err == nil) != (g.Count == 1<<40) || err == nil && read.gap != g {
			t.Errorf("%+v is read as %+v, %v", g, read.gap, err)
		}
		f := format(t, frame.GREY, 4, 2, 0)
		w := newWriter(&memDisk{}, testOptions())
		if err := w.Segment(f, 1, 60); err != nil {
			t.Fatal(err)
		}
		g.At = metaOf(0).Sampled
		if err := w.Gap(g); (err == nil) != (g.Count == 1<<40) {
			t.Errorf("%+v is written: %v", g, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
