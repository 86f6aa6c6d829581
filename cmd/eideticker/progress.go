package main

import (
	"fmt"

	"github.com/eideticker/eideticker/analyze/terminal"
)

// phase starts work of a number of steps; 0 or less: unknown. It is a bar on a terminal, else a
// line. Both are on standard error.
func (e *env) phase(what string, steps int) *terminal.Progress {
	if !e.terminal {
		fmt.Fprintf(e.err, "%s\n", terminal.Clean(what))
		return nil
	}
	return terminal.NewProgress(e.err, what, steps)
}

// phases shows one phase at a time. The next one ends it.
type phases struct {
	*env
	name string // "": none has begun
	bar  *terminal.Progress
}

// show shows the finished steps of a phase.
func (p *phases) show(name string, done, total int) {
	if name = terminal.Clean(name); name != p.name {
		p.end()
		p.bar, p.name = p.phase(name, total), name
	}
	p.bar.Set(done)
}

func (p *phases) end() { p.bar.End() }

// meter begins a phase of moved bytes; less than 1: unknown. The bar counts KiB.
func (e *env) meter(phase string, bytes int64) (moved func(bytes int64), end func()) {
	bar, sum := e.phase(phase, int(bytes>>10)), int64(0)
	return func(bytes int64) {
		before := sum >> 10
		sum += bytes
		if more := int(sum>>10 - before); more > 0 {
			bar.Add(more)
		}
	}, bar.End
}
