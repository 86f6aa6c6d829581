package attach

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/clock"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Mode is the way in which the relation of the clocks is found.
type Mode struct {
	Kind          ModeKind
	Offset, Error int64 // of statedOffset: recording's clock minus trace's clock
}

// ModeKind is a kind of modes.
type ModeKind uint8

// The kinds.
const (
	fromEvidence    ModeKind = iota // from evidence
	statedMonotonic                 // the user states that the trace has the recording's clock
	statedOffset                    // the user states the offset and its error
	None                            // the trace keeps its own axis
)

// ParseMode reads auto, monotonic, none or offset=D±E, such as offset=-1.5s±2ms.
func ParseMode(text string) (Mode, error) {
	switch text {
	case "auto", "":
		return Mode{}, nil
	case "monotonic":
		return Mode{Kind: statedMonotonic}, nil
	case "none":
		return Mode{Kind: None}, nil
	}
	rest, ok := strings.CutPrefix(text, "offset=")
	offset, within, both := strings.Cut(strings.Replace(rest, "+-", "±", 1), "±")
	d, errD := time.ParseDuration(offset)
	e, errE := time.ParseDuration(within)
	switch {
	case !ok:
		return Mode{}, fmt.Errorf("clock %q: must be auto, monotonic, none or offset=D±E", text)
	case !both || errD != nil || errE != nil || e <= 0:
		return Mode{}, fmt.Errorf("clock %q: must be a time and its error, such as offset=-1.5s±2ms", text)
	}
	return Mode{statedOffset, int64(d), int64(e)}, nil
}

// Joined is the relation of a trace to a run.
type Joined struct {
	clock.Relation
	Warnings []string
}

// noEvidenceError reports that nothing relates a trace to a run.
type noEvidenceError struct{ cause error }

func (e *noEvidenceError) Error() string {
	return fmt.Sprintf("clocks cannot be related: %v; record with --network and an input, or state --clock", e.cause)
}

func (e *noEvidenceError) Unwrap() error { return e.cause }

// otherRunError reports that a trace is of another run, boot or device.
type otherRunError struct {
	Trace, Run string // both sides
	Contrary   []string
}

func (e *otherRunError) Error() string {
	text := fmt.Sprintf("it does not belong to this run: the trace %s, the run %s", e.Trace, e.Run)
	if len(e.Contrary) > 0 {
		text += ": " + strings.Join(e.Contrary, "; ")
	}
	return text
}

// maxListed bounds the contradictions of an error.
const maxListed = 5

// join finds the relation.
func join(ctx context.Context, c *activity.Claims, f *runFacts, mode Mode, force bool) (Joined, error) {
	evidence := pair(c, f)
	switch mode.Kind {
	case fromEvidence:
		return auto(ctx, c, f, evidence)
	case statedMonotonic:
		exact := activity.Clock{Exact: true, Origin: c.Begin, Corners: []activity.Corner{}}
		return stated(c, f, evidence, exact, "the recording's clock, as the user states")
	case statedOffset:
		if !possible(c.Begin) || mode.Offset > maxTime || mode.Offset < -maxTime || mode.Error > maxTime {
			return Joined{}, errors.New("--clock: impossible offset")
		}
		at := c.Begin + mode.Offset
		two := activity.Clock{Origin: c.Begin,
			Corners: []activity.Corner{{Offset: at - mode.Error}, {Offset: at + mode.Error}}}
		return stated(c, f, evidence, two, fmt.Sprintf("offset %s ± %s, as the user states", time.Duration(mode.Offset),
			time.Duration(mode.Error)))
	}
	_, err := auto(ctx, c, f, evidence)
	var other *otherRunError
	if errors.As(err, &other) && !force {
		return Joined{}, fmt.Errorf("%w; --force attaches it without a relation", err)
	}
	return ownAxis(c), nil
}

// ownAxis is the relation of a trace whose clock is unknown.
func ownAxis(c *activity.Claims) Joined {
	return Joined{Relation: clock.Relation{Clock: activity.Clock{None: true, Origin: c.Begin,
		Corners: []activity.Corner{}, Text: "unknown; the trace has its own axis"}}}
}

const maxTime = 1 << 60

func possible(t int64) bool { return t > -maxTime && t < maxTime }

// auto finds the relation from the trace and the run alone.
func auto(ctx context.Context, c *activity.Claims, f *runFacts, evidence []clock.Evidence) (Joined, error) {
	boot := sameBoot(c, f)
	alone := c.FramesOnly && len(evidence) == 0 // frames of another device have no counterpart
	if boot == different && c.Monotonic && len(evidence) == 0 && !alone {
		return Joined{}, &otherRunError{Trace: "is of " + wallText(c.Begin, c.Wall), Run: runText(f)}
	}
	if away(c, f) {
		return Joined{}, &otherRunError{Trace: "is of " + wallText(c.Begin, c.Wall), Run: runText(f)}
	}
	if c.Monotonic && (boot == same || boot == unknown && len(evidence) > 0) {
		exact := activity.Clock{Exact: true, Origin: c.Begin, Corners: []activity.Corner{}}
		j, err := stated(c, f, evidence, exact, "CLOCK_MONOTONIC, as the trace states")
		if err == nil || boot == same {
			return j, err
		}
	}
	if c.Begin == 0 && c.End == 0 {
		return Joined{}, &noEvidenceError{errors.New("the trace has no times")}
	}
	if alone {
		j := ownAxis(c)
		j.Warnings = append(j.Warnings,
			"No evidence bounds the trace's clock, so its frames are not compared. State --clock.")
		return j, nil
	}
	r, err := clock.Solve(ctx, evidence, c.Begin, c.Begin, c.End)
	var contradiction *clock.ContradictionError
	var sides *clock.OneSidedError
	switch {
	case errors.As(err, &contradiction):
		agrees := fmt.Sprintf("agrees with only %d of %d", contradiction.Agree, contradiction.All)
		if contradiction.Best.Partial {
			agrees += ", as far as the search came"
		}
		return Joined{}, &otherRunError{Trace: fmt.Sprintf("has %s", clock.Count(evidence)), Run: agrees,
			Contrary: sentences(contradiction.Best.Discarded, &contradiction.Best.Clock)}
	case errors.As(err, &sides):
		return Joined{}, &noEvidenceError{err}
	case err != nil:
		return Joined{}, err
	}
	j := Joined{Relation: r}
	if r.Partial {
		j.Warnings = append(j.Warnings, "The search for evidence that agrees ended early. A larger set may exist.")
	}
	if c.Monotonic {
		j.Warnings = append(j.Warnings, "The trace states CLOCK_MONOTONIC. It is that of another boot or device.")
	}
	if other := j.lacks(c, f); other != nil {
		return Joined{}, other
	}
	return j, j.overlaps(c, f)
}

// stated checks a clock that is not from evidence.
func stated(c *activity.Claims, f *runFacts, evidence []clock.Evidence, k activity.Clock, text string) (Joined, error) {
	j := Joined{Relation: clock.Relation{Clock: k}}
	j.Used, j.Discarded = clock.Check(evidence, &k)
	if j.Clock.Text = text; len(j.Used) > 0 {
		j.Clock.Text += fmt.Sprintf(" (agrees with %s)", clock.Count(j.Used))
	}
	if err := j.overlaps(c, f); err != nil {
		return Joined{}, err
	}
	if 3*len(j.Used) < 2*len(evidence) {
		return Joined{}, &otherRunError{Trace: "has " + text,
			Run:      fmt.Sprintf("contradicts %s", clock.Count(j.Discarded)),
			Contrary: sentences(j.Discarded, &k)}
	}
	if other := j.lacks(c, f); other != nil { // the clock is right, but the browser may be another one
		j.Warnings = append(j.Warnings, fmt.Sprintf("The trace may be of another browser. It %s, the run %s: %s.",
			other.Trace, other.Run, strings.Join(other.Contrary, "; ")))
	}
	return j, nil
}

func sentences(all []clock.Evidence, c *activity.Clock) (texts []string) {
	for i := range min(len(all), maxListed) {
		texts = append(texts, all[i].Sentence(c))
	}
	if left := len(all) - maxListed; left > 0 {
		texts = append(texts, fmt.Sprintf("%d more", left))
	}
	return texts
}

// overlaps rejects a trace that ends before the recording begins, or the reverse.
func (j *Joined) overlaps(c *activity.Claims, f *runFacts) error {
	from, _ := j.Clock.Bounds(c.Begin)
	_, to := j.Clock.Bounds(c.End)
	if to >= int64(f.Begin) && from <= int64(f.End) {
		return nil
	}
	return &otherRunError{Trace: fmt.Sprintf("is from %s to %s", secondsText(from), secondsText(to)),
		Run: fmt.Sprintf("from %s to %s of its clock", secondsText(int64(f.Begin)), secondsText(int64(f.End)))}
}

func secondsText(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) + " s" }

func wallText(at, offset int64) string {
	return time.Unix(0, at+offset).UTC().Format("2006-01-02 15:04:05") + " UTC"
}

func runText(f *runFacts) string { return "of " + wallText(int64(f.Begin), f.Wall) }

// bootIs is the relation of the boots of trace and recording.
type bootIs uint8

const (
	unknown bootIs = iota
	same
	different
)

// bootWithin bounds the difference of wall clocks in one boot: they are set and slewed.
const bootWithin = 10 * time.Second

// sameBoot compares the times at which CLOCK_MONOTONIC began. Suspending a machine changes them.
func sameBoot(c *activity.Claims, f *runFacts) bootIs {
	if !c.Monotonic || c.WallWithin == 0 || f.Wall == 0 || time.Duration(c.WallWithin) > bootWithin {
		return unknown
	}
	if apart := timeline.Time(c.Wall).Sub(timeline.Time(f.Wall)).Abs(); apart > bootWithin {
		return different
	}
	return same
}

// away reports that the wall clocks of trace and recording are further apart than any error.
func away(c *activity.Claims, f *runFacts) bool {
	if c.WallWithin == 0 || f.Wall == 0 {
		return false
	}
	const most = int64(time.Hour) // that clocks of two devices differ
	slack := c.WallWithin + f.WallWithin + most
	return c.End+c.Wall+slack < int64(f.Begin)+f.Wall || int64(f.End)+f.Wall+slack < c.Begin+c.Wall
}
