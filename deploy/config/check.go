package config

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/eideticker/eideticker/analyze/wording"
)

// fileError is an error in a configuration.
type fileError struct {
	File    string
	Line    int // 0: the file as a whole
	Problem string
}

func (e *fileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Problem)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem)
}

// Check returns an error for values out of range.
func (c *Config) Check() error {
	if _, err := c.Address(); err != nil {
		return err
	}
	if c.DataDir == "" {
		return fmt.Errorf("data_dir is empty")
	}
	for _, check := range []func() error{c.Access.check, c.TLS.check, c.Store.check, c.Runs.check, c.Limits.check,
		c.Log.check, c.Alarm.check, c.Public.check, c.Fleet.check, c.Accept.check, c.Labels.check,
		c.checkReserve, c.checkTeams,
		func() error { _, err := c.checkFeeds(); return err }} {
		if err := check(); err != nil {
			return err
		}
	}
	if len(c.Access.Hosts) > 0 && !c.NeedsToken() {
		return fmt.Errorf(`access.token must be "always" with access.hosts on the loopback`)
	}
	if _, loopback := c.Loopback(); !loopback && c.TLS.Mode == "off" && len(c.Access.Hosts) == 0 {
		return fmt.Errorf("listen %q with tls.mode off: tokens would be sent in clear; set access.hosts or tls.mode",
			c.Listen)
	}
	return nil
}

// Address is what listen says, with a host that is an address.
func (c *Config) Address() (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err == nil && (host == "localhost" || host == "") {
		host = map[string]string{"localhost": "127.0.0.1", "": "::"}[host]
	}
	at, parsed := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil || parsed != nil {
		return at, fmt.Errorf("listen %q: must be an address and a port such as 127.0.0.1:8430 or [::]:8430", c.Listen)
	}
	return at, nil
}

// Loopback reports whether nobody but this machine reaches the rig.
func (c *Config) Loopback() (netip.AddrPort, bool) {
	at, err := c.Address()
	return at, err == nil && at.Addr().IsLoopback()
}

// NeedsToken reports whether calls need a token.
func (c *Config) NeedsToken() bool {
	_, loopback := c.Loopback()
	return !loopback || c.Access.Token == "always"
}

// Encrypted is how connections are: off, self or files.
func (c *Config) Encrypted() string {
	if c.TLS.Mode != "auto" {
		return c.TLS.Mode
	}
	switch _, loopback := c.Loopback(); {
	case c.TLS.Cert != "":
		return "files"
	case loopback:
		return "off"
	}
	return "self"
}

func (a Access) check() error {
	if err := oneOf("access.token", a.Token, "auto", "always"); err != nil {
		return err
	}
	for _, h := range a.Hosts {
		if h == "" || len(h) > 253 || strings.ContainsAny(h, "/:@ ") || strings.ToLower(h) != h {
			return fmt.Errorf("access.hosts has %.80q: names must be lower-case, without a port", h)
		}
	}
	return nil
}

func (t TLS) check() error {
	if err := oneOf("tls.mode", t.Mode, "auto", "off", "self", "files"); err != nil {
		return err
	}
	if (t.Cert == "") != (t.Key == "") || t.Mode == "files" && t.Cert == "" {
		return fmt.Errorf("tls.cert and tls.key: both files are needed")
	}
	return nil
}

func (s Store) check() error {
	if s.MaxUpload < 1<<20 {
		return fmt.Errorf("store.max_upload is %d bytes: must be at least 1MiB", s.MaxUpload)
	}
	for key, age := range map[string]Duration{"max_age": s.MaxAge, "unused_age": s.UnusedAge} {
		if age > 0 && time.Duration(age) < time.Minute {
			return fmt.Errorf("store.%s is %v: must be at least 1m", key, time.Duration(age))
		}
	}
	if (s.Archive == ArchiveNever) != (s.ArchiveDir == "") || s.ArchiveDir != "" && !filepath.IsAbs(s.ArchiveDir) {
		return fmt.Errorf("store.archive_dir is %.80q: must be an absolute path, and only with store.archive",
			s.ArchiveDir)
	}
	return oneOf("store.archive", s.Archive, ArchiveNever, ArchiveRegressions, ArchivePinned, ArchiveAll)
}

func (r Runs) check() error {
	if r.QuarantineAfter < 0 || r.QuarantineAfter > 1000 {
		return fmt.Errorf("runs.quarantine_after is %d: must be 0 to 1000; 0 is never", r.QuarantineAfter)
	}
	if r.Parallel < 0 || r.Parallel > 256 {
		return fmt.Errorf("runs.parallel is %d: must be 0 to 256; 0 is the number of devices", r.Parallel)
	}
	for name, d := range r.KeepLast {
		if t := time.Duration(d); t < time.Second || t > 10*time.Minute {
			return fmt.Errorf("runs.keep_last.%s is %v: must be 1s to 10m", name, t)
		}
	}
	return nil
}

func (l Limits) check() error {
	if l.Connections < 1 || l.Connections > 10_000 {
		return fmt.Errorf("limits.connections is %d: must be 1 to 10000", l.Connections)
	}
	if !(l.CallsPerS >= 1 && l.CallsPerS <= 100_000) {
		return fmt.Errorf("limits.calls_per_s is %v: must be 1 to 100000", l.CallsPerS)
	}
	return nil
}

func (l Log) check() error {
	if err := oneOf("log.level", l.Level, "debug", "info", "warn", "error"); err != nil {
		return err
	}
	return oneOf("log.format", l.Format, "text", "json")
}

func oneOf(key, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s is %.80q: must be one of %s", key, value, strings.Join(known, ", "))
}

// unknownKey says where a key stands that means nothing, and which one was perhaps meant.
func unknownKey(file, text string, key toml.Key) error {
	problem := fmt.Sprintf("unknown key %.200q%s", key.String(), wording.Near(key.String(), keys()))
	return &fileError{file, lineOf(text, key), problem}
}

// lineOf finds the line on which a key stands, 0 if it is written in another way than usual.
func lineOf(text string, key toml.Key) int {
	table := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if name, is := strings.CutPrefix(line, "["); is {
			table = strings.Trim(strings.TrimSpace(strings.SplitN(name, "]", 2)[0]), "[")
			if table == key.String() {
				return i + 1
			}
			continue
		}
		name, _, is := strings.Cut(line, "=")
		full := strings.TrimSpace(name)
		if table != "" {
			full = table + "." + full
		}
		if is && strings.ReplaceAll(full, `"`, "") == key.String() {
			return i + 1
		}
	}
	return 0
}
