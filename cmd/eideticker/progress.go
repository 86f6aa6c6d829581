package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress tells how far long work is: a bar on a terminal, elsewhere one line per phase.
// It writes to standard error, so that standard output stays the command's result.
type progress struct {
	bar *progressbar.ProgressBar
}

// phase starts work of the given number of steps; 0 or less means that nobody knows how many.
func (e *env) phase(what string, steps int) *progress {
	if !e.terminal {
		fmt.Fprintf(e.err, "%s\n", clean(what))
		return &progress{}
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(e.err),
		progressbar.OptionSetDescription(clean(what)),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
	}
	if steps > 0 {
		options = append(options, progressbar.OptionShowCount())
	} else {
		steps = -1
	}
	return &progress{bar: progressbar.NewOptions(steps, options...)}
}

// set says how many steps are done.
func (p *progress) set(done int) {
	if p.bar != nil {
		// The bar is an ornament: what cannot be drawn is no failure of the work.
		_ = p.bar.Set(done)
	}
}

// add says how many more steps are done. It may be called from several goroutines.
func (p *progress) add(more int) {
	if p.bar != nil {
		_ = p.bar.Add(more)
	}
}

// describe changes the words beside the bar.
func (p *progress) describe(what string) {
	if p.bar != nil {
		p.bar.Describe(clean(what))
	}
}

// hide takes the bar away until there is more progress.
func (p *progress) hide() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
