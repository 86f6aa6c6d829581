package link

import (
	"errors"
	"fmt"
)

// KernelError says that this machine's kernel lacks what a line of the kernel's own is made of.
type KernelError struct{ Part, Module string }

func (e *KernelError) Error() string {
	return fmt.Sprintf("this kernel has no %s (module %s), which a packet link does without", e.Part, e.Module)
}

// Unwrap makes it one of those errors that tell that this system cannot do it.
func (*KernelError) Unwrap() error { return errors.ErrUnsupported }

// CheckNetem says what the kernel's netem does not do as the model does; nil: nothing of what is asked. What it does is not the same packet by packet, but the same on average: its
// chance is its own.
func CheckNetem(c Conditions) error {
	if err := c.Check(); err != nil {
		return err
	}
	if err := c.Down.checkNetem(); err != nil {
		return fmt.Errorf("down: %w", err)
	}
	if err := c.Up.checkNetem(); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	return nil
}

func (d *Direction) checkNetem() error {
	switch {
	case len(d.Trace) > 0:
		return errors.New("netem has one rate and no trace of them: set the rates one after the other, or take a packet link")
	case d.Queue != 0 && d.Rate != 0:
		return fmt.Errorf("netem counts its queue in packets, and those on their way with them: a queue of %d bytes takes a packet link", d.Queue)
	case d.Jitter > 0 && d.Rate == 0:
		return errors.New("where no rate keeps them in order, netem lets packets of different delay overtake each other: jitter takes a rate, or a packet link")
	case d.Reorder > 0 && (d.Delay > 0 || d.Rate > 0):
		return errors.New("netem reorders by sending packets at once, past the delay and the rate, and holds none back: reordering on a line that has either takes a packet link")
	}
	return nil
}
