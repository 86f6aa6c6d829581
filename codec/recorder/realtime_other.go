//go:build !linux

package recorder

import (
	"errors"
	"fmt"
)

var errNoRealTime = fmt.Errorf("real time needs Linux: %w", errors.ErrUnsupported)

func pinThread([]int) error        { return errNoRealTime }
func allowedCPUs() ([]int, error)  { return nil, errNoRealTime }
func lockProgram() (func(), error) { return nil, errNoRealTime }
