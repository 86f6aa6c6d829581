package activity

import (
	"slices"
	"strconv"
	"strings"
)

// Claims are statements of a trace from another tool: about its clock, and about facts that the
// recorder may have seen too. They are untrusted. Times are on the trace's clock, in ns.
type Claims struct {
	Engine string // such as chrome or gecko
	Target string // such as Chrome/148.0; empty: unknown
	Way    string // of the records, such as samples and slices
	RateHz int    // of samples; 0: none
	// Begin and End are the times of the first and the last record; 0 without any.
	Begin, End int64
	Records    int64            // with those that were skipped
	Skipped    map[string]int64 // damaged records by kind
	Truncated  bool             // the file ends too early
	// Monotonic states that the trace's clock is CLOCK_MONOTONIC. The boot may be another one.
	Monotonic bool
	// Wall is the wall clock minus the trace's clock, within WallWithin. WallWithin 0: unknown.
	Wall, WallWithin int64
	// Resolution is that of times: the true time of a record is less than that after its time.
	Resolution int64
	Requests   []Request
	Inputs     []Input
	Pages      []Page
	Strips     []Strip
	Frames     []Frame
	FramesOnly bool // it has no other records
	// Slept is the time for which the trace's device slept meanwhile. Times of the trace go on then,
	// while its CLOCK_MONOTONIC stood still.
	Slept int64
}

// Request is a request for a resource. Times that are 0 are unknown.
type Request struct {
	Method, URL string
	Sent        int64 // a time before its first byte was sent
	Ended       int64 // a time after its last byte was received
	First       int64 // a time after its first byte was received
}

// Input is an event of an input that a page handled.
type Input struct {
	Kind string // key, button, touch or wheel
	At   int64
}

// Page is a document. Its clock was 0 at Zero.
type Page struct {
	Address string
	Zero    int64
}

// Strip is a mark that a test page sets when it draws a picture. The picture's code strip has the
// page's number and the ID.
type Strip struct {
	Page uint8
	ID   uint32
	At   int64 // the picture was drawn, and not presented yet
}

// StripMark begins the names of such marks. A page number and an ID follow, such as 1:250.
const StripMark = "eideticker-strip:"

// Strip notes the mark of a picture. It returns false for other marks.
func (c *Claims) Strip(name string, at int64) bool {
	rest, ok := strings.CutPrefix(name, StripMark)
	page, id, both := strings.Cut(rest, ":")
	if !ok || !both {
		return false
	}
	number, err := strconv.ParseUint(page, 10, 8)
	n, failed := strconv.ParseUint(id, 10, 24)
	if err != nil || failed != nil {
		return false
	}
	if c.Seen(at); len(c.Strips) < MaxStrips {
		c.Strips = append(c.Strips, Strip{uint8(number), uint32(n), at})
	}
	return true
}

// Frame is a frame of a browser or a display.
type Frame struct {
	Begin   int64 // of the display's period that it was made for
	At      int64 // it was presented, or given up
	Verdict Verdict
	Picture int // number of the first stored frame that shows it, from 1; 0: unknown
}

// Verdict is a trace's claim about a frame.
type Verdict uint8

// The verdicts.
const (
	Good    Verdict = iota
	Late            // it was presented after its deadline
	Partial         // it was presented without a part of its changes
	Dropped         // it was not presented
)

// claimModule is the module of functions that stand for verdicts.
const claimModule = "frame claims"

var verdicts = []string{"good frame", "late frame", "partial frame", "dropped frame"}

// VerdictOf returns the verdict that a function stands for.
func VerdictOf(f Function) (Verdict, bool) {
	if f.Module != claimModule {
		return 0, false
	}
	i := slices.Index(verdicts, f.Name)
	return Verdict(max(i, 0)), i >= 0
}

// WriteFrames passes on the frames. Each is an instant with its picture as the value.
func (c *Claims) WriteFrames(to Sink) error {
	for _, f := range c.Frames {
		of := to.Function(Function{Name: verdicts[f.Verdict], Module: claimModule, Lang: Category})
		if err := to.Event(Event{At: f.At, Kind: Instant, Ref: of, Value: int64(f.Picture)}); err != nil {
			return err
		}
	}
	return nil
}

// Limits of claims.
const (
	MaxRequests = 20_000
	MaxAddress  = 64 << 10 // bytes of a request's texts; longer ones are data: addresses
	MaxInputs   = 20_000
	MaxPages    = 1000
	MaxStrips   = 20_000
	MaxFrames   = 100_000
)

// Seen notes a record's time.
func (c *Claims) Seen(at int64) {
	if c.Begin == 0 || at < c.Begin {
		c.Begin = at
	}
	c.End = max(c.End, at)
}

// FromBefore is the kind of an end without its begin. A thread may be in a slice while its trace
// begins, so such a trace is whole. Lost records are counted by themselves.
const FromBefore = "ends of slices that began before the trace"

// Skip counts a damaged record.
func (c *Claims) Skip(kind string) {
	if c.Skipped == nil {
		c.Skipped = map[string]int64{}
	}
	c.Skipped[kind]++
}

// SkippedRecords returns the number of damaged records.
func (c *Claims) SkippedRecords() int64 {
	sum := int64(0)
	for _, n := range c.Skipped {
		sum += n
	}
	return sum
}

// Damaged reports that over 1 % of the records were skipped, or that the file ends too early.
func (c *Claims) Damaged() bool { return c.Truncated || 100*c.SkippedRecords() > c.Records }
