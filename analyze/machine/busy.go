package machine

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Frames of animations have shorter tasks. A longer look would miss a task that ends
// meanwhile, and draws.
const (
	busySamples = 5
	busyStep    = 15 * time.Millisecond
	// busyMisses is the number of samples in which a busy thread may wait for memory.
	busyMisses = 1
)

// Busy returns the name of a thread that needs a processor for 75 ms: it runs, or waits for one. It
// is one of a process or of its descendants. "": no thread does, or this is unknown.
func Busy(ctx context.Context, pid int) string { return busy(ctx, os.DirFS("/"), pid, busyStep) }

func busy(ctx context.Context, root fs.FS, pid int, step time.Duration) string {
	missed := map[string]int{} // by the file of a thread
	names := map[string]string{}
	for one := range tree(processes(root), pid) {
		threads, _ := fs.Glob(root, fmt.Sprintf("proc/%d/task/*/stat", one)) // the pattern is valid
		for _, file := range threads {
			if name, needs := needsProcessor(text(root, file)); needs {
				missed[file], names[file] = 0, name
			}
		}
	}
	tick := time.NewTicker(step)
	defer tick.Stop()
	for range busySamples {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ""
		}
		for file := range missed {
			if _, needs := needsProcessor(text(root, file)); !needs {
				missed[file]++
			}
			if missed[file] > busyMisses {
				delete(missed, file)
			}
		}
	}
	found := ""
	for file := range missed {
		if name := names[file]; found == "" || name < found {
			found = name
		}
	}
	return found
}

// needsProcessor reads /proc/PID/task/TID/stat. Firefox's profiler stops a thread by SIGPROF for
// each sample. Its handler waits then, and blocks that signal alone.
func needsProcessor(stat string) (name string, needs bool) {
	const blocked, profiling = 29, "67108864" // the field behind the name, 1 << (SIGPROF - 1)
	name, state, ok := cutName(stat)
	fields := strings.Fields(state)
	return name, ok && (strings.HasPrefix(state, " R") || len(fields) > blocked && fields[blocked] == profiling)
}
