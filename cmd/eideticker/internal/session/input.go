package session

import (
	"context"

	"github.com/eideticker/eideticker/controller/input"
)

// openInput returns nil where a display takes no input.
func openInput(context.Context, string) (input.Driver, error) { return nil, nil }
