//go:build linux && !rigvm

package rigvm

import (
	"strings"
	"testing"
	"time"
)

func TestConfig(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
		want string // in the error
	}{
		{"too little memory", Config{MemoryMB: 1}, "memory of 1 MB"},
		{"too many processors", Config{CPUs: 1000}, "1000 processors"},
		{"negative timeout", Config{Timeout: -time.Second}, "negative"},
		{"no time to prepare", Config{PrepareTimeout: -time.Second}, "negative"},
		{"disk without a path", Config{Disk: &Disk{}}, "it needs a path"},
		{"disk too small", Config{Disk: &Disk{Path: "x", MB: 1}}, "8 to 65536 MB"},
		{"two kernel parameters in one", Config{KernelParams: []string{"a b"}}, `"a b" is not one word`},
		{"relative path", Config{Files: map[string]string{"x": "/y"}}, `path "x" in the guest`},
		{"module", Config{Modules: []Module{{Name: "a b"}}}, `"a b" is not a name`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := start(t.Context(), tc.cfg)
			if err == nil || !strings.HasPrefix(err.Error(), "start VM: ") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestMissingProgramIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := findPrograms(); err == nil ||
		!strings.Contains(err.Error(), "apt-get install --no-install-recommends apt") {
		t.Errorf("error %v", err)
	}
}

func TestShowDepends(t *testing.T) {
	for _, tc := range []struct{ name, out, want string }{
		{"files and options", "insmod /k/lib/a.ko \ninsmod /k/lib/b.ko x=1\n", "lib/a.ko lib/b.ko"},
		{"built in", "builtin unix\n", ""},
		{"outside", "insmod /etc/a.ko\n", "error"},
		{"a command of the host's", "install /bin/true\n", "error"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files, err := parseShowDepends([]byte(tc.out), "/k")
			var got []string
			for _, f := range files {
				got = append(got, f.path)
			}
			if err != nil {
				got = []string{"error"}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestConsoleKeepsTheEnd(t *testing.T) {
	var all strings.Builder
	c := &console{also: &all}
	for range 10000 {
		_, _ = c.Write([]byte("a line of some length\r\n"))
	}
	_, _ = c.Write([]byte("[ 1.0] Kernel panic - not syncing: no root\r\n[ 1.1] more\xff\r\n"))
	if len(c.bytes) > consoleBytes || all.Len() < 230000 {
		t.Errorf("kept %d, handed on %d", len(c.bytes), all.Len())
	}
	err := c.died("the VM ended by itself", nil)
	if err.Panic != "no root" || !strings.HasSuffix(err.Error(), "\n    | [ 1.1] more?") ||
		len(err.Console) > tailBytes {
		t.Errorf("%+v", err)
	}
	if got := (&diedError{Reason: "it ended"}).Error(); got != "it ended; its console is empty" {
		t.Error(got)
	}
}
