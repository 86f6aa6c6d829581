package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/analyze/compare"
)

// TestSignals wants the first to end the work, those that come with it to count as that one, and a
// later one to end the program.
func TestSignals(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after []time.Duration // of each signal since the one before
		first bool
		again bool
	}{
		{"none", nil, false, false},
		{"one", []time.Duration{time.Second}, true, false},
		{"one that a wrapper passes on and the terminal sends too",
			[]time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond}, true, false},
		{"two", []time.Duration{0, time.Second}, true, true},
		{"two that came together, and one", []time.Duration{0, 0, time.Second}, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals, done := make(chan os.Signal, 2), make(chan struct{})
				first, again := false, false
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					obey(signals, done, func() { first = true }, func() { again = true })
				}()
				for _, d := range tc.after {
					time.Sleep(d)
					signals <- os.Interrupt
					synctest.Wait()
				}
				close(done)
				<-ended
				if first != tc.first || again != tc.again {
					t.Errorf("ended the work: %v, the program: %v", first, again)
				}
			})
		})
	}
}

// TestInterruptedExitCode: a command that Ctrl-C ended has the exit code that shells give it. A
// verdict of its results so far changes nothing.
func TestInterruptedExitCode(t *testing.T) {
	for _, err := range []error{orInterrupted(fmt.Errorf("play: %w", context.Canceled)),
		errors.Join(compare.Regressed.Err("regressed"), fmt.Errorf("run: %w", errInterrupted))} {
		if code := exitCode(io.Discard, err); code != 130 {
			t.Errorf("%v: exit code %d", err, code)
		}
	}
}
