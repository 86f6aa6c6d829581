//go:build race

package ringbuf

// raceEnabled shortens what is only repetition; the schedules with several goroutines run in full.
const raceEnabled = true
