//go:build !linux

package doctor

import "errors"

// access does not know it here.
func access(string) error { return errors.ErrUnsupported }
