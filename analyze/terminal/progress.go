package terminal

import (
	"io"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
)

// Progress is the bar of long work. Its methods do nothing if it is nil.
type Progress struct {
	bar  *progressbar.ProgressBar
	out  io.Writer
	room int // columns for the text beside the bar
}

// NewProgress begins a bar of a number of steps; 0 or less: unknown.
func NewProgress(w io.Writer, what string, steps int) *Progress {
	width, figures := Columns(w), 36 // percentage, counts and times
	if width < 60 {
		figures = 10
	}
	const narrow, wide = 4, 30 // bars
	p := &Progress{out: w, room: max(1, width-figures-narrow)}
	if steps <= 0 {
		p.room = max(1, width-10) // a sign and the time
	}
	what = p.fitting(what)
	options := []progressbar.Option{
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(min(wide, max(narrow, width-figures-utf8.RuneCountInString(what)))),
		progressbar.OptionSetElapsedTime(width >= 60 || steps <= 0),
		progressbar.OptionSetPredictTime(width >= 60),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
	}
	if _, ok := w.(*asciiWriter); ok {
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
func (p *Progress) fitting(what string) string {
	r, more := []rune(shownOn(p.out, what)), shownOn(p.out, "…")
	if len(r) > p.room {
		return string(r[:max(0, p.room-utf8.RuneCountInString(more))]) + more
	}
	return string(r)
}

// Set sets the number of finished steps.
func (p *Progress) Set(done int) {
	if p != nil {
		_ = p.bar.Set(done)
	}
}

// Add adds finished steps. It may be called from several goroutines.
func (p *Progress) Add(more int) {
	if p != nil {
		_ = p.bar.Add(more)
	}
}

// Describe changes the text beside the bar.
func (p *Progress) Describe(what string) {
	if p != nil {
		p.bar.Describe(p.fitting(what))
	}
}

// Hide removes the bar until the next step.
func (p *Progress) Hide() {
	if p != nil {
		_ = p.bar.Clear()
	}
}

// End removes the bar.
func (p *Progress) End() {
	if p != nil {
		_ = p.bar.Finish()
	}
}
