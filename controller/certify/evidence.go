package certify

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// evidence is a recording of played pictures, with the facts that need no pixels.
type evidence struct {
	rec     *recording.Reader
	played  played
	pattern *Pattern
	latch   time.Duration
	period  time.Duration // of the source: promised, or else fitted
	slack   time.Duration // how much times may jitter, see measureJitter
	puts    []put
	segment recording.Segment // the longest
	formats int               // how many formats there were
}

// put is a picture that was on the output.
type put struct {
	n  int
	at timeline.Interval // when it appeared
}

// Limits of what a recording may claim.
const maxPuts = 1 << 20

// readEvidence reads a recording's metadata and events. Both come from a file and are not trusted.
func readEvidence(r *recording.Reader) (*evidence, error) {
	e := &evidence{rec: r}
	found := false
	for _, m := range r.Metadata() {
		if m.Name == playedName {
			found = true
			if err := json.Unmarshal(m.Value, &e.played); err != nil {
				return nil, fmt.Errorf("read %s: %w", playedName, err)
			}
		}
	}
	switch p := e.played; {
	case !found:
		return nil, errors.New("the recording was not made by eideticker certify: it lacks the played pictures")
	case p.Version != patternVersion:
		return nil, fmt.Errorf("the recording shows version %d of the pattern, this program knows version %d",
			p.Version, patternVersion)
	case p.PeriodNum <= 0 || p.PeriodDen <= 0 || p.LatchNS < 0 || p.LatchNS > int64(time.Minute):
		return nil, fmt.Errorf("read %s: a period of %d/%d s and a latch of %d ns cannot be", playedName, p.PeriodNum,
			p.PeriodDen, p.LatchNS)
	}
	var err error
	if e.pattern, err = newPattern(e.played.Width, e.played.Height, e.played.Nonce); err != nil {
		return nil, fmt.Errorf("read %s: %w", playedName, err)
	}
	e.latch = time.Duration(e.played.LatchNS)
	if err := e.readPuts(); err != nil {
		return nil, err
	}
	for _, s := range r.Segments() {
		if s.Frames > e.segment.Frames {
			e.segment = s
		}
		if s.Frames > 0 {
			e.formats++
		}
	}
	if e.segment.Frames == 0 {
		return nil, errors.New("the recording holds no frame")
	}
	e.period = e.sourcePeriod()
	return e, nil
}

// readPuts collects the events of the player.
func (e *evidence) readPuts() error {
	for n, v := range e.rec.Events() {
		if v.Source != eventSource || v.Kind != eventPut {
			continue
		}
		whole, err := e.rec.Event(n)
		if err != nil {
			return err
		}
		var d putData
		if err := json.Unmarshal(whole.Data, &d); err != nil {
			return fmt.Errorf("read an event of the player: %w", err)
		}
		if d.Picture < 0 || d.Picture > maxPuts || len(e.puts) > maxPuts {
			return fmt.Errorf("the player claims picture %d, at most %d are possible", d.Picture, maxPuts)
		}
		e.puts = append(e.puts, put{d.Picture, timeline.Interval{Earliest: v.At.Add(-v.Uncertainty),
			Latest: v.At.Add(v.Uncertainty)}})
	}
	if !slices.IsSortedFunc(e.puts, func(a, b put) int { return a.n - b.n }) {
		return errors.New("the player's events are not in order")
	}
	if len(e.puts) < 3 {
		return fmt.Errorf("only %d pictures were played, which tells nothing: play longer with -t", len(e.puts))
	}
	return nil
}

// sourcePeriod is what the source promised, or else the middle of what it kept.
func (e *evidence) sourcePeriod() time.Duration {
	if s := e.segment; s.PeriodNum > 0 && s.PeriodDen > 0 && s.PeriodNum < 1000*s.PeriodDen {
		return time.Duration(float64(s.PeriodNum) / float64(s.PeriodDen) * float64(time.Second))
	}
	if step := e.medianStep(); step > 0 {
		return step
	}
	return time.Duration(float64(e.played.PeriodNum) / float64(e.played.PeriodDen) * float64(time.Second))
}

// medianStep is the middle of the times from frame to frame, or 0.
func (e *evidence) medianStep() time.Duration {
	var steps []time.Duration
	for n := e.segment.First + 1; n < e.segment.First+e.segment.Frames; n++ {
		a, errA := e.rec.Meta(n - 1)
		b, errB := e.rec.Meta(n)
		if errA == nil && errB == nil && b.Sequence > a.Sequence {
			steps = append(steps, b.Sampled.Mid().Sub(a.Sampled.Mid())/time.Duration(b.Sequence-a.Sequence))
		}
	}
	if len(steps) == 0 {
		return 0
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}

// find returns the index of picture n in puts.
func (e *evidence) find(n int) (int, bool) {
	return slices.BinarySearchFunc(e.puts, n, func(p put, n int) int { return p.n - n })
}

// shot is a recorded frame.
type shot struct {
	frame  int
	meta   frame.Meta
	state  strip.State
	put    int // index in puts of what it shows; of the newest where it is torn; -1 for none
	oldest int // of the oldest
	number int // of the picture that it shows, if put is one
	blend  float64
	stale  bool // shows a picture of another run, or one that was never put
}

// missingBefore is how many frames the recording says are missing between two.
func missingBefore(a, b shot) uint64 {
	if b.meta.Sequence <= a.meta.Sequence {
		return 0
	}
	return b.meta.Sequence - a.meta.Sequence - 1
}

// identify fills in which pictures a frame shows.
func (e *evidence) identify(s *shot, r strip.Reading) {
	s.state, s.put, s.oldest = r.State, -1, -1
	for _, c := range r.Copies {
		if !c.OK {
			continue
		}
		n := int(c.Code.ID) - firstID
		i, ok := e.find(n)
		if c.Code.Free != e.pattern.Nonce || n < 0 || !ok || c.Code != e.pattern.code(n) {
			s.stale = true
			continue
		}
		s.put = max(s.put, i)
		if s.oldest < 0 || i < s.oldest {
			s.oldest = i
		}
	}
	if s.put >= 0 {
		s.number = e.puts[s.put].n
	}
}
