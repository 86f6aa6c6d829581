package ringbuf_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/eideticker/eideticker/ringbuf"
)

type meta struct{ Sequence int }

// A source that runs on the clock, and a recorder that falls behind.
func Example() {
	const frameSize = 64
	memory, err := ringbuf.Map(ringbuf.BytesFor(3, frameSize), ringbuf.MapOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()
	ring, err := ringbuf.New[meta](memory.Bytes(), frameSize)
	if err != nil {
		log.Fatal(err)
	}
	recorder := ring.NewReader(ringbuf.Lossless)
	defer recorder.Close()

	capture := func(from, to int) {
		for sequence := from; sequence < to; sequence++ {
			slot, ok := ring.TryAcquire()
			if !ok {
				continue // counted
			}
			n := copy(slot.Bytes(), fmt.Sprintf("pixels of frame %d", sequence))
			slot.Commit(n, meta{sequence})
		}
	}
	record := func(frames int) {
		for range frames {
			lease, err := recorder.Next(context.Background())
			if errors.Is(err, io.EOF) {
				fmt.Println("end")
				return
			}
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("%s, %d lost before it\n", lease.Bytes(), lease.LostBefore())
			lease.Release()
		}
	}

	capture(0, 5) // three fit
	record(1)
	capture(5, 7) // one fits
	ring.Close(nil)
	record(4)
	fmt.Println(ring.Stats().Trailing, "lost after the last")
	// Output:
	// pixels of frame 0, 0 lost before it
	// pixels of frame 1, 0 lost before it
	// pixels of frame 2, 0 lost before it
	// pixels of frame 5, 2 lost before it
	// end
	// 1 lost after the last
}
