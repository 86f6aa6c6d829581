package daemontest

import (
	"context"
	"errors"
	"sync"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recorder"
)

// errNoSignal is what a Fickle source says while it is gone.
var errNoSignal = errors.New("the cable is pulled")

// Fickle opens sources that can go and come back, as cables do.
type Fickle struct {
	mu    sync.Mutex
	there bool
	gone  chan struct{} // closed when it goes
	tries int
}

// Come has the source be there, or Go away.
func (f *Fickle) Come() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.there, f.gone, f.tries = true, make(chan struct{}), 0
}

// Go has the source go, also under who looks at it.
func (f *Fickle) Go() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.there, f.tries = false, 0
	close(f.gone)
}

// Tries counts how often it was opened in vain since it went.
func (f *Fickle) Tries() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tries
}

// Open opens a source, if it is there.
func (f *Fickle) Open(ctx context.Context, uri string) (capture.Source, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.there {
		f.tries++
		return nil, errNoSignal
	}
	src, err := recorder.OpenSource(ctx, uri)
	return fickleSource{src, f.gone}, err
}

type fickleSource struct {
	capture.Source
	gone <-chan struct{}
}

// Run implements capture.Source.
func (s fickleSource) Run(ctx context.Context, ring *capture.Ring, events func(timeline.Event)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-s.gone:
			stop(errNoSignal)
		case <-over:
		}
	}()
	err := s.Source.Run(ctx, ring, events)
	if errors.Is(context.Cause(ctx), errNoSignal) {
		return errNoSignal
	}
	return err
}
