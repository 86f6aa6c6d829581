package profile

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// scriptFlags make V8 write the names of compiled functions to /tmp/perf-PID.map.
const scriptFlags = "--perf-basic-prof --interpreted-frames-native-stack"

// nameScripts changes a command so that functions of JavaScript have names. It returns the reason
// for which they have none. Node's log goes to a folder: V8 writes one besides the map.
func nameScripts(cmd *exec.Cmd, logs string) (named bool, why string) {
	switch program := filepath.Base(cmd.Path); {
	case program == "node":
		flags := append(strings.Fields(scriptFlags), "--logfile="+filepath.Join(logs, "v8.log"))
		cmd.Args = slices.Insert(cmd.Args, 1, flags...)
	case !strings.Contains(program, "chrom"):
		return false, program + " does not write maps of its functions"
	case !slices.Contains(cmd.Args, "--no-sandbox"):
		return false, "Chromium's sandbox keeps pages from writing files"
	default:
		const option = "--js-flags="
		at := slices.IndexFunc(cmd.Args, func(arg string) bool { return strings.HasPrefix(arg, option) })
		if at >= 0 {
			cmd.Args[at] += " " + scriptFlags
		} else {
			cmd.Args = slices.Insert(cmd.Args, 1, option+scriptFlags)
		}
	}
	return true, ""
}

// removeMaps removes the maps of processes that have ended.
func removeMaps(processes []int32) {
	for _, pid := range processes {
		_ = os.Remove("/tmp/perf-" + strconv.Itoa(int(pid)) + ".map") // most wrote none
	}
}

// processNames returns names such as "chromium renderer" of a browser's processes.
func processNames(root int) map[int32]string {
	names := map[int32]string{}
	for pid := range descendants(root) {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")                // empty: it has ended
		args := strings.Split(strings.ReplaceAll(string(line), " --", "\x00--"), "\x00") // Chromium joins them
		for _, arg := range args {
			if kind, ok := strings.CutPrefix(arg, "--type="); ok {
				names[int32(pid)] = filepath.Base(args[0]) + " " + kind
			}
		}
	}
	return names
}

// stat returns the fields of a process from its state on; nil: it has ended.
func stat(pid int) []string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// cpuTime returns the time on a CPU of a profiler's descendants, with those that ended.
func cpuTime(root int) (sum time.Duration) {
	const tick = time.Second / 100
	for pid := range descendants(root) {
		fields := stat(pid)
		for i := 11; i < 15 && i < len(fields) && pid != root; i++ {
			ticks, _ := strconv.Atoi(fields[i])
			sum += time.Duration(ticks) * tick
		}
	}
	return sum
}

// ended reports whether a process has ended.
func ended(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// freeBytes returns the free bytes of the disk of a folder.
func freeBytes(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return math.MaxInt64 // engines report their own errors
	}
	return int64(s.Bavail) * s.Bsize
}

// descendants returns a process and those that it started, with theirs, as far as they run.
func descendants(root int) map[int]bool {
	parents := map[int]int{}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if fields := stat(pid); err == nil && len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	all := map[int]bool{}
	for pid := range parents {
		ancestor := pid
		for n := 0; n < 64 && ancestor > 1 && ancestor != root; n++ {
			ancestor = parents[ancestor]
		}
		if ancestor == root {
			all[pid] = true
		}
	}
	return all
}
