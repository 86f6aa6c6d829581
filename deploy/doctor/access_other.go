//go:build !linux

package doctor

import "errors"

// Access does not know it here.
func Access(string) error { return errors.ErrUnsupported }
