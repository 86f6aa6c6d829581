package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
)

// box is a machine made of files.
func box(content map[string]string) fs.FS {
	files := fstest.MapFS{}
	for name, text := range content {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// stat is a line of /proc/PID/stat.
func stat(pid int, name string, parent, group, session, user, started int) string {
	return fmt.Sprintf("%d (%s) S %d %d %d 0 -1 4194304 98 0 0 0 %d 0 0 0 20 0 1 0 %d 3133440 345", pid, name, parent,
		group, session, user, started)
}

// cpuLine is the first line of /proc/stat, with two processors.
func cpuLine(user, idle, irq, steal int) string {
	return fmt.Sprintf("cpu  %d 0 0 %d 0 %d 0 %d 0 0\ncpu0 1 0\ncpu1 1 0\nintr 1 2 3\n", user, idle, irq, steal)
}

// between returns the activity between two states of a machine, one second apart.
func between(before, after map[string]string) *Activity {
	b, e := take(box(before), 100, "7"), take(box(after), 100, "7")
	e.at = b.at.Add(time.Second)
	return b.until(e)
}

// TestActivity: the run's own processes are left out, also a helper without a parent. Other
// programs are named by their CPU time.
func TestActivity(t *testing.T) {
	before := map[string]string{
		"proc/stat": cpuLine(1000, 5000, 70, 10), "proc/loadavg": "0.75 0.50 0.25 1/100 7\n",

		"proc/cpuinfo":         "processor : 0\nmodel name\t: A Chip\n",
		"proc/pressure/cpu":    "some avg10=1.00 total=1000\nfull avg10=0.00 total=0\n",
		"proc/pressure/memory": "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n",

		"sys/class/thermal/thermal_zone0/type":                  "x86_pkg_temp\n",
		"sys/class/thermal/thermal_zone0/temp":                  "61000\n",
		"sys/class/hwmon/hwmon0/name":                           "coretemp\n",
		"sys/class/hwmon/hwmon0/temp1_input":                    "52500\n",
		"sys/class/hwmon/hwmon0/temp2_input":                    "-273000\n", // no sensor
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":  "powersave\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":  "performance\n",
		"sys/devices/system/cpu/cpu10/cpufreq/scaling_governor": "powersave\n",
		"proc/1/stat":   stat(1, "init", 0, 1, 1, 500, 1),
		"proc/50/stat":  stat(50, "shell", 1, 50, 50, 5, 2),
		"proc/51/stat":  stat(51, "idle one", 50, 51, 50, 5, 3),
		"proc/60/stat":  stat(60, "burn", 50, 60, 50, 700, 4),
		"proc/61/stat":  stat(61, "reused", 50, 60, 50, 9000, 5),
		"proc/100/stat": stat(100, "eideticker", 50, 100, 50, 10, 6),
		"proc/101/stat": stat(101, "browser", 100, 101, 101, 10, 7),
		"proc/102/stat": stat(102, "tab", 101, 102, 101, 10, 8),
		"proc/self":     "", "proc/110/other": "", "proc/120/stat": "120 (broken",
	}
	after := map[string]string{}
	for name, text := range before {
		after[name] = text
	}
	for name, text := range map[string]string{
		"proc/stat":                          cpuLine(1100, 5080, 80, 20), // 200 ticks
		"proc/pressure/cpu":                  "some total=251000\nfull total=0\n",
		"sys/class/hwmon/hwmon0/temp1_input": "50000\n",
		"proc/60/stat":                       stat(60, "burn", 50, 60, 50, 730, 4),
		"proc/61/stat":                       stat(61, "re) used", 50, 60, 50, 4, 900), // another process of this id
		"proc/101/stat":                      stat(101, "browser", 100, 101, 101, 40, 7),
		"proc/103/stat":                      stat(103, "helper", 1, 102, 103, 20, 901), // its parent has ended
		"proc/104/stat":                      stat(104, "helper's", 103, 104, 104, 8, 902),
	} {
		after[name] = text
	}
	got := between(before, after)
	raw := analyzetest.Must(json.Marshal(got))(t)
	want := `{"processors":2,"model":"A Chip","load_average":0.75,` +
		`"cpu_pressure":{"some_fraction":0.25,"full_fraction":0},"io_pressure":null,` +
		`"memory_pressure":{"some_fraction":0,"full_fraction":0},"steal_fraction":0.05,"others_fraction":0.21,` +
		`"programs":["burn","re) used"],"temperature_celsius":52.5,"temperature_sensor":"coretemp",` +
		`"governors":["performance","powersave"],` +
		`"noise":"other programs used 21 % of the CPU time (burn, re) used); ` +
		`the host of this virtual machine took 5 % of the CPU time"}`
	if string(raw) != want {
		t.Errorf("%s, want\n%s", raw, want)
	}
}

// TestAbsent: a machine that states nothing has unknown values, and is not noisy.
func TestAbsent(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"nothing":     {},
		"text":        {"proc/stat": "cpu", "proc/loadavg": "NaN", "proc/pressure/cpu": "some total=-1\nfull\n"},
		"backwards":   {"proc/stat": cpuLine(10, 10, 0, 0), "proc/loadavg": "1e300"},
		"no steal":    {"proc/stat": "cpu 1 2 3 4 5 6 7\n", "proc/loadavg": "-1"},
		"large":       {"proc/stat": "cpu " + strings.Repeat("9223372036854775807 ", 10) + "\n"},
		"not numbers": {"proc/stat": "cpu a b c d e f g h i j\n", "sys/class/thermal/thermal_zone0/temp": "1e999"},
	} {
		got := between(files, files)
		if _, known := got.Disturbance(); known || got.Noise != "" || got.Load != nil || got.CPU != nil ||
			got.Temperature != nil || got.Programs == nil || got.Governors == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	elsewhere := map[string]string{"proc/7/stat": stat(7, "e", 1, 7, 7, 1, 1), "proc/stat": cpuLine(1, 1, 0, 0)}
	later := map[string]string{"proc/7/stat": elsewhere["proc/7/stat"], "proc/stat": cpuLine(101, 1, 0, 0)}
	if got := between(elsewhere, later); got.Others != nil || got.Noise != "" {
		t.Errorf("/proc of another PID namespace: %+v", got)
	}
	if _, known := (*Activity)(nil).Disturbance(); known {
		t.Error("a record without activity has a disturbance")
	}
}

// TestEnded: a parallel run's browser that ends is not another program. A shell that waited for a
// program of hours is not one that used them.
func TestEnded(t *testing.T) {
	waited := func(text string, ticks int) string {
		return strings.Replace(text, " 0 0 0 20 ", fmt.Sprintf(" 0 %d 0 20 ", ticks), 1)
	}
	before := map[string]string{"proc/stat": cpuLine(10000, 10000, 0, 0),
		"proc/100/stat": stat(100, "eideticker", 1, 100, 100, 10, 1),
		"proc/200/stat": stat(200, "parallel", 100, 200, 100, 500, 2),
		"proc/201/stat": stat(201, "its tab", 200, 200, 100, 6000, 3), // init waits for it
		"proc/300/stat": stat(300, "browser", 100, 300, 100, 10, 4),
		"proc/400/stat": stat(400, "shell", 1, 400, 400, 1, 5),
		"proc/401/stat": stat(401, "build", 400, 401, 400, 8000, 6)}
	after := map[string]string{"proc/stat": cpuLine(10160, 10040, 0, 0),
		"proc/100/stat": waited(stat(100, "eideticker", 1, 100, 100, 20, 1), 510),
		"proc/300/stat": stat(300, "browser", 1, 300, 300, 130, 4), // it lost its parent
		"proc/301/stat": stat(301, "tab", 100, 301, 100, 20, 7),
		"proc/400/stat": waited(stat(400, "shell", 1, 400, 400, 1, 5), 8001)}
	if got := between(before, after); *got.Others != 0.05 || len(got.Programs) > 0 {
		t.Errorf("others %v, %q", *got.Others, got.Programs)
	}
}

// TestPrograms: at most five names, each printable and short, those with the most time first.
func TestPrograms(t *testing.T) {
	before := map[string]string{"proc/stat": cpuLine(0, 1, 0, 0), "proc/100/stat": stat(100, "e", 1, 100, 100, 0, 1)}
	after := map[string]string{"proc/stat": cpuLine(1000, 1, 0, 0), "proc/100/stat": stat(100, "e", 1, 100, 100, 0, 1)}
	for i := range 9 {
		after[fmt.Sprintf("proc/%d/stat", 200+i)] = stat(200+i, fmt.Sprintf("p%d\n\x1b\xff", i), 1, 0, 0, 20+i, 2)
	}
	after["proc/300/stat"] = stat(300, strings.Repeat("ü", 500), 1, 300, 300, 90, 2)
	got := between(before, after).Programs
	if want := []string{strings.Repeat("ü", maxName), "p8???", "p7???", "p6???", "p5???"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzParse: text of any kind is read without a panic, and names stay short and printable.
func FuzzParse(f *testing.F) {
	f.Add(stat(1, "a) (b", 2, 3, 4, 5, 6))
	f.Add(cpuLine(1, 2, 3, 4))
	f.Add("some avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551615\n")
	f.Add(") (")
	f.Add("0 () S -1 9223372036854775807 0")
	f.Add(stat(1, strings.Repeat("0", maxName-1)+" b", 1, 1, 1, 0, 0)) // the cut leaves a space at the end
	f.Fuzz(func(t *testing.T, text string) {
		root := box(map[string]string{"proc/stat": text, "proc/loadavg": text, "proc/pressure/io": text,
			"proc/cpuinfo": text, "proc/100/stat": text, "sys/class/thermal/thermal_zone0/temp": text})
		s := take(root, 100, "")
		a := s.until(take(root, 100, ""))
		p := s.processes[100]
		if len([]rune(p.name)) > maxName || printable(p.name, maxName) != p.name || p.ticks < 0 {
			t.Errorf("%+v", p)
		}
		if len([]rune(a.Model)) > maxModel {
			t.Errorf("model %q", a.Model)
		}
		if _, err := json.Marshal(a); err != nil { // NaN
			t.Error(err)
		}
	})
}

// TestAwaitQuiet: the wait ends two seconds after the last noise, or at its limit, or with ctx.
func TestAwaitQuiet(t *testing.T) {
	canceled := errors.New("canceled")
	for _, tc := range []struct {
		name          string
		noisy, cancel time.Duration // from the begin on
		limit, want   time.Duration
		noise         bool
	}{
		{"quiet", 0, 0, time.Minute, 2 * time.Second, false},
		{"noisy for a while", 5 * time.Second, 0, time.Minute, 8 * time.Second, false},
		{"noisy", time.Hour, 0, 9 * time.Second, 10 * time.Second, true},
		{"interrupted", time.Hour, 5 * time.Second, time.Minute, 5 * time.Second, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tc.cancel > 0 {
					time.AfterFunc(tc.cancel, func() { cancel(canceled) })
				}
				began := time.Now()
				noise, err := awaitQuiet(ctx, tc.limit, func() *Sample {
					past := time.Since(began)
					busy := min(past, tc.noisy)
					return take(box(map[string]string{
						"proc/100/stat": stat(100, "eideticker", 1, 100, 100, 0, 1),
						"proc/stat":     cpuLine(1+int(busy.Milliseconds()), 1+int((past-busy).Milliseconds()), 0, 0),
					}), 100, "")
				})
				if took := time.Since(began); took != tc.want || (noise != "") != tc.noise ||
					errors.Is(err, canceled) != (tc.cancel > 0) {
					t.Errorf("%v, noise %q, error %v, want %v and noise %t", took, noise, err, tc.want, tc.noise)
				}
			})
		})
	}
}

// TestTemperature: the processors' best sensor counts, and not the hottest one of the machine.
func TestTemperature(t *testing.T) {
	hwmon := func(n int, name string, values ...string) map[string]string {
		files := map[string]string{fmt.Sprintf("sys/class/hwmon/hwmon%d/name", n): name + "\n"}
		for i, v := range values {
			files[fmt.Sprintf("sys/class/hwmon/hwmon%d/temp%d_input", n, i+1)] = v + "\n"
		}
		return files
	}
	zone := func(n int, kind, value string) map[string]string {
		dir := fmt.Sprintf("sys/class/thermal/thermal_zone%d/", n)
		return map[string]string{dir + "type": kind + "\n", dir + "temp": value + "\n",
			dir + "trip_point_0_temp": "110000\n"}
	}
	for _, tc := range []struct {
		name   string
		files  []map[string]string
		want   float64 // 0: unknown
		sensor string
	}{
		{"a desk", []map[string]string{hwmon(0, "acpitz", "27800"), hwmon(1, "nvme", "88850"),
			hwmon(2, "coretemp", "51000", "49000", "53000"), hwmon(3, "iwlwifi_1", "90000"), zone(0, "acpitz", "27800"),
			zone(1, "x86_pkg_temp", "54000")}, 53, "coretemp"},
		{"AMD", []map[string]string{hwmon(0, "amdgpu", "99000"), hwmon(1, "k10temp", "61375"),
			zone(0, "acpitz", "70000")}, 61.375, "k10temp"},
		{"two sockets", []map[string]string{hwmon(10, "coretemp", "40000"), hwmon(2, "coretemp", "45000")}, 45,
			"coretemp"},
		{"a small board", []map[string]string{hwmon(0, "cpu_thermal", "48686"), hwmon(1, "rpi_volt"),
			zone(0, "cpu-thermal", "48700")}, 48.7, "cpu-thermal"},
		{"a phone's chip", []map[string]string{zone(0, "gpu-usr", "80000"), zone(1, "cpu-0-0-usr", "43000")}, 43,
			"cpu-0-0-usr"},
		{"package alone", []map[string]string{zone(0, "acpitz", "90000"), zone(1, "x86_pkg_temp", "44000")}, 44,
			"x86_pkg_temp"},
		{"a dead sensor", []map[string]string{hwmon(0, "coretemp", "-273000"), zone(0, "acpitz", "33000")}, 33,
			"acpitz"},
		{"nothing of the processors", []map[string]string{hwmon(0, "nvme", "41000"), zone(0, "iwlwifi", "50000"),
			zone(1, "", "50000")}, 0, ""},
	} {
		files := map[string]string{}
		for _, f := range tc.files {
			maps.Copy(files, f)
		}
		celsius, sensor := Temperature(box(files))
		if sensor != tc.sensor || (celsius != nil) != (tc.want != 0) || celsius != nil && *celsius != tc.want {
			t.Errorf("%s: %v of %q, want %v of %q", tc.name, celsius, sensor, tc.want, tc.sensor)
		}
	}
}

// TestOwn: kernel threads and the X server of the run's display are not other programs.
func TestOwn(t *testing.T) {
	thread := func(text string) string { return strings.Replace(text, " 4194304 ", " 2129984 ", 1) }
	for _, tc := range []struct {
		name, lock string
		others     float64
		programs   []string
	}{
		{"the run's display", "       300\n", 0.10, []string{"Xorg", "burn"}},
		{"another display", "", 0.30, []string{"Xwayland", "Xorg", "burn"}},
		{"not a number", "0x12c\n", 0.30, []string{"Xwayland", "Xorg", "burn"}},
		{"a lock of another program", "302\n", 0.30, []string{"Xwayland", "Xorg", "burn"}},
		{"a lock of none", "999\n", 0.30, []string{"Xwayland", "Xorg", "burn"}},
	} {
		files := func(busy int) map[string]string {
			m := map[string]string{"proc/stat": cpuLine(busy, 1000, 0, 0),
				"proc/100/stat": stat(100, "eideticker", 1, 100, 100, 0, 1),
				"proc/2/stat":   thread(stat(2, "kthreadd", 0, 0, 0, 0, 1)),
				"proc/20/stat":  thread(stat(20, "kworker/0:1-ev", 2, 0, 0, busy*3/10, 1)),
				"proc/300/stat": stat(300, "Xwayland", 250, 250, 250, busy*2/10, 1),
				"proc/301/stat": stat(301, "Xorg", 250, 250, 250, busy*6/100, 1),
				"proc/302/stat": stat(302, "burn", 250, 250, 250, busy*4/100, 1)}
			if tc.lock != "" {
				m["tmp/.X7-lock"] = tc.lock
			}
			return m
		}
		before, after := files(0), files(1000)
		before["proc/stat"], after["proc/stat"] = cpuLine(1000, 1000, 0, 0), cpuLine(1600, 1400, 0, 0)
		got := between(before, after)
		if got.Others == nil || math.Abs(*got.Others-tc.others) > 1e-9 || !slices.Equal(got.Programs, tc.programs) {
			t.Errorf("%s: others %v, %q, want %v, %q", tc.name, *got.Others, got.Programs, tc.others, tc.programs)
		}
	}
}
