package session

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/report"
)

// machine is what this machine tells of itself; what it does not tell is left out. Sources:
// os-release(5), proc(5), and cpufreq and thermal of the kernel's sysfs ABI.
func machine() (system, kernel string, env report.Environment) {
	env = report.Environment{}
	system = runtime.GOOS
	for line := range strings.Lines(firstBytes("/etc/os-release")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			system = strings.Trim(name, `"`)
		}
	}
	kernel = strings.TrimSpace(firstBytes("/proc/sys/kernel/osrelease"))
	put(env, report.EnvGovernor, strings.TrimSpace(firstBytes("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")))
	if milli, err := strconv.Atoi(strings.TrimSpace(firstBytes("/sys/class/thermal/thermal_zone0/temp"))); err == nil {
		put(env, report.EnvTemperature, fmt.Sprintf("%.1f °C", float64(milli)/1000))
	}
	return system, kernel, env
}

// ofThisMachine is the environment of a device that is this machine.
func ofThisMachine() report.Environment {
	system, kernel, env := machine()
	put(env, report.EnvOS, system)
	put(env, report.EnvKernel, kernel)
	return env
}

// ofRig is the environment of any device, as far as the rig is part of it.
func ofRig() report.Environment {
	system, kernel, _ := machine()
	env := report.Environment{}
	put(env, report.EnvRigOS, strings.TrimSpace(system+" "+kernel))
	return env
}

func put(env report.Environment, key, value string) {
	if value != "" {
		env[key] = value
	}
}

// firstBytes is the beginning of a small file, or "".
func firstBytes(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() // was only read
	b := make([]byte, 4096)
	n, _ := f.Read(b) // what is not there is not told
	return strings.ToValidUTF8(string(b[:n]), "?")
}
