package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows long work: a bar on a terminal, else a line per phase. It writes to standard
// error.
type progress struct {
	bar *progressbar.ProgressBar
}

// phase starts work of a number of steps; 0 or less: unknown.
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
	if _, ok := e.err.(*asciiWriter); ok {
		options = append(options, progressbar.OptionSetTheme(progressbar.ThemeASCII))
	}
	if steps > 0 {
		options = append(options, progressbar.OptionShowCount())
	} else {
		steps = -1
	}
	return &progress{bar: progressbar.NewOptions(steps, options...)}
}

// set sets the number of finished steps.
func (p *progress) set(done int) {
	if p.bar != nil {
		_ = p.bar.Set(done)
	}
}

// add adds finished steps. It may be called from several goroutines.
func (p *progress) add(more int) {
	if p.bar != nil {
		_ = p.bar.Add(more)
	}
}

// describe changes the text beside the bar.
func (p *progress) describe(what string) {
	if p.bar != nil {
		p.bar.Describe(clean(what))
	}
}

// hide removes the bar until the next step.
func (p *progress) hide() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// end removes the bar.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
