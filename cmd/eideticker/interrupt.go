package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// exitInterrupted is what shells use for a process that Ctrl-C ended.
const exitInterrupted = 130

// together is how close signals come that are one: a program that runs this one passes Ctrl-C on,
// and the terminal sends it to all of them.
const together = 500 * time.Millisecond

// interruptible returns a context that the first Ctrl-C or SIGTERM ends, so that a command can
// finish what it holds. The second ends the process at once, unless it came together with the
// first.
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

// obey calls first at the first signal, and again at the next that is meant as another one. It
// returns then, or when done is closed.
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

// orInterrupted says in a word that Ctrl-C is why something failed.
func orInterrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}
