package stats

import (
	"math"
	"slices"
)

// Confirmation decides with fresh blocks whether a suspected shift is real. A block has one run of
// each build, in random order. If the builds do not differ, the order alone makes each sign of the
// blocks' differences fair. A false "confirmed" then has probability ≤ Alpha, in any noise.
//
// All looks share Alpha in equal parts, as [Looks] do. Each look is an exact one-sided signed-rank
// test over all signs. Ties have the mean of their ranks. Differences of 0 are dropped.
type Confirmation struct {
	Looks     []int   // numbers of blocks, ascending, at most 100
	Alpha     float64 // level of all looks together
	Threshold float64 // smallest shift that matters, ≥ 0
}

// States of a confirmation.
const (
	// Confirmed: p ≤ Alpha ÷ looks, and the shift's estimate is at least the threshold.
	Confirmed = "confirmed"
	// Refuted: the shift's interval lies below the threshold.
	Refuted = "refuted"
	// More: blocks are missing for the next look.
	More = "more"
	// Undecided: the last look was neither Confirmed nor Refuted.
	Undecided = "undecided"
)

// ConfirmationResult is the state after some blocks.
type ConfirmationResult struct {
	State  string   `json:"state"`
	Blocks int      `json:"blocks"` // of the look that decided, or needed in all for the next one
	P      float64  `json:"p"`      // of the newest look, times the number of looks; at most 1
	Shift  Interval `json:"shift"`  // Hodges-Lehmann estimate with its 95 % interval, at that look
}

// DefaultConfirmation looks after 12, 24 and 48 blocks.
func DefaultConfirmation(alpha, threshold float64) Confirmation {
	return Confirmation{[]int{12, 24, 48}, alpha, threshold}
}

// Judge returns the first decision of the looks that the differences suffice for. Differences above
// 0 are in the suspected direction. Those that are not finite count as blocks, and are dropped as
// zeros are. Blocks between two looks change nothing, so that it may be called at any time.
func (c Confirmation) Judge(differences []float64) ConfirmationResult {
	result := ConfirmationResult{State: Undecided, P: 1}
	for _, look := range c.Looks {
		if look > len(differences) {
			result.State, result.Blocks = More, look
			return result
		}
		valid := slices.DeleteFunc(slices.Clone(differences[:look]),
			func(d float64) bool { return math.IsNaN(d) || math.IsInf(d, 0) })
		result.Blocks, result.Shift = look, centreOf(valid, Alpha)
		r := ranksOf(slices.DeleteFunc(valid, func(d float64) bool { return d == 0 }))
		result.P = min(1, r.tail(r.sum-r.positive)*float64(len(c.Looks)))
		switch shift := result.Shift; {
		case result.P <= c.Alpha && shift.Estimate >= c.Threshold:
			result.State = Confirmed
			return result
		case shift.Exists && shift.High < c.Threshold:
			result.State = Refuted
			return result
		}
	}
	return result
}
