//go:build !linux

package doctor

import "errors"

// freeBytes is for Linux.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
