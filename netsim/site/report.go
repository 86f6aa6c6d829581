package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/eideticker/eideticker/capture/timeline"
)

// Limits of a report, far above what a page sends.
const (
	maxDrawn    = 20000
	maxSamples  = 64
	maxWarnings = 20
	maxText     = 512     // bytes of a warning, of the browser's name or of a failure
	maxMicros   = 1 << 50 // of a page's clock: 35 years
	maxAnswers  = 4096
	// eventSlack is the number of µs by which an event's stamp may follow its report. The report is
	// the frame, or the next event. A frame has the time at which it was due, and a busy browser
	// calls back long after that.
	eventSlack = 1_000_000
)

// Report is a page's description of itself after it has played, with its times on the rig's clock.
// Page, Number and Entry are the rig's; so are Requested and Received. All other fields are the
// browser's claims.
type Report struct {
	Page      Page          `json:"page"`
	Entry     int           `json:"entry"`        // place in the playlist, from 0
	Number    uint8         `json:"number"`       // the same from 1: page number in the strip
	Requested timeline.Time `json:"requested_ns"` // when the browser first asked for the page
	Received  timeline.Time `json:"received_ns"`  // when the report came

	Drawn []Drawn `json:"drawn"` // every frame the page drew, in order
	// animation frames while the content played, also those that changed nothing
	Callbacks  int               `json:"callbacks"`
	GreenFrom  timeline.Interval `json:"green_from"` // animation frames at the ends of the held markers
	GreenTo    timeline.Interval `json:"green_to"`
	RedFrom    timeline.Interval `json:"red_from"`
	RedTo      timeline.Interval `json:"red_to"`
	ClaimedFPS float64           `json:"claimed_fps"` // frames a second, by the page's own clock
	UserAgent  string            `json:"user_agent"`
	Width      int               `json:"width"` // of the viewport, CSS pixels
	Height     int               `json:"height"`
	PixelRatio float64           `json:"pixel_ratio"` // device pixels per CSS pixel
	Warnings   []string          `json:"warnings"`
	Truth      Truth             `json:"truth"`             // what its pictures hold
	Answers    []Answer          `json:"answers,omitempty"` // of a page with cadence CadenceInput, in order
	Told       *Told             `json:"told,omitempty"`    // of a page that sent messages
	// Zero is the time at which the page's clock was 0.
	Zero timeline.Interval `json:"zero"`
}

// Answer is an input that the page was told of, and the picture that answered it.
type Answer struct {
	Kind string            `json:"kind"` // of the browser's event: "pointerdown", "input", …
	At   timeline.Interval `json:"at"`   // the event's own time
	ID   uint32            `json:"id"`   // of the first picture with the answer
}

// Told is a page's account of its messages.
type Told struct {
	Messages int64 `json:"messages"` // queued
	Unsent   int64 `json:"unsent"`   // of them, not drawn whole
	Packets  int64 `json:"packets"`  // drawn
	Bytes    int64 `json:"bytes"`    // of data in these
}

// Drawn is a frame that a page drew.
type Drawn struct {
	ID uint32            `json:"id"` // as in the strip
	At timeline.Interval `json:"at"` // its animation frame's time
}

// IDs returns the ids of the frames that the page drew.
func (r Report) IDs() []uint32 {
	ids := make([]uint32, len(r.Drawn))
	for i, d := range r.Drawn {
		ids[i] = d.ID
	}
	return ids
}

// wire is a report as the page sends it. Times are microseconds of the page's performance.now.
type wire struct {
	Run        string   `json:"run"`
	Entry      int      `json:"entry"`
	IDs        []uint32 `json:"ids"`
	Times      []int64  `json:"times_us"`
	Callbacks  int      `json:"callbacks"`
	Green      []int64  `json:"green_us"`
	Red        []int64  `json:"red_us"`
	Clock      []sample `json:"clock"`
	ClaimedFPS float64  `json:"claimed_fps"`
	Agent      string   `json:"agent"`
	Width      int      `json:"width"`
	Height     int      `json:"height"`
	PixelRatio float64  `json:"pixel_ratio"`
	Isolated   bool     `json:"isolated"`
	Warnings   []string `json:"warnings"`
	Truth      Truth    `json:"truth"`
	Answers    []answer `json:"answers"`
	Told       *Told    `json:"told"`
}

// answer is an Answer on the page's clock.
type answer struct {
	Kind string `json:"kind"`
	At   int64  `json:"at_us"`
	ID   uint32 `json:"id"`
}

// sample is one question for the rig's time: asked and answered on the page's clock.
type sample struct {
	Before int64  `json:"before_us"`
	Now    string `json:"now_ns"`
	After  int64  `json:"after_us"`
}

var errNonce = errors.New("report carries the nonce of another run")

// parseReport checks a report from the browser and puts its times on the rig's clock.
func (s *Site) parseReport(body []byte, received timeline.Time) (Report, error) {
	var in wire
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return Report{}, fmt.Errorf("report is not as expected: %w", err)
	}
	if d.More() {
		return Report{}, errors.New("report is followed by more")
	}
	if in.Run != s.nonce {
		return Report{}, errNonce
	}
	if in.Entry < 0 || in.Entry >= len(s.playlist) {
		return Report{}, fmt.Errorf("report of page %d, but the playlist has %d", in.Entry+1, len(s.playlist))
	}
	if err := in.check(); err != nil {
		return Report{}, err
	}
	if err := in.checkTruth(s.playlist[in.Entry]); err != nil {
		return Report{}, err
	}
	if err := in.checkAnswers(s.playlist[in.Entry]); err != nil {
		return Report{}, err
	}
	offset, warning, err := in.offset(s.started, received)
	if err != nil {
		return Report{}, err
	}
	r := Report{
		Page: s.playlist[in.Entry], Entry: in.Entry, Number: uint8(in.Entry + 1), Received: received,
		Callbacks: in.Callbacks, ClaimedFPS: in.ClaimedFPS, UserAgent: in.Agent,
		Width: in.Width, Height: in.Height, PixelRatio: in.PixelRatio, Warnings: in.Warnings,
		GreenFrom: offset.rig(in.Green[0]), GreenTo: offset.rig(in.Green[1]),
		RedFrom: offset.rig(in.Red[0]), RedTo: offset.rig(in.Red[1]),
		Drawn: make([]Drawn, len(in.IDs)), Truth: in.Truth, Told: in.Told, Zero: offset.rig(0),
	}
	for i, id := range in.IDs {
		r.Drawn[i] = Drawn{id, offset.rig(in.Times[i])}
	}
	for _, a := range in.Answers {
		r.Answers = append(r.Answers, Answer{a.Kind, offset.rig(a.At), a.ID})
	}
	if warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	if in.PixelRatio != 1 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the browser draws %g device pixels per CSS pixel", in.PixelRatio))
	}
	return r, nil
}

// check reports the first field that no page of ours would send.
func (w *wire) check() error {
	switch {
	case len(w.IDs) == 0, len(w.IDs) > maxDrawn, len(w.IDs) != len(w.Times):
		return fmt.Errorf("report has %d ids and %d times, want as many of each, 1 to %d", len(w.IDs), len(w.Times),
			maxDrawn)
	case w.Callbacks < len(w.IDs), w.Callbacks > 1e6:
		return fmt.Errorf("report has %d frames drawn in %d callbacks", len(w.IDs), w.Callbacks)
	case len(w.Green) != 2, len(w.Red) != 2:
		return errors.New("report lacks the times of green or red")
	case len(w.Clock) == 0, len(w.Clock) > maxSamples:
		return fmt.Errorf("report has %d clock samples, want 1 to %d", len(w.Clock), maxSamples)
	case len(w.Warnings) > maxWarnings:
		return fmt.Errorf("report has %d warnings, limit %d", len(w.Warnings), maxWarnings)
	case w.Width < 1, w.Height < 1, w.Width > 1<<15, w.Height > 1<<15:
		return fmt.Errorf("report has a viewport of %dx%d", w.Width, w.Height)
	case !(w.PixelRatio > 0 && w.PixelRatio <= 64):
		return fmt.Errorf("report has %g device pixels per pixel", w.PixelRatio)
	case w.Told != nil && (min(w.Told.Unsent, w.Told.Packets, w.Told.Bytes) < 0 || w.Told.Unsent > w.Told.Messages ||
		max(w.Told.Messages, w.Told.Packets, w.Told.Bytes) > 1<<40):
		return fmt.Errorf("report has %d messages of which %d are not sent", w.Told.Messages, w.Told.Unsent)
	case !(w.ClaimedFPS >= 0 && w.ClaimedFPS <= 1e5):
		return fmt.Errorf("report claims %g frames a second", w.ClaimedFPS)
	}
	for _, text := range append([]string{w.Agent}, w.Warnings...) {
		if len(text) > maxText || !utf8.ValidString(text) {
			return fmt.Errorf("report has a text of %d bytes, limit %d, or one that is not UTF-8", len(text), maxText)
		}
	}
	return w.checkOrder()
}

// checkOrder holds every time against the one before it: green, content, red.
func (w *wire) checkOrder() error {
	last := int64(0)
	for _, times := range [][]int64{w.Green, w.Times, w.Red} {
		for _, t := range times {
			if t < last || t > maxMicros {
				return fmt.Errorf("report's time of %d µs does not follow %d µs", t, last)
			}
			last = t
		}
	}
	for i, id := range w.IDs {
		if i > 0 && id <= w.IDs[i-1] || id >= 1<<24 {
			return fmt.Errorf("report's id %d is out of order or has more than 24 bits", id)
		}
	}
	return nil
}

// checkAnswers: an answer is a picture that was drawn after the page was told.
func (w *wire) checkAnswers(p Page) error {
	if len(w.Answers) > maxAnswers || len(w.Answers) > 0 && p.Cadence != CadenceInput {
		return fmt.Errorf("report has %d answers of page %q, limit %d", len(w.Answers), p.Name, maxAnswers)
	}
	last := int64(0)
	for _, a := range w.Answers {
		i, drew := slices.BinarySearch(w.IDs, a.ID)
		switch {
		case !isName(a.Kind):
			return fmt.Errorf("report answers %.60q, which is not an event", a.Kind)
		case !drew:
			return fmt.Errorf("report answers with picture %d, which was not drawn", a.ID)
		case a.At < 0, a.At < last-eventSlack, a.At > w.Times[i]+eventSlack:
			return fmt.Errorf("report has an event at %d µs, out of order or behind its answer at %d µs", a.At,
				w.Times[i])
		}
		last = max(last, a.At)
	}
	return nil
}

// clockOffset is what must be added to the page's clock to get the rig's: somewhere in between.
type clockOffset struct {
	low, high time.Duration
}

func (o clockOffset) rig(micros int64) timeline.Interval {
	t := timeline.Time(micros * int64(time.Microsecond))
	return timeline.Interval{Earliest: t.Add(o.low), Latest: t.Add(o.high)}
}

// offset combines the page's questions for the time. The rig's answer was true at some moment
// between question and answer. So each sample bounds the offset on both sides, and all bounds hold
// at once. If they contradict each other, since a clock was slewed meanwhile, the narrowest sample
// counts, with a warning.
func (w *wire) offset(started, received timeline.Time) (clockOffset, string, error) {
	// How coarse browsers make performance.now, for pages that are isolated and those that are not.
	coarse := time.Millisecond
	if w.Isolated {
		coarse = 100 * time.Microsecond
	}
	all := clockOffset{math.MinInt64, math.MaxInt64}
	var best clockOffset
	for i, c := range w.Clock {
		now, err := strconv.ParseInt(c.Now, 10, 64)
		if err != nil || timeline.Time(now) < started || timeline.Time(now) > received {
			return all, "", fmt.Errorf("report's clock sample %q was not answered in this run", c.Now)
		}
		if c.Before < 0 || c.After < c.Before || c.After > maxMicros {
			return all, "", fmt.Errorf("report's clock sample was answered at %d µs, asked at %d µs", c.After, c.Before)
		}
		one := clockOffset{
			low:  time.Duration(now) - time.Duration(c.After)*time.Microsecond - coarse,
			high: time.Duration(now) - time.Duration(c.Before)*time.Microsecond + coarse,
		}
		if i == 0 || one.high-one.low < best.high-best.low {
			best = one
		}
		all = clockOffset{max(all.low, one.low), min(all.high, one.high)}
	}
	if all.low > all.high {
		return best, "the page's clock does not keep step with the rig's", nil
	}
	return all, "", nil
}
