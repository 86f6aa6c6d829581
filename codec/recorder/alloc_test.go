package recorder

import (
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// idleSink gives each frame back at once.
type idleSink struct{ fakeSink }

func (*idleSink) WriteFrame(_ []byte, _ frame.Meta, o recording.Owner) error {
	o.Release()
	return nil
}

func TestPumpAllocatesNothingPerFrame(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		pumpAllocates(t, recorderFor(t, &fakeSource{clocked: true}, &idleSink{}, Options{}))
	})
	t.Run("watched", func(t *testing.T) {
		r := recorderFor(t, &fakeSource{}, &tellingIdle{}, Options{})
		w := newWatch(&onlooker{frame: func(*frame.Step) {}}, r.out, r.danger)
		r.watching, r.at.watchPump = w, w.newWatchPump(r.at)
		pumpAllocates(t, r)
		r.at.watchPump.close()
	})
}

// tellingIdle is an idle sink that tells changes.
type tellingIdle struct{ idleSink }

func (s *tellingIdle) Flush() {}

func (s *tellingIdle) WriteFrameChange(pix []byte, m frame.Meta, o recording.Owner, _ *frame.Change) error {
	return s.WriteFrame(pix, m, o)
}

func pumpAllocates(t *testing.T, r *recorder) {
	t.Helper()
	ring := r.at.ring
	r.pump.from = r.at
	sequence := uint64(0)
	allocated := testing.AllocsPerRun(1000, func() {
		slot, ok := ring.TryAcquire()
		if !ok {
			t.Fatal("the ring is full")
		}
		slot.Commit(16, frame.Meta{Sequence: sequence, Sampled: timeline.At(timeline.Time(sequence) * tick)})
		sequence++
		lease, err := r.at.reader.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.pump.take(lease); err != nil {
			t.Fatal(err)
		}
	})
	if allocated != 0 {
		t.Errorf("%v allocations per frame", allocated)
	}
}
