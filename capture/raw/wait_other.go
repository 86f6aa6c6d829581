//go:build !unix

package raw

import (
	"context"
	"os"
)

// waitReadable cannot wait here: a read from a pipe takes as long as it takes, and the
// end of the context is seen after it.
func waitReadable(ctx context.Context, _ *os.File) error { return ctx.Err() }
