// Package machine measures the activity of this machine beside a run: other programs, stolen time,
// pressure, temperature. Without /proc and /sys, values are unknown.
package machine

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Activity is the activity of the machine during a run. Unknown numbers are nil. Fractions of CPU
// time are of all processors together.
type Activity struct {
	Processors int    `json:"processors"` // 0: unknown
	Model      string `json:"model"`      // of the processors; "": unknown
	// Load is the load average of the minute before the run.
	Load   *float64  `json:"load_average"`
	CPU    *Pressure `json:"cpu_pressure"`
	IO     *Pressure `json:"io_pressure"`
	Memory *Pressure `json:"memory_pressure"`
	Steal  *float64  `json:"steal_fraction"` // CPU time that the host of a virtual machine took
	// Others is the CPU time of programs that are not of the run. Kernel threads and the X server of
	// the run's display work for the run.
	Others *float64 `json:"others_fraction"`
	// Programs are the names of the other programs with the most CPU time, at most 5.
	Programs    []string `json:"programs"`
	Temperature *float64 `json:"temperature_celsius"` // the processors' highest at the begin and the end
	Sensor      string   `json:"temperature_sensor"`  // that states it; "": unknown
	Governors   []string `json:"governors"`           // of the processors, each once
	// Noise states why the run was noisy; "": it was not, or this is unknown.
	Noise string `json:"noise"`
}

// Pressure is the share of the run in which some or all tasks waited for a resource.
type Pressure struct {
	Some float64 `json:"some_fraction"`
	Full float64 `json:"full_fraction"`
}

// Noisy is the disturbance of a noisy run. docs/compare.md has the reasons.
const Noisy = 0.10

// Disturbance returns the share of the CPU time that other programs and the host of a virtual
// machine took; false: it is unknown.
func (a *Activity) Disturbance() (share float64, known bool) {
	if a == nil || a.Others == nil || a.Steal == nil {
		return 0, false
	}
	return *a.Others + *a.Steal, true
}

// noise states why a run was noisy.
func (a *Activity) noise() string {
	if d, known := a.Disturbance(); !known || d < Noisy {
		return ""
	}
	var why []string
	if *a.Others >= leastShare {
		text := fmt.Sprintf("other programs used %.0f %% of the CPU time", 100**a.Others)
		if len(a.Programs) > 0 {
			text += " (" + strings.Join(a.Programs, ", ") + ")"
		}
		why = append(why, text)
	}
	if *a.Steal >= leastShare {
		why = append(why, fmt.Sprintf("the host of this virtual machine took %.0f %% of the CPU time", 100**a.Steal))
	}
	return strings.Join(why, "; ")
}

// Sample is a reading of the machine's counters.
type Sample struct {
	root        fs.FS
	self        int
	display     string // number of the run's X display; "": none
	at          time.Time
	load        *float64
	temperature *float64
	sensor      string
	pressure    [3]*Pressure // totals in s, of CPU, I/O and memory; nil: unknown
	cpu         *cpuTime
	processes   map[int]process // nil: unknown
	server      int             // the X server of the run's display; 0: unknown
}

// Begin reads the counters of this machine at the begin of a run. A display is the number of the
// run's X display; "": it has none.
func Begin(display string) *Sample { return take(os.DirFS("/"), os.Getpid(), display) }

// End reads the counters again. It returns the activity between both readings.
func (s *Sample) End() *Activity { return s.until(take(s.root, s.self, s.display)) }

func take(root fs.FS, self int, display string) *Sample {
	s := &Sample{root: root, self: self, display: display, at: time.Now(), load: Load(root),
		cpu: parseCPU(text(root, "proc/stat")), processes: processes(root)}
	s.temperature, s.sensor = Temperature(root)
	s.server = server(root, display, s.processes)
	for i, name := range []string{"cpu", "io", "memory"} {
		s.pressure[i] = parsePressure(text(root, "proc/pressure/"+name))
	}
	return s
}

// until returns the activity between two readings.
func (s *Sample) until(end *Sample) *Activity {
	a := &Activity{Load: s.load, Temperature: s.temperature, Governors: Governors(s.root), Programs: []string{},
		Model: model(s.root)}
	if a.Sensor = s.sensor; s.temperature == nil {
		a.Temperature, a.Sensor = end.temperature, end.sensor
	} else if end.sensor == s.sensor && *end.temperature > *s.temperature {
		a.Temperature = end.temperature
	}
	took := end.at.Sub(s.at).Seconds()
	for i, to := range []**Pressure{&a.CPU, &a.IO, &a.Memory} {
		if before, after := s.pressure[i], end.pressure[i]; before != nil && after != nil && took > 0 {
			*to = &Pressure{*share(after.Some-before.Some, took), *share(after.Full-before.Full, took)}
		}
	}
	if s.cpu == nil || end.cpu == nil || end.cpu.total <= s.cpu.total {
		return a
	}
	a.Processors = end.cpu.processors
	all := end.cpu.total - s.cpu.total
	a.Steal = share(end.cpu.steal-s.cpu.steal, all)
	_, begun := s.processes[s.self]
	if _, there := end.processes[s.self]; begun && there { // else /proc is of another PID namespace
		own, programs := s.divide(end, all)
		a.Others, a.Programs = share(end.cpu.busy-s.cpu.busy-own, all), programs
	}
	a.Noise = a.noise()
	return a
}

// share returns a part of a whole, within 0 and 1.
func share(part, whole float64) *float64 {
	v := min(max(part/whole, 0), 1)
	return &v
}

const (
	maxPrograms = 5
	// leastShare is the CPU time of a program that is named, as a share of all.
	leastShare = 0.01
	maxDepth   = 64 // of processes in a row that have ended
)

// divide returns the CPU time of the run's own processes, and the names of others. Kernel threads
// and the X server of the run's display count as its own.
func (s *Sample) divide(end *Sample, all float64) (own float64, programs []string) {
	before, after, ended := tree(s.processes, s.self), tree(end.processes, s.self), s.ended(end)
	used := map[string]float64{}
	for pid, p := range end.processes {
		earlier, same := s.processes[pid], s.same(end, pid)
		if !same {
			earlier = process{}
		}
		ticks := p.ticks - earlier.ticks + max(p.waited-earlier.waited-ended[pid], 0)
		if after[pid] || same && before[pid] || p.kernel || pid == end.server {
			own += ticks
		} else {
			used[p.name] += ticks
		}
	}
	maps.DeleteFunc(used, func(_ string, ticks float64) bool { return ticks < leastShare*all })
	programs = slices.SortedFunc(maps.Keys(used), func(a, b string) int {
		return cmp.Or(cmp.Compare(used[b], used[a]), strings.Compare(a, b))
	})
	return own, append([]string{}, programs[:min(len(programs), maxPrograms)]...)
}

// same reports whether a process was there at both readings.
func (s *Sample) same(end *Sample, pid int) bool {
	p, there := s.processes[pid]
	return there && p.started == end.processes[pid].started
}

// ended returns the earlier CPU time of processes that have ended, by their nearest ancestor that
// has not. The ancestor may have waited for them, or init has.
func (s *Sample) ended(end *Sample) map[int]float64 {
	ticks := map[int]float64{}
	for pid, p := range s.processes {
		if s.same(end, pid) {
			continue
		}
		ancestor := p.parent
		for range maxDepth {
			if s.same(end, ancestor) {
				break
			}
			ancestor = s.processes[ancestor].parent
		}
		ticks[ancestor] += p.ticks + p.waited
	}
	return ticks
}

// tree returns the processes of a run: those below self, and those that share a process group or
// a session with one of them. Helpers of a browser that lost their parent are found by the latter.
func tree(all map[int]process, self int) map[int]bool {
	own, groups, sessions := map[int]bool{}, map[int]bool{}, map[int]bool{}
	me, there := all[self]
	if !there {
		return own
	}
	own[self] = true
	for grew := true; grew; {
		grew = false
		for pid, p := range all {
			if own[pid] || !own[p.parent] && !groups[p.group] && !sessions[p.session] {
				continue
			}
			own[pid], grew = true, true
			groups[p.group] = p.group > 0 && p.group != me.group
			sessions[p.session] = p.session > 0 && p.session != me.session
		}
	}
	return own
}
