package ringbuf

import "testing"

// refuse lets the writer fail n times.
func refuse(t *testing.T, r *Ring[uint64], n int) {
	t.Helper()
	for range n {
		if _, ok := r.TryAcquire(); ok {
			t.Fatal("the ring is not full")
		}
	}
}

func TestLossBefore(t *testing.T) {
	r := newRing(t, 3)
	rd := r.NewReader(Lossless)
	for id := range uint64(3) {
		put(t, r, id)
	}
	refuse(t, r, 4)
	if st := r.Stats(); st.Lost != 4 || st.Trailing != 4 {
		t.Errorf("%d lost, %d trailing; want 4, 4", st.Lost, st.Trailing)
	}
	wantIDs(t, rd, 0)
	put(t, r, 3)
	refuse(t, r, 1)
	if st := r.Stats(); st.Lost != 5 || st.Trailing != 1 {
		t.Errorf("%d lost, %d trailing; want 5, 1", st.Lost, st.Trailing)
	}
	for _, want := range []uint64{0, 0, 4} {
		l := next(t, rd)
		if l.LostBefore() != want {
			t.Errorf("frame %d: %d lost before it, want %d", l.Meta(), l.LostBefore(), want)
		}
		l.Release()
	}
	r.Close(nil)
	if st := r.Stats(); st.Trailing != 1 {
		t.Errorf("%d trailing after the end, want 1", st.Trailing)
	}
}

func TestAbandonKeepsLossesForTheNextFrame(t *testing.T) {
	r := newRing(t, 3)
	rd := r.NewReader(Lossless)
	for id := range uint64(3) {
		put(t, r, id)
	}
	refuse(t, r, 2)
	wantIDs(t, rd, 0, 1, 2)
	s, _ := r.TryAcquire()
	s.Abandon()
	put(t, r, 3)
	if l := next(t, rd); l.LostBefore() != 2 {
		t.Errorf("%d lost before the frame, want 2", l.LostBefore())
	}
}

func TestBlame(t *testing.T) {
	type counts struct{ behind, leased, writing uint64 }
	for _, c := range []struct {
		name string
		fill func(t *testing.T, r *Ring[uint64]) // a ring of 6 slots
		want counts
		who  int // ID of the reader to blame, 0 for none
	}{
		{"recorder behind", func(t *testing.T, r *Ring[uint64]) {
			r.NewReader(Lossless)
			for id := range uint64(6) {
				put(t, r, id)
			}
		}, counts{behind: 1}, 1},
		{"recorder keeps leases", func(t *testing.T, r *Ring[uint64]) {
			rd := r.NewReader(Lossless)
			for id := range uint64(6) {
				put(t, r, id)
				next(t, rd)
			}
		}, counts{leased: 1}, 1},
		{"preview keeps leases", func(t *testing.T, r *Ring[uint64]) {
			recorder, preview := r.NewReader(Lossless), r.NewReader(Latest)
			for id := range uint64(4) {
				put(t, r, id)
				next(t, preview)
			}
			wantIDs(t, recorder, 0, 1, 2, 3)
			put(t, r, 4)
			put(t, r, 5)
		}, counts{leased: 1}, 2},
		{"slower of two", func(t *testing.T, r *Ring[uint64]) {
			quick, _ := r.NewReader(Lossless), r.NewReader(Lossless)
			for id := range uint64(6) {
				put(t, r, id)
			}
			wantIDs(t, quick, 0, 1)
		}, counts{behind: 1}, 2},
		{"first of two alike", func(t *testing.T, r *Ring[uint64]) {
			r.NewReader(Lossless)
			r.NewReader(Lossless)
			for id := range uint64(6) {
				put(t, r, id)
			}
		}, counts{behind: 1}, 1},
		{"closed reader with leases", func(t *testing.T, r *Ring[uint64]) {
			rd := r.NewReader(Lossless)
			for id := range uint64(6) {
				put(t, r, id)
				next(t, rd)
			}
			rd.Close()
		}, counts{leased: 1}, 1},
		{"writer", func(t *testing.T, r *Ring[uint64]) {
			for range 6 {
				r.TryAcquire()
			}
		}, counts{writing: 1}, 0},
		{"writer holds more than a reader", func(t *testing.T, r *Ring[uint64]) {
			r.NewReader(Lossless)
			put(t, r, 0)
			for range 5 {
				r.TryAcquire()
			}
		}, counts{writing: 1}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRing(t, 6)
			c.fill(t, r)
			if st := r.Stats(); st.Lost != 0 {
				t.Fatalf("%d lost before the ring was full", st.Lost)
			}
			refuse(t, r, 1)
			st := r.Stats()
			if got := (counts{st.LostBehind, st.LostLeased, st.LostWriting}); got != c.want || st.Lost != 1 {
				t.Errorf("%d lost: %+v, want %+v", st.Lost, got, c.want)
			}
			for _, rd := range st.Readers {
				want := counts{}
				if rd.ID == c.who {
					want = c.want
				}
				if got := (counts{behind: rd.LostBehind, leased: rd.LostLeased}); got != want {
					t.Errorf("reader %d is blamed for %+v, want %+v", rd.ID, got, want)
				}
			}
		})
	}
}
