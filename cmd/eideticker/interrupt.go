package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// exitInterrupted is the exit code of a command that Ctrl-C ended, as shells have it. A recording
// that Ctrl-C ends is whole: record exits with 0.
const exitInterrupted = 130

// together is the time within which signals count as one. A parent and the terminal may both send
// Ctrl-C.
const together = 500 * time.Millisecond

// interruptible returns a context that the first Ctrl-C or SIGTERM ends. A later one ends the
// process at once.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	done := make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go obey(signals, done, cancel, func() { os.Exit(exitInterrupted) })
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// obey calls first at the first signal and again at the next separate one. It returns then, or
// when done is closed.
func obey(signals <-chan os.Signal, done <-chan struct{}, first, again func()) {
	var since time.Time
	for {
		select {
		case <-signals:
		case <-done:
			return
		}
		switch {
		case since.IsZero():
			since = time.Now()
			first()
		case time.Since(since) > together:
			again()
			return
		}
	}
}

var errInterrupted = errors.New("interrupted")

// orInterrupted replaces the error of a cancelled context.
func orInterrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}
