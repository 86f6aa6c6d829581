package x11

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// median sorts.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestTimes: a client reads each event after the interval's beginning. It mostly reads it at most a
// server's answer time after the end, since the server sends both at once. Most intervals are at
// most as long as a client needs for the same action and its answer. The delays of a busy machine
// are in all of them.
func TestTimes(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	other, err := connect(display)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := xtest.Init(other.Conn); err != nil {
		t.Fatal(err)
	}
	const n = 200
	var after, trips, same, widths []time.Duration
	clock := timeline.Monotonic()
	for i := range n {
		began := clock.Now()
		if err := other.sync(); err != nil {
			t.Fatal(err)
		}
		trips = append(trips, clock.Now().Sub(began))
		// as before actions that are due
		if err := timeline.SleepUntil(t.Context(), clock.Now().Add(time.Duration(i%8)*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		began = clock.Now()
		for _, kind := range []byte{xproto.KeyPress, xproto.KeyRelease} {
			if err := xtest.FakeInputChecked(other.Conn, kind, 38, 0, other.root, 0, 0, 0).Check(); err != nil {
				t.Fatal(err)
			}
		}
		same = append(same, clock.Now().Sub(began))
		c.all()
		due := clock.Now().Add(time.Duration(i%8) * time.Millisecond)
		key := input.Key(string(rune('a' + i%26)))
		sent, err := d.Do(t.Context(), due, input.KeyDown{Key: key}, input.KeyUp{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		all := c.all()
		if typed(all) != string(key) {
			t.Fatalf("typed %q, want %q", typed(all), key)
		}
		if sent.Earliest < due || !sent.Valid() {
			t.Errorf("sent at %v, due at %d", sent, due)
		}
		for _, e := range all {
			if e.at < sent.Earliest {
				t.Errorf("read %v before it was sent", sent.Earliest.Sub(e.at))
			}
		}
		after = append(after, all[0].at.Sub(sent.Latest))
		widths = append(widths, sent.Width())
	}
	late, trip, width, plainly := median(after), median(trips), median(widths), median(same)
	t.Logf("read after the interval's end: p50 %v, p95 %v; an answer takes p50 %v; intervals: p50 %v, p95 %v; "+
		"the same plainly: p50 %v",
		late, after[n*95/100], trip, width, widths[n*95/100], plainly)
	if late > 2*trip {
		t.Errorf("half of the events are read more than %v after their interval, and an answer takes %v", late, trip)
	}
	if width > 2*plainly {
		t.Errorf("half of the intervals are wider than %v, and doing the same and waiting takes %v", width, plainly)
	}
}

// TestTogether: actions that are done together come in one interval, in their order, with nothing
// of others in between.
func TestTogether(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	long := make([]byte, 4000)
	for i := range long {
		long[i] = ascii[i%len(ascii)]
	}
	sent, err := d.Do(t.Context(), 0, input.Move{X: 9, Y: 9}, input.Text{Text: string(long)}, input.Move{X: 8, Y: 8})
	if err != nil {
		t.Fatal(err)
	}
	all := c.all()
	if got := typed(all); got != string(long) {
		t.Errorf("typed %d bytes that are not those of the text", len(got))
	}
	if first, last := all[0], all[len(all)-1]; first.kind != "motion" || last.kind != "motion" || first.x != 9 ||
		last.x != 8 || first.at < sent.Earliest {
		t.Errorf("from %v to %v, sent in %v", first, last, sent)
	}
}

// BenchmarkText measures how fast text is typed and looked up, in bytes of text.
func BenchmarkText(b *testing.B) {
	for _, text := range []string{ascii, sample} {
		b.Run(fmt.Sprintf("bytes=%d", len(text)), func(b *testing.B) {
			display := startDisplay(b).Name()
			d, c := openDriver(b, display), startClient(b, display, true, false)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				do(b, d, input.Text{Text: text})
				if got := typed(c.all()); got != text {
					b.Fatalf("typed %q", got)
				}
			}
		})
	}
}
