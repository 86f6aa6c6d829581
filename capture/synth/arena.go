package synth

import (
	"fmt"

	"github.com/eideticker/eideticker/ringbuf"
)

// mapFrom is the size from which memory is mapped: huge pages make its first touch, and
// every later walk through it, several times cheaper.
const mapFrom = 4 << 20

// arena hands out the memory that sheets live in, all of it given back at once.
type arena struct {
	maps []*ringbuf.Memory
}

func (a *arena) alloc(size int) ([]byte, error) {
	if size < mapFrom {
		return make([]byte, size), nil
	}
	m, err := ringbuf.Map(size, ringbuf.MapOptions{})
	if err != nil {
		return nil, fmt.Errorf("get %d MiB to render ahead into: %w", size>>20, err)
	}
	a.maps = append(a.maps, m)
	return m.Bytes(), nil
}

func (a *arena) close() error {
	var first error
	for _, m := range a.maps {
		if err := m.Close(); err != nil && first == nil {
			first = err
		}
	}
	a.maps = nil
	return first
}

// scratch is the memory of the canvas that is drawn on at the moment.
type scratch struct {
	arena
	pix []byte
}

func (s *scratch) canvas(w, h int) (*canvas, error) {
	size := 4 * w * h
	if size > len(s.pix) {
		if err := s.close(); err != nil {
			return nil, err
		}
		var err error
		if s.pix, err = s.alloc(size); err != nil {
			return nil, err
		}
	}
	return &canvas{pix: s.pix[:size], w: w, h: h}, nil
}

func (s *scratch) close() error {
	s.pix = nil
	return s.arena.close()
}
