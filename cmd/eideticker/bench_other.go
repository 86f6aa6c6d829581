//go:build !linux

package main

import (
	"errors"
	"os"
)

func dropFromCache(string) error { return errors.ErrUnsupported }

// peakMemory returns 0: unknown here.
func peakMemory(*os.ProcessState) int64 { return 0 }
