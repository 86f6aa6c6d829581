package recording

import (
	"context"
	"testing"
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
	return to
}

// TestPackedFramesComeBack packs films of all formats and all phases. Each frame must return
// unchanged in any order.
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
		t.Logf("%d → %d", len(d.b), len(p.b))
	}
	for i, f := range testFormats(t) {
		t.Run(f.String(), func(t *testing.T) {
			all := film(t, uint64(i), f, 70)
			d := &memDisk{}
			record(t, d, f, all)
			check(t, d, all)
		})
	}
	for i, p := range phases() {
		t.Run(p.name, func(t *testing.T) {
			f, all := p.film(t, newStage(333, 77, 13, uint64(i)), 70)
			d := &memDisk{}
			record(t, d, f, all)
			check(t, d, all)
		})
	}
}
