package ringbuf

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
)

var carriers = []struct {
	name string
	make func(slots, size, readers int) carrier
}{
	{"ring", newRingCarrier},
	{"channel", newChanCarrier},
	{"mutex", newMutexCarrier},
}

// BenchmarkHandover hands frames to readers that each get all of them. With size=0 nothing is
// written or read and the time is the handover's own; otherwise the writer copies a frame
// and each reader compares it, as a source and a recorder do.
func BenchmarkHandover(b *testing.B) {
	for _, size := range []int{0, 1 << 20} {
		for _, readers := range []int{1, 2} {
			for _, impl := range carriers {
				b.Run(fmt.Sprintf("impl=%s/readers=%d/size=%d", impl.name, readers, size), func(b *testing.B) {
					benchHandover(b, impl.make(16, max(size, 1), readers), readers, size)
				})
			}
		}
	}
}

func benchHandover(b *testing.B, c carrier, readers, size int) {
	b.SetBytes(int64(size))
	b.ReportAllocs()
	frame := bytes.Repeat([]byte("pixel"), size/5+1)[:size]
	fill := func(slot []byte) { copy(slot, frame) }
	use := func(got []byte) {
		if !bytes.Equal(got[:size], frame) {
			b.Error("frame changed on its way")
		}
	}
	var wg sync.WaitGroup
	for reader := range readers {
		wg.Go(func() {
			for c.read(reader, use) {
			}
		})
	}
	for b.Loop() {
		c.write(fill)
	}
	c.end()
	wg.Wait()
}

// BenchmarkWriter is what a frame costs the capture thread beside filling it. With readers=n that
// many lossless readers take and release each frame on the same goroutine, outside of which
// nobody runs: the sum is the cost of a frame's whole way.
func BenchmarkWriter(b *testing.B) {
	for _, readers := range []int{0, 1, 2} {
		b.Run(fmt.Sprintf("op=commit/readers=%d", readers), func(b *testing.B) {
			r := newRing(b, 16)
			var all []*Reader[uint64]
			for range readers {
				all = append(all, r.NewReader(Lossless))
			}
			b.ReportAllocs()
			for b.Loop() {
				s, _ := r.TryAcquire()
				s.Commit(0, 0)
				for _, rd := range all {
					l, _ := rd.poll()
					l.Release()
				}
			}
		})
	}
	b.Run("op=loss/readers=1", func(b *testing.B) {
		r := newRing(b, 16)
		r.NewReader(Lossless)
		for range r.Slots() {
			s, _ := r.TryAcquire()
			s.Commit(0, 0)
		}
		b.ReportAllocs()
		for b.Loop() {
			r.TryAcquire()
		}
	})
}
