package main

import (
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/eideticker/eideticker/analyze/terminal"
)

// progress shows long work: a bar on a terminal, else a line per phase. It writes to standard
// error. Without a bar it is nil.
type progress struct {
	bar  *progressbar.ProgressBar
	out  io.Writer // of the bar
	room int       // columns for the text beside the bar
}

// phase starts work of a number of steps; 0 or less: unknown.
func (e *env) phase(what string, steps int) *progress {
	if !e.terminal {
		fmt.Fprintf(e.err, "%s\n", terminal.Clean(what))
		return nil
	}
	width, figures := terminal.Columns(e.err), 36 // percentage, counts and times
	if width < 60 {
		figures = 10
	}
	const narrow, wide = 4, 30 // bars
	p := &progress{out: e.err, room: max(1, width-figures-narrow)}
	if steps <= 0 {
		p.room = max(1, width-10) // a sign and the time
	}
	what = p.fitting(what)
	options := []progressbar.Option{
		progressbar.OptionSetWriter(e.err),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(min(wide, max(narrow, width-figures-utf8.RuneCountInString(what)))),
		progressbar.OptionSetElapsedTime(width >= 60 || steps <= 0),
		progressbar.OptionSetPredictTime(width >= 60),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
	}
	if _, ok := e.err.(*terminal.ASCIIWriter); ok {
		options = append(options, progressbar.OptionSetTheme(progressbar.ThemeASCII))
	}
	switch {
	case steps <= 0:
		steps = -1
	case width >= 60:
		options = append(options, progressbar.OptionShowCount())
	}
	p.bar = progressbar.NewOptions(steps, options...)
	return p
}

// fitting cuts a text to its room: a longer line could not be removed.
func (p *progress) fitting(what string) string {
	r, more := []rune(terminal.Shown(p.out, what)), terminal.Shown(p.out, "…")
	if len(r) > p.room {
		return string(r[:max(0, p.room-utf8.RuneCountInString(more))]) + more
	}
	return string(r)
}

// set sets the number of finished steps.
func (p *progress) set(done int) {
	if p != nil {
		_ = p.bar.Set(done)
	}
}

// add adds finished steps. It may be called from several goroutines.
func (p *progress) add(more int) {
	if p != nil {
		_ = p.bar.Add(more)
	}
}

// describe changes the text beside the bar.
func (p *progress) describe(what string) {
	if p != nil {
		p.bar.Describe(p.fitting(what))
	}
}

// hide removes the bar until the next step.
func (p *progress) hide() {
	if p != nil {
		_ = p.bar.Clear()
	}
}

// end removes the bar.
func (p *progress) end() {
	if p != nil {
		_ = p.bar.Finish()
	}
}

// phases shows one phase at a time. The next one ends it.
type phases struct {
	*env
	name string // "": none has begun
	bar  *progress
}

// show shows the finished steps of a phase.
func (p *phases) show(name string, done, total int) {
	if name = terminal.Clean(name); name != p.name {
		p.end()
		p.bar, p.name = p.phase(name, total), name
	}
	p.bar.set(done)
}

func (p *phases) end() { p.bar.end() }
