package machine

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Limits of files that are read.
const (
	maxText      = 1 << 20
	maxProcesses = 1 << 15
	maxName      = 32 // characters of the name of a program or governor
	maxModel     = 96
)

// text returns the content of a file, up to a limit; "": it cannot be read.
func text(root fs.FS, name string) string {
	f, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close() // only read
	b, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(b), "?")
}

// Load returns the load average of the last minute; nil: it is unknown.
func Load(root fs.FS) *float64 {
	first, _, _ := strings.Cut(text(root, "proc/loadavg"), " ")
	return number(first, 0, 1e6)
}

// number returns a number within limits, or nil.
func number(text string, low, high float64) *float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(v >= low && v <= high) {
		return nil
	}
	return &v
}

// Governors returns the governors of the processors' frequency, each once.
func Governors(root fs.FS) []string {
	names := []string{}
	files, _ := fs.Glob(root, "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor") // the pattern is valid
	for _, f := range files {
		if name := printable(text(root, f), maxName); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxPrograms)]
}

// sensors are names of the processors' sensors, the best first. A "*" stands for any letters.
// Acpitz may be elsewhere on the board.
var sensors = []string{"coretemp", "k10temp", "zenpower", "cpu*thermal", "x86_pkg_temp", "cpu*", "acpitz"}

// Temperature returns the highest temperature of the best sensor of the processors, in °C, and its
// name; nil: no such sensor has a possible one.
func Temperature(root fs.FS) (highest *float64, sensor string) {
	best := len(sensors)
	for _, kind := range []struct{ names, values string }{
		{"sys/class/hwmon/hwmon*/name", "temp*_input"}, {"sys/class/thermal/thermal_zone*/type", "temp"},
	} {
		files, _ := fs.Glob(root, kind.names) // the pattern is valid
		for _, f := range files {
			name := printable(text(root, f), maxName)
			rank := slices.IndexFunc(sensors, func(pattern string) bool {
				matched, _ := path.Match(pattern, name) // the pattern is valid
				return matched
			})
			if rank < 0 || rank > best {
				continue
			}
			values, _ := fs.Glob(root, path.Dir(f)+"/"+kind.values) // the pattern is valid
			for _, v := range values {
				milli := number(text(root, v), -50_000, 200_000)
				if milli != nil && (rank < best || *milli/1000 > *highest) {
					celsius := *milli / 1000
					best, highest, sensor = rank, &celsius, name
				}
			}
		}
	}
	return highest, sensor
}

// server returns the process of the X server of a display, by its lock file; 0: it is unknown. Any
// user can write the file, so the process must have the name of an X server.
func server(root fs.FS, display string, all map[int]process) int {
	if display == "" {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text(root, "tmp/.X"+display+"-lock")))
	if err != nil || !strings.HasPrefix(all[pid].name, "X") {
		return 0
	}
	return pid
}

// model returns the name of the processors; "": it is unknown.
func model(root fs.FS) string {
	for line := range strings.Lines(text(root, "proc/cpuinfo")) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return printable(value, maxModel)
		}
	}
	return ""
}

// printable returns the begin of a text without control characters and without spaces at its ends.
func printable(text string, most int) string {
	var out []rune
	for _, r := range strings.TrimSpace(text) {
		if len(out) == most {
			break
		}
		if !unicode.IsPrint(r) {
			r = '?'
		}
		out = append(out, r)
	}
	return strings.TrimSpace(string(out))
}

// parsePressure returns the totals, in seconds, of lines such as "some avg10=0.00 total=12"; nil:
// there are none.
func parsePressure(text string) (w *Pressure) {
	totals := map[string]*float64{}
	for line := range strings.Lines(text) {
		kind, _, _ := strings.Cut(line, " ")
		if _, total, has := strings.Cut(line, " total="); has {
			totals[kind] = number(total, 0, maxCount)
		}
	}
	some, full := totals["some"], totals["full"]
	if some == nil {
		return nil
	}
	if full == nil { // kernels before 5.13 have it for I/O and memory alone
		full = new(float64)
	}
	return &Pressure{*some / 1e6, *full / 1e6}
}

// cpuTime has counters of all processors, in ticks. Interrupts belong to no program, so busy does
// not have them.
type cpuTime struct {
	busy, steal, total float64
	processors         int
}

// parseCPU reads /proc/stat; nil: it has no counters.
func parseCPU(text string) *cpuTime {
	var c cpuTime
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 8 && fields[0] == "cpu":
			n := numbers(fields[1:9]) // user, nice, system, idle, iowait, irq, softirq, steal
			if n == nil {
				return nil
			}
			c.busy, c.steal, c.total = n[0]+n[1]+n[2], n[7], sum(n)
		case len(fields) > 0 && strings.HasPrefix(fields[0], "cpu"):
			c.processors++
		}
	}
	if c.total == 0 {
		return nil
	}
	return &c
}

// maxCount is larger than any counter, and sums of counters stay exact.
const maxCount = 1 << 46

// numbers returns counters; nil: one of them is not a possible one.
func numbers(fields []string) (all []float64) {
	for _, f := range fields {
		v := number(f, 0, maxCount)
		if v == nil {
			return nil
		}
		all = append(all, *v)
	}
	return all
}

func sum(all []float64) (s float64) {
	for _, v := range all {
		s += v
	}
	return s
}

// process is a process at a reading.
type process struct {
	name                   string
	parent, group, session int
	ticks                  float64 // CPU time
	waited                 float64 // that of children that it has waited for
	started                float64
	kernel                 bool // a thread of the kernel
}

// processes reads all processes; nil: /proc is missing, or there are too many.
func processes(root fs.FS) map[int]process {
	entries, err := fs.ReadDir(root, "proc")
	if err != nil {
		return nil
	}
	all := map[int]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid <= 0 {
			continue
		}
		if len(all) == maxProcesses {
			return nil
		}
		if p, ok := parseProcess(text(root, "proc/"+e.Name()+"/stat")); ok { // else it has ended
			all[pid] = p
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// cutName returns the name in /proc/PID/stat, and the text behind it: proc_pid_stat(5). The name
// may have spaces and parentheses.
func cutName(stat string) (name, rest string, ok bool) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return "", "", false
	}
	return printable(stat[open+1:end], maxName), stat[end+1:], true
}

// parseProcess reads /proc/PID/stat.
func parseProcess(text string) (p process, ok bool) {
	name, rest, ok := cutName(text)
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return p, false
	}
	const kernelThread = 0x200000 // PF_KTHREAD of the kernel's sched.h
	ids, used, started := numbers(fields[1:4]), numbers(fields[11:15]), number(fields[19], 0, maxCount)
	flags := number(fields[6], 0, maxCount)
	if ids == nil || used == nil || started == nil || flags == nil {
		return p, false
	}
	return process{name, int(ids[0]), int(ids[1]), int(ids[2]), sum(used[:2]),
		sum(used[2:]), *started, int64(*flags)&kernelThread != 0}, true
}
