package certify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recorder"
)

// Options say how a path is certified.
type Options struct {
	Duration time.Duration    // of playing
	Period   capture.Rational // from picture to picture; 0/0: the output's, or else the source's
	Path     string           // of the recording, which must not exist
	Program  string           // for the recording's header
	Progress func(recorder.Progress)
}

// defaultPeriod is played where neither the output nor the source has a period: 60 pictures a
// second.
func defaultPeriod() capture.Rational { return capture.Rational{Num: 1, Den: 60} }

// ErrDuration is wrapped by errors about a duration that is too short or too long for its rate.
var ErrDuration = errors.New("bad duration")

// check refuses what could be played but not judged.
func (o Options) check() error {
	const least = 4 // the first picture stands, and two that are replaced
	period := float64(o.Period.Num) / float64(o.Period.Den) * float64(time.Second)
	switch shown := float64(o.Duration) / period; {
	case shown < least:
		return fmt.Errorf("%w: at %.4g pictures/s, %v shows hardly a picture change: play %v or longer", ErrDuration,
			float64(time.Second)/period, o.Duration,
			time.Duration(math.Ceil(least*period/float64(time.Second)))*time.Second)
	case shown > maxPuts-2:
		return fmt.Errorf("%w: at %.4g pictures/s, %v exceed the maximum of %d pictures; use a lower -t or --fps",
			ErrDuration, float64(time.Second)/period, o.Duration, maxPuts)
	}
	return nil
}

// Run plays on the output and records the source, in one recording, and analyses that. It closes
// neither. On an error the recording stays as far as it got.
func Run(ctx context.Context, src capture.Source, out Output, o Options) (*Report, error) {
	mode, info := out.Mode(), src.Info()
	pattern, err := newPattern(mode.Width, mode.Height, uint16(rand.Uint32()))
	if err != nil {
		return nil, err
	}
	painter, err := newPainter(pattern)
	if err != nil {
		return nil, err
	}
	for _, p := range []capture.Rational{mode.Period, info.Period, defaultPeriod()} {
		if o.Period.Den == 0 {
			o.Period = p
		}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	meta, err := played{
		Version: patternVersion, Output: mode.URI, Device: mode.Name, Width: mode.Width, Height: mode.Height,
		Nonce:     pattern.Nonce,
		PeriodNum: o.Period.Num, PeriodDen: o.Period.Den, LatchNS: mode.Latch.Nanoseconds(), Clocked: mode.Clocked,
	}.metadata()
	if err != nil {
		return nil, err
	}
	playing, stop := context.WithCancel(ctx)
	defer stop()
	res, err := recorder.Record(playing, src, o.Path, recorder.Options{
		Program: o.Program, Metadata: []capture.Metadata{meta}, Progress: o.Progress,
		Started: func(ctx context.Context, emit func(timeline.Event)) error {
			defer stop() // the recording ends when all has been played
			p := player{out, painter, o.Period, o.Duration, emit}
			return p.play(ctx)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("record the pictures played on %s: %w", mode.URI, err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if res.Stored == 0 {
		return nil, errors.New("the source delivered no frame: is its signal there? eideticker sources tells")
	}
	return analyzeFile(ctx, o.Path)
}
