package config

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/eideticker/eideticker/deploy/store/unused"
)

// maxFile is how large a configuration may be.
const maxFile = 1 << 20

// Config is a rig's configuration.
type Config struct {
	Listen  string   `toml:"listen"`
	DataDir string   `toml:"data_dir"`
	Devices string   `toml:"devices"`
	Suite   []string `toml:"suite"`

	Access Access `toml:"access"`
	TLS    TLS    `toml:"tls"`
	Store  Store  `toml:"store"`
	Runs   Runs   `toml:"runs"`
	Limits Limits `toml:"limits"`
	Log    Log    `toml:"log"`
	Alarm  Alarm  `toml:"alarm"`
	Public Public `toml:"publish"`

	Fleet   Fleet     `toml:"fleet"`   // of a hub
	Reserve []Reserve `toml:"reserve"` // of a hub
	Team    []Team    `toml:"team"`    // of a hub
	Accept  Accept    `toml:"accept"`  // of a rig of a fleet
	Labels  Labels    `toml:"labels"`  // as accept

	Schedule map[string]Schedule `toml:"schedule"`
	Feed     map[string]Feed     `toml:"feed"` // of builds of browsers, by name
}

// Access configures the access to the rig.
type Access struct {
	Token string   `toml:"token"` // auto, always
	Hosts []string `toml:"hosts"`
}

// TLS says how connections are encrypted.
type TLS struct {
	Mode string `toml:"mode"` // auto, off; self or files
	Cert string `toml:"cert"`
	Key  string `toml:"key"`
}

// Store configures the retention of runs.
type Store struct {
	MaxBytes  Bytes    `toml:"max_bytes"`
	MinFree   Bytes    `toml:"min_free"`
	MaxAge    Duration `toml:"max_age"`
	MaxUpload Bytes    `toml:"max_upload"`
	UnusedAge Duration `toml:"unused_age"` // of archives of sites, traces and caches
	MaxBuilds Bytes    `toml:"max_builds"` // of builds of browsers; 0: no limit
	Archive   string   `toml:"archive"`    // runs that are copied to archive_dir
	// ArchiveDir is another folder, for example of a mounted file server.
	ArchiveDir string `toml:"archive_dir"`
}

// Runs that are archived.
const (
	ArchiveNever       = "never"
	ArchiveRegressions = "regressions" // of confirmed changes
	ArchivePinned      = "pinned"
	ArchiveAll         = "all"
)

// Runs says how jobs are done.
type Runs struct {
	QuarantineAfter int                 `toml:"quarantine_after"`
	Parallel        int                 `toml:"parallel"`
	AllowLoopback   bool                `toml:"allow_loopback"`
	KeepLast        map[string]Duration `toml:"keep_last"`
}

// Limits bound what clients can take.
type Limits struct {
	Connections int     `toml:"connections"`
	CallsPerS   float64 `toml:"calls_per_s"`
}

// Public is the content of the public site.
type Public struct {
	Dir     string   `toml:"dir"`
	Tests   []string `toml:"tests"`   // names or patterns
	Embargo Duration `toml:"embargo"` // age of points before they are public
	Rigs    string   `toml:"rigs"`    // class: kinds of devices; name: their names
}

func (p Public) check() error {
	for _, t := range p.Tests {
		if _, err := path.Match(t, ""); err != nil {
			return fmt.Errorf("publish.tests has %.80q: %w", t, err)
		}
	}
	if p.Embargo < 0 {
		return fmt.Errorf("publish.embargo is %v: must not be negative", time.Duration(p.Embargo))
	}
	return oneOf("publish.rigs", p.Rigs, "class", "name")
}

// Log configures the log.
type Log struct {
	Level  string `toml:"level"`  // debug, info; warn or error
	Format string `toml:"format"` // text, json
}

// Default is the configuration of a rig that nobody has configured.
func Default() Config {
	return Config{
		Listen: "127.0.0.1:8430", DataDir: dataDir(), Suite: []string{},
		Access: Access{Token: "auto", Hosts: []string{}},
		TLS:    TLS{Mode: "auto"},
		Store: Store{MinFree: 5 << 30, MaxUpload: 64 << 30, UnusedAge: Duration(unused.Age),
			MaxBuilds: 20 << 30, Archive: ArchiveNever},
		Runs:   Runs{QuarantineAfter: 5, KeepLast: map[string]Duration{}},
		Limits: Limits{Connections: 512, CallsPerS: 50},
		Log:    Log{Level: "info", Format: "text"},
		Alarm:  Alarm{FalseAlarms: 1, Per: Duration(7 * 24 * time.Hour)},
		Fleet:  Fleet{LostAfter: Duration(2 * time.Minute), Quota: 2 << 30},
		Labels: Labels{},
		Public: Public{Tests: []string{}, Embargo: Duration(14 * 24 * time.Hour), Rigs: "class"},

		Schedule: map[string]Schedule{},
		Feed:     map[string]Feed{},
	}
}

// dataDir is where a service keeps what it has, which systemd tells, or where a user's programs do.
func dataDir() string {
	if dir, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); dir != "" {
		return dir
	}
	state := os.Getenv("XDG_STATE_HOME")
	if home, err := os.UserHomeDir(); state == "" && err == nil {
		state = filepath.Join(home, ".local", "state")
	}
	if state == "" {
		return "/var/lib/eideticker"
	}
	return filepath.Join(state, "eideticker")
}

// Load reads a configuration from a file, "" for none, and from the environment.
func Load(file string, environ func(string) string) (Config, error) {
	c := Default()
	if file != "" {
		st, err := os.Stat(file)
		if err == nil && !st.Mode().IsRegular() { // to open a pipe is to wait for whoever writes into it
			err = errors.New("not a regular file")
		}
		if err == nil && st.Size() > maxFile {
			err = fmt.Errorf("%d bytes are more than %d", st.Size(), maxFile)
		}
		if err != nil {
			return c, fmt.Errorf("read configuration %s: %w", file, err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return c, fmt.Errorf("read configuration %s: %w", file, err)
		}
		if err := c.decode(file, string(text)); err != nil {
			return c, err
		}
	}
	for name, to := range map[string]*string{
		"EIDETICKER_LISTEN": &c.Listen, "EIDETICKER_DATA_DIR": &c.DataDir, "EIDETICKER_DEVICES": &c.Devices,
		"EIDETICKER_LOG_LEVEL": &c.Log.Level,
	} {
		if v := environ(name); v != "" {
			*to = v
		}
	}
	return c, c.checked(file)
}

// parse reads a configuration's text. The file's name is for messages, and what relative paths
// begin at.
func parse(file, text string) (Config, error) {
	c := Default()
	if err := c.decode(file, text); err != nil {
		return c, err
	}
	return c, c.checked(file)
}

// checked is Check with an error that names the file, if there is one.
func (c *Config) checked(file string) error {
	err := c.Check()
	if err != nil && file != "" {
		return &fileError{file, 0, err.Error()}
	}
	return err
}

func (c *Config) decode(file, text string) error {
	if len(text) > maxFile {
		return fmt.Errorf("%s: %d bytes are more than %d", file, len(text), maxFile)
	}
	md, err := toml.Decode(text, c)
	var wrong toml.ParseError
	switch {
	case errors.As(err, &wrong):
		return &fileError{file, wrong.Position.Line, wrong.Message}
	case err != nil:
		return &fileError{file, 0, err.Error()}
	}
	if unknown := md.Undecoded(); len(unknown) > 0 {
		return unknownKey(file, text, unknown[0])
	}
	c.fill()
	if err := c.scheduleError(file, text); err != nil {
		return err
	}
	if err := c.feedError(file, text); err != nil {
		return err
	}
	c.placeFeeds(file)
	for _, path := range []*string{&c.DataDir, &c.Devices, &c.TLS.Cert, &c.TLS.Key} {
		*path = beside(file, *path)
	}
	for i := range c.Suite {
		c.Suite[i] = beside(file, c.Suite[i])
	}
	return nil
}

// beside resolves a relative path against the folder of its file.
func beside(file, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// Duration is a time such as 30s or 720h; days can be written as 30d.
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if days, is := strings.CutSuffix(s, "d"); is {
		n, err := time.ParseDuration(days + "h")
		if err != nil || n < 0 || n > 100*365*time.Hour {
			return fmt.Errorf("invalid time %q, want one such as 30s, 12h or 30d", s)
		}
		*d = Duration(24 * n)
		return nil
	}
	n, err := time.ParseDuration(s)
	if s == "0" {
		n, err = 0, nil
	}
	if err != nil || n < 0 {
		return fmt.Errorf("invalid time %q, want one such as 30s, 12h or 30d", s)
	}
	*d = Duration(n)
	return nil
}
