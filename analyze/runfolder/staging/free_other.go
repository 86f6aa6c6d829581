//go:build !linux && !darwin

package staging

import "errors"

// FreeBytes is for systems that tell.
func FreeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
