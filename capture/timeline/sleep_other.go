//go:build !linux

package timeline

import "time"

func sleepUntil(t Time) { time.Sleep(t.Sub(now())) }
