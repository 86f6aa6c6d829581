package suite

import "time"

// Bounds of what a file may ask for.
const (
	MaxFile     = 64 << 10 // bytes
	maxNesting  = 4        // repeat steps within each other
	maxSteps    = 100_000  // that one run does, repeated ones counted
	MaxRuns     = 10_000
	MaxDuration = 24 * time.Hour
)
