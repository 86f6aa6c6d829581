package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// dropFromCache asks the kernel to forget what it keeps of a file's contents.
func dropFromCache(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // was only read
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// peakMemory returns the most bytes of memory that an ended process had resident.
func peakMemory(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10 // KiB, see getrusage(2)
}
