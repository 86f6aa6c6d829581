//go:build !linux

package doctor

func clockSyncNow() ClockSync { return ClockSync{} }
