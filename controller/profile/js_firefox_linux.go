package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
		f.failed = errors.New("Firefox does not take the signal for its profile")
	} else if f.failed = unix.Kill(pid, unix.SIGUSR2); f.failed == nil {
		f.failed = f.await(ctx)
	}
	f.info.EndNS = int64(timeline.Monotonic().Now())
	return f.info, nil
}

// await waits until the profile is complete. An incomplete one is a warning.
func (f *firefox) await(ctx context.Context) error {
	t := &growing{ctx: ctx, pattern: filepath.Join(f.dir, "*.json"), limit: f.o.Limit}
	err := jsonstream.New(t).Skip()
	if t.file == nil {
		return err
	}
	f.file = t.file.Name()
	if err = cmp.Or(t.failed, err); err != nil {
		f.warn("The trace ends early: %v.", err)
	}
	return t.file.Close()
}

// growing reads a file that another process creates and writes.
type growing struct {
	ctx     context.Context
	pattern string
	limit   int64
	file    *os.File
	failed  error
}

// growsEvery is the time between two looks at a growing file.
const growsEvery = 50 * time.Millisecond

// Read waits for at least one byte.
func (g *growing) Read(b []byte) (n int, err error) {
	tick, late := time.NewTicker(growsEvery), time.NewTimer(patience)
	defer tick.Stop()
	defer late.Stop()
	for {
		if names, _ := filepath.Glob(g.pattern); g.file == nil && len(names) > 0 {
			if g.file, err = os.Open(names[0]); err != nil {
				return 0, err
			}
		}
		if g.file != nil {
			n, err = g.file.Read(b)
			if g.limit -= int64(n); g.limit < 0 {
				n, err = 0, errors.New("its file reached the limit")
			}
			if n > 0 || err != nil && !errors.Is(err, io.EOF) {
				g.failed = err
				return n, err
			}
		}
		select {
		case <-tick.C:
			continue
		case <-g.ctx.Done():
			err = context.Cause(g.ctx)
		case <-late.C:
			err = fmt.Errorf("Firefox wrote nothing for %v", patience)
		}
		g.failed = err
		return 0, err
	}
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
