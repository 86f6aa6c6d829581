package media

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Server carries out a job. It returns after it has written the last message, or with the error to
// report.
type Server func(c *Conn, detail json.RawMessage) error

// Serve carries out the job that standard input names, and returns the exit code.
func Serve(jobs map[string]Server) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	c := NewConn(os.Stdin, os.Stdout)
	err := serve(c, jobs)
	if err == nil {
		return 0
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 1 // the program is gone, or does not want the result
	}
	_ = c.WriteJSON(Failed, Failure{Text: err.Error(), Unsupported: errors.Is(err, errors.ErrUnsupported)})
	return 1
}

func serve(c *Conn, jobs map[string]Server) error {
	kind, _, err := c.Next()
	if err != nil {
		return err
	}
	var r Request
	if kind != Job {
		return fmt.Errorf("unexpected message %q", kind)
	}
	if err := c.ReadJSON(&r); err != nil {
		return err
	}
	if r.Protocol != protocol {
		return fmt.Errorf("%s has protocol %d, and eideticker has %d: install both from one build", Program, protocol,
			r.Protocol)
	}
	job, ok := jobs[r.Job]
	if !ok {
		return fmt.Errorf("unknown job %q", r.Job)
	}
	return job(c, r.Detail)
}
