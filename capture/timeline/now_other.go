//go:build !linux && !darwin && !freebsd

package timeline

import "time"

var started = time.Now()

func now() Time { return Time(time.Since(started)) }
