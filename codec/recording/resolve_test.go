package recording

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// flaky is a file of which reads fail at random while fails is set.
type flaky struct {
	io.ReaderAt
	mu    sync.Mutex
	rng   *rand.Rand
	fails bool
}

var errFlaky = errors.New("input/output error")

func (f *flaky) ReadAt(b []byte, at int64) (int, error) {
	f.mu.Lock()
	fails := f.fails && f.rng.IntN(4) == 0
	f.mu.Unlock()
	if fails {
		return 0, errFlaky
	}
	return f.ReaderAt.ReadAt(b, at)
}

// TestImagesAfterReadErrors reads frames in any order while the disk fails now and then. An image
// is whole, or the error is the disk's.
func TestImagesAfterReadErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	f := format(t, frame.BGR4, 64, 48, 0)
	all := clip(t, rng, f, 400)
	var d memDisk
	record(t, &d, f, all)
	disk := &flaky{ReaderAt: bytes.NewReader(d.b), rng: rand.New(rand.NewPCG(4, 8))}
	r, err := newReader(disk, int64(len(d.b)))
	if err != nil {
		t.Fatal(err)
	}
	disk.fails = true
	read, at := 0, 0
	for range 3000 {
		if at += rng.IntN(9) - 1; at < 0 || at >= len(all) {
			at = rng.IntN(len(all))
		}
		m, err := r.Image(at)
		if err != nil {
			if !errors.Is(err, errFlaky) {
				t.Fatalf("frame %d: %v", at, err)
			}
			continue
		}
		read++
		checkRows(t, m, all[at])
	}
	if read < 100 {
		t.Fatalf("only %d images were read", read)
	}
}
