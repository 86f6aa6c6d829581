//go:build !unix

package raw

import (
	"context"
	"os"
)

// waitReadable does not wait on this system. A read from a pipe blocks, and the end of the context
// is noticed after it.
func waitReadable(ctx context.Context, _ *os.File) error { return ctx.Err() }
