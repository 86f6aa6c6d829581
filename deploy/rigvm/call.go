//go:build linux

package rigvm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/eideticker/eideticker/deploy/rigvm/internal/wire"
)

const (
	writeTime  = 30 * time.Second // until the guest must have taken one frame
	cancelTime = 10 * time.Second // until a program that was killed must be gone
)

// call is a question to the agent that has not been answered.
type call struct {
	id    uint32
	take  func(wire.Kind, []byte) // of frames before the reply; called by one goroutine
	reply wire.Reply              // read after done
	done  chan struct{}           // closed when reply is there, or the machine is gone
	gone  bool                    // the machine ended first; read after done
}

// register makes room for the answer to a call.
func (vm *VM) register(id uint32) *call {
	c := &call{id: id, take: func(wire.Kind, []byte) {}, done: make(chan struct{})}
	vm.mu.Lock()
	defer vm.mu.Unlock()
	vm.calls[id] = c
	return c
}

// open registers a call under a new number.
func (vm *VM) open(take func(wire.Kind, []byte)) (*call, error) {
	if err := vm.endError(); err != nil {
		return nil, err
	}
	vm.mu.Lock()
	defer vm.mu.Unlock()
	if vm.calls == nil {
		return nil, errGone
	}
	vm.last++
	c := &call{id: vm.last, take: take, done: make(chan struct{})}
	vm.calls[c.id] = c
	return c, nil
}

var errGone = errors.New("the VM has ended")

// endCalls answers all calls when the machine is gone. New ones are refused from then on.
func (vm *VM) endCalls() {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	for _, c := range vm.calls {
		c.gone = true
		close(c.done)
	}
	vm.calls = nil
}

// do sends a call to the agent and waits for its reply. Frames before it go to take. A body, if
// any, is sent after the call. When ctx ends, the agent is notified, and gets some time to comply.
func (vm *VM) do(ctx context.Context, q wire.Call, take func(wire.Kind, []byte), body io.Reader) (wire.Reply, error) {
	if take == nil {
		take = func(wire.Kind, []byte) {}
	}
	if err := ctx.Err(); err != nil {
		return wire.Reply{}, context.Cause(ctx)
	}
	question, err := json.Marshal(q)
	if err != nil {
		return wire.Reply{}, err
	}
	if len(question) > wire.MaxPayload {
		return wire.Reply{}, fmt.Errorf("arguments and environment of %d bytes are more than %d", len(question),
			wire.MaxPayload)
	}
	c, err := vm.open(take)
	if err != nil {
		return wire.Reply{}, err
	}
	if err := vm.ask(ctx, c, question, body); err != nil {
		vm.abandon(c)
		return wire.Reply{}, err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		vm.abandon(c)
		return wire.Reply{}, context.Cause(ctx)
	}
	if c.gone {
		<-vm.done
		return wire.Reply{}, vm.err
	}
	if c.reply.Error != "" {
		return c.reply, &guestError{c.reply.Error, syscall.Errno(c.reply.Errno)}
	}
	return c.reply, nil
}

// ask sends a call and its body. An early answer ends the body: it has the error.
func (vm *VM) ask(ctx context.Context, c *call, question []byte, body io.Reader) error {
	if err := vm.send(c.id, wire.Request, question); err != nil || body == nil {
		return err
	}
	buf := make([]byte, wire.MaxPayload)
	for {
		n, err := io.ReadFull(body, buf)
		if n > 0 {
			if err := vm.send(c.id, wire.Data, buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return vm.send(c.id, wire.End, nil)
		}
		if err != nil {
			return errors.Join(err, vm.send(c.id, wire.End, nil))
		}
		select {
		case <-c.done:
			return nil
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), vm.send(c.id, wire.End, nil))
		default:
		}
	}
}

// abandon gives a call up. A program that it has started is killed; that it is gone is waited for,
// so that the next call does not find it in its way.
func (vm *VM) abandon(c *call) {
	if vm.send(c.id, wire.Cancel, nil) == nil {
		t := time.NewTimer(cancelTime)
		defer t.Stop()
		select {
		case <-c.done:
			return
		case <-t.C:
		}
	}
	vm.mu.Lock()
	defer vm.mu.Unlock()
	delete(vm.calls, c.id)
}

// send sends one frame. A guest that does not take it hangs, and is ended.
func (vm *VM) send(id uint32, kind wire.Kind, payload []byte) error {
	vm.write.Lock()
	vm.out = wire.Append(vm.out[:0], id, kind, payload)
	err := vm.conn.SetWriteDeadline(time.Now().Add(writeTime))
	if err == nil {
		_, err = vm.conn.Write(vm.out)
	}
	vm.write.Unlock()
	if err == nil {
		return nil
	}
	vm.end(vm.console.died(fmt.Sprintf("the VM was ended: it does not listen any more: %v", err), err))
	return vm.err
}

// guestError is an error of the agent. It unwraps to its error number: errors.Is(err,
// fs.ErrNotExist) works.
type guestError struct {
	text  string
	errno syscall.Errno
}

func (e *guestError) Error() string { return "in the VM: " + e.text }

func (e *guestError) Unwrap() error {
	if e.errno == 0 {
		return nil
	}
	return e.errno
}
