//go:build race

package ringbuf

// raceEnabled shortens repetitions. The schedules with several goroutines run in full.
const raceEnabled = true
