package activity

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

// Limits of claims.
const (
	MaxRequests = 20_000
	MaxAddress  = 64 << 10 // bytes of a request's texts; longer ones are data: addresses
	MaxInputs   = 20_000
)

// Seen notes a record's time.
func (c *Claims) Seen(at int64) {
	if c.Begin == 0 || at < c.Begin {
		c.Begin = at
	}
	c.End = max(c.End, at)
}

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
