package adb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/eideticker/eideticker/controller/input"
)

// echo is a running cat on the device that returns its input. An answer shows that the way there
// was open until then.
type echo struct {
	shell    *shell
	cancel   context.CancelFunc
	patience time.Duration
	told     uint64
	answered chan uint64   // holds the last number that came back
	ended    chan struct{} // closed when it has ended
	why      error         // read after ended
}

// patience is how long a device may take before it counts as gone.
const patience = 2 * time.Second

func openEcho(ctx context.Context, d *Device) (*echo, error) {
	living, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it lives longer than the call that opens it
	s, err := d.shell(living, "cat")
	if err != nil {
		cancel()
		return nil, err
	}
	e := &echo{shell: s, cancel: cancel, patience: patience, answered: make(chan uint64, 1), ended: make(chan struct{})}
	go e.listen()
	return e, nil
}

// listen takes the answers. One that nobody waits for any more gives way to the next.
func (e *echo) listen() {
	defer close(e.ended)
	var line []byte
	for {
		kind, data, err := e.shell.read()
		switch {
		case err != nil:
			e.why = err
			return
		case kind == packetExit:
			e.why = errors.New("adb: the device's shell has no cat, or has ended it")
			return
		case kind != packetStdout:
			continue
		}
		for line = append(line, data...); ; {
			said, rest, whole := bytes.Cut(line, []byte("\n"))
			if !whole {
				break
			}
			n, err := strconv.ParseUint(string(said), 10, 64)
			if err != nil {
				e.why = fmt.Errorf("adb: the device says %.40q where it was told a number", said)
				return
			}
			line = rest
			select {
			case <-e.answered:
			default:
			}
			e.answered <- n // has room: nobody else sends
		}
		const longest = 20 // digits
		if len(line) > longest {
			e.why = fmt.Errorf("adb: the device says %.40q where it was told a number", line)
			return
		}
	}
}

// ask sends an echo, and returns when it is back.
func (e *echo) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, e.patience, fmt.Errorf("%w: no echo within %v", input.ErrGone,
		e.patience))
	defer cancel()
	e.told++
	if err := e.shell.write(ctx, fmt.Appendf(nil, "%d\n", e.told)); err != nil {
		return err
	}
	for {
		select {
		case n := <-e.answered:
			if n == e.told {
				return nil
			}
		case <-e.ended:
			return e.why
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// longest measures some ways to the device and back, and returns the longest.
func (e *echo) longest(ctx context.Context, times int) (longest time.Duration, err error) {
	for range times {
		began := time.Now()
		if err := e.ask(ctx); err != nil {
			return 0, err
		}
		longest = max(longest, time.Since(began))
	}
	return longest, nil
}

func (e *echo) close() {
	e.cancel()
	e.shell.close()
	<-e.ended
}
