//go:build linux

package rigvm

import (
	"io"
	"strings"
	"sync"
)

const (
	consoleBytes = 64 << 10 // kept of what the kernel says
	tailBytes    = 3000     // of it in an error
)

// console keeps the end of what a machine says, and hands all of it on.
type console struct {
	also io.Writer // or nil

	mu    sync.Mutex
	bytes []byte
}

func (c *console) Write(b []byte) (int, error) {
	if c.also != nil {
		_, _ = c.also.Write(b) // a failed reader must not end the machine
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes = append(c.bytes, b[max(0, len(b)-consoleBytes):]...)
	if n := len(c.bytes); n > consoleBytes {
		c.bytes = append(c.bytes[:0], c.bytes[n-consoleBytes:]...)
	}
	return len(b), nil
}

// text returns the kept text, with plain line ends in place of a terminal's.
func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.ToValidUTF8(strings.ReplaceAll(string(c.bytes), "\r", ""), "?")
}

// panicLine returns what a kernel said when it gave up, or "".
func panicLine(console string) string {
	_, line, found := strings.Cut(console, "Kernel panic - not syncing: ")
	if !found {
		return ""
	}
	line, _, _ = strings.Cut(line, "\n")
	return line
}

// diedError says that a machine has ended, or was ended, without being asked to.
type diedError struct {
	Reason  string // what happened
	Panic   string // what its kernel said when it panicked, or ""
	Console string // the last that it said, for a person to read
	Cause   error  // a context's cause, or nil
}

func (e *diedError) Error() string {
	if e.Console == "" {
		return e.Reason + "; its console is empty"
	}
	return e.Reason + "; its console ends with\n    | " + strings.ReplaceAll(strings.TrimSpace(e.Console), "\n",
		"\n    | ")
}

// Unwrap returns the cause, for errors.Is.
func (e *diedError) Unwrap() error { return e.Cause }

// died describes why the machine is gone.
func (c *console) died(reason string, cause error) *diedError {
	text := c.text()
	e := &diedError{Reason: reason, Panic: panicLine(text), Console: text[max(0, len(text)-tailBytes):], Cause: cause}
	if e.Panic != "" {
		e.Reason = "the guest's kernel panicked: " + e.Panic
	}
	return e
}
