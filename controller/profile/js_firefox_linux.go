package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/gecko"
	"github.com/eideticker/eideticker/analyze/activity/jsonstream"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/pattern"
)

// firefox records a profile by Firefox's own profiler. At a signal, its first process writes the
// profile of all processes.
type firefox struct {
	tracer
	dir string // of the profile
}

func newFirefox(t tracer) *firefox {
	t.reader = gecko.Read
	return &firefox{tracer: t}
}

func (f *firefox) Prepare(_ context.Context, cmd *exec.Cmd) (err error) {
	if f.dir, _, err = f.prepare(cmd, "firefox"); err != nil {
		return err
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "MOZ_PROFILER_STARTUP=1", "MOZ_PROFILER_STARTUP_FEATURES=js,cpu",
		"MOZ_PROFILER_STARTUP_INTERVAL=1", "MOZ_PROFILER_STARTUP_FILTERS=GeckoMain,DOM Worker,Compositor,Renderer",
		"MOZ_PROFILER_STARTUP_ENTRIES="+strconv.Itoa(firefoxEntries), "MOZ_UPLOAD_DIR="+f.dir)
	return nil
}

// firefoxEntries is the size of a process's buffer. Each entry has 8 bytes.
const firefoxEntries = 16 << 20

func (f *firefox) Started(pid int) {
	f.root = pid
	f.info.BeginNS = int64(timeline.Monotonic().Now())
}

func (f *firefox) Stop(ctx context.Context) (activity.Info, error) {
	if f.root == 0 { // the program was not started
		return f.info, nil
	}
	f.ids = namespaces(f.root)
	if pid := catches(f.root, unix.SIGUSR2); pid == 0 {
		f.failed = errors.New("the browser does not take the signal for its profile")
	} else if f.failed = unix.Kill(pid, unix.SIGUSR2); f.failed == nil {
		f.failed = f.await(ctx)
	}
	f.info.EndNS = int64(timeline.Monotonic().Now())
	return f.info, nil
}

const (
	// gathers is the longest wait for the profiles of Firefox's other processes.
	gathers    = time.Minute
	looksEvery = 100 * time.Millisecond
)

// gathered is the end of a profile of all processes. Firefox first writes that of its first
// process, which may have profiles of processes that have ended.
var gathered = pattern.New(`"profileGatheringLogEnd_TSms":[0-9.]+\}\}+$`)

// await waits until the profile is complete. An incomplete one is a warning.
func (f *firefox) await(ctx context.Context) error {
	tick, late := time.NewTicker(looksEvery), time.NewTimer(gathers)
	defer tick.Stop()
	defer late.Stop()
	var err error
	for last := int64(-1); err == nil; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			err = context.Cause(ctx)
			continue
		case <-late.C:
			err = fmt.Errorf("the browser did not complete its profile within %v", gathers)
			continue
		}
		names, _ := filepath.Glob(filepath.Join(f.dir, "*.json"))
		if len(names) == 0 {
			continue
		}
		f.file = names[0]
		switch now := size(f.file); {
		case now > f.o.Limit:
			err = errors.New("its file reached the limit")
		case now != last: // it grows
			last = now
			late.Reset(gathers)
		case complete(f.file, now):
			return nil
		}
	}
	if f.file == "" {
		return err
	}
	f.warn("The trace is not complete: %v.", err)
	return nil
}

// complete reports whether a file has a whole profile of all processes.
func complete(path string, size int64) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() // only read
	end := make([]byte, min(size, 80))
	if _, err := file.ReadAt(end, size-int64(len(end))); err != nil || !gathered.Match(end) {
		return false
	}
	return jsonstream.New(file).Skip() == nil
}

// catches returns the first process of a tree that has a handler for a signal; 0: none.
func catches(root int, s unix.Signal) (first int) {
	for pid := range descendants(root) {
		mask, err := strconv.ParseUint(status(fmt.Sprintf("/proc/%d/status", pid))["SigCgt"], 16, 64)
		if err == nil && mask>>(s-1)&1 == 1 && (first == 0 || pid == root || first != root && pid < first) {
			first = pid
		}
	}
	return first
}

// status reads a file such as /proc/self/status.
func status(path string) map[string]string {
	all := map[string]string{}
	text, _ := os.ReadFile(path) // empty: it has ended
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		all[key] = strings.TrimSpace(value)
	}
	return all
}

// threadIDs has process and thread as the system numbers them, by the numbers in a sandbox.
type threadIDs map[[2]int32][2]int32

// namespaces returns the threads of a process tree with numbers of their own.
func namespaces(root int) threadIDs {
	ids := threadIDs{}
	for pid := range descendants(root) {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		for _, path := range tasks {
			if numbers := strings.Fields(status(path)["NSpid"]); len(numbers) > 1 {
				outer, err := strconv.Atoi(numbers[0])
				inner, err2 := strconv.Atoi(numbers[len(numbers)-1])
				if err == nil && err2 == nil {
					ids[[2]int32{int32(pid), int32(inner)}] = [2]int32{int32(pid), int32(outer)}
				}
			}
		}
	}
	return ids
}
