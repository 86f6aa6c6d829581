package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// exitInterrupted is what shells use for a process that Ctrl-C ended.
const exitInterrupted = 130

// interruptible returns a context that the first Ctrl-C or SIGTERM ends, so that a command can finish
// what it holds. The second ends the process at once.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	done := make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

var errInterrupted = errors.New("interrupted")

// orInterrupted says in a word that Ctrl-C is why something failed.
func orInterrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}
