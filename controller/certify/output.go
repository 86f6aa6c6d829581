package certify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Output is a screen whose signal the source under test records. It is used by one goroutine.
type Output interface {
	Mode() Mode
	// Show puts a picture of Mode's size, B G R X without padding, on the output. It returns the
	// interval in which the output took it. A clocked output waits until it is taken.
	Show(ctx context.Context, picture []byte) (timeline.Interval, error)
	// Close takes the pictures away again. It is idempotent.
	Close() error
}

// Mode describes an output.
type Mode struct {
	URI           string
	Name          string // of the device, as it tells
	Width, Height int
	// Period is the output's own time from picture to picture, 0/0 where it takes one whenever it
	// is given.
	Period capture.Rational
	// Clocked says that the output itself takes one picture a period.
	Clocked bool
	// Latch is how long after Show an old picture may still be sent: up to a refresh where pictures
	// are drawn into memory that a display reads on a clock of its own.
	Latch time.Duration
}

// OutputOptions choose what the URI leaves open.
type OutputOptions struct {
	Width, Height int              // 0: the whole output
	Period        capture.Rational // 0/0: the source's
	Source        capture.Info     // that will record the output
}

// ErrOutput is wrapped by errors about an output's URI that no change of the world can mend.
var ErrOutput = errors.New("bad output")

// outputForms lists the kinds of outputs.
func outputForms() []string { return []string{"x11::9[?region=1280x720+0+0]", "v4l2:/dev/video1"} }

// OpenOutput opens what a URI names: x11:DISPLAY or v4l2:DEVICE.
func OpenOutput(uri string, o OutputOptions) (Output, error) {
	before, rawQuery, _ := strings.Cut(uri, "?")
	scheme, target, _ := strings.Cut(before, ":")
	query := url.Values{}
	for pair := range strings.SplitSeq(rawQuery, "&") {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case pair == "" && rawQuery == "":
		case !ok || name == "" || value == "" || query.Has(name):
			return nil, fmt.Errorf("%w %q: unknown parameter %q, want NAME=VALUE, each name once", ErrOutput, uri, pair)
		default:
			query.Set(name, value) // a plus is a plus: regions are written with it
		}
	}
	switch scheme {
	case "x11":
		return openX11Output(uri, target, query, o)
	case "v4l2":
		return openV4L2Output(uri, target, query, o)
	}
	return nil, fmt.Errorf("%w %q: want %s", ErrOutput, uri, strings.Join(outputForms(), " or "))
}

// Events that the player leaves in the recording.
const (
	eventSource = "certify"
	eventPut    = "put"
	eventEnd    = "end" // nothing was put after the last picture until then
)

// putData is what an event says of a picture that was put.
type putData struct {
	Picture int `json:"picture"`
}

// putEvent tells between which times picture n appeared.
func putEvent(n int, when timeline.Interval) timeline.Event {
	return timeline.Event{
		At: when.Mid(), Uncertainty: (when.Width() + 1) / 2, Source: eventSource, Kind: eventPut,
		Data: fmt.Appendf(nil, `{"picture":%d}`, n),
	}
}

// playedName is the recording's metadata about the played pictures.
const playedName = "certify.played"

// played is that metadata.
type played struct {
	Version   int    `json:"version"` // of the pattern
	Output    string `json:"output"`
	Device    string `json:"device,omitempty"`
	Width     int    `json:"width_px"`
	Height    int    `json:"height_px"`
	Nonce     uint16 `json:"nonce"`
	PeriodNum int64  `json:"period_num_s"`
	PeriodDen int64  `json:"period_den"`
	LatchNS   int64  `json:"latch_ns"`
	Clocked   bool   `json:"clocked"` // the output, by the signal that is recorded
}

// patternVersion changes when a pattern of the same size and nonce looks different.
const patternVersion = 2

func (p played) metadata() (capture.Metadata, error) {
	b, err := json.Marshal(p)
	return capture.Metadata{Name: playedName, Value: b}, err
}

// player puts picture after picture on an output.
type player struct {
	out      Output
	painter  *painter
	period   capture.Rational
	duration time.Duration
	emit     func(timeline.Event)
}

// lead is how long the first picture is shown, and settle how long the last one is. It is time for
// a source to begin, and for frames on the way to arrive.
const (
	lead   = 400 * time.Millisecond
	settle = 600 * time.Millisecond
)

// play plays for the duration and leaves the last picture standing for a while.
func (p *player) play(ctx context.Context) error {
	clock := timeline.Monotonic()
	start := clock.Now()
	end := start.Add(lead + p.duration)
	tick := uint64(0)
	for n := 0; ; n++ {
		picture, err := p.painter.paint(n)
		if err != nil {
			return err
		}
		if n > 0 {
			// A tick that has passed is left out: the numbers go on, only later.
			for tick++; start.Add(lead+p.period.Duration(tick)) < clock.Now() && !p.out.Mode().Clocked; tick++ {
			}
			due := start.Add(lead + p.period.Duration(tick))
			if max(due, clock.Now()) >= end {
				break
			}
			if !p.out.Mode().Clocked || n == 1 {
				err = timeline.SleepUntil(ctx, due)
			}
		}
		var when timeline.Interval
		if err == nil {
			when, err = p.out.Show(ctx, picture)
		}
		if err != nil {
			return capture.UnlessEnded(ctx, err)
		}
		p.emit(putEvent(n, when))
	}
	if err := timeline.SleepUntil(ctx, clock.Now().Add(settle)); err != nil {
		return nil // the source has ended by itself
	}
	p.emit(timeline.Event{At: clock.Now(), Source: eventSource, Kind: eventEnd})
	return nil
}
