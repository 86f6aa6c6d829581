//go:build !linux

package profile

import (
	"context"
	"math"
	"time"
)

// openers return the reason for which engines are missing.
func openers() []func(context.Context, Options) (engine, error) {
	return []func(context.Context, Options) (engine, error){func(_ context.Context, o Options) (engine, error) {
		if o.native() == none && !o.Sockets && (o.JS == "" || o.JS == none) {
			return nil, nil
		}
		return nil, &missingError{"engines", "this needs Linux", ""}
	}}
}

func freeBytes(string) int64 { return math.MaxInt64 }

func cpuTime(int) time.Duration { return 0 }

func ended(int) bool { return false }
