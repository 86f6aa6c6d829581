package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/eideticker/eideticker/pattern"
)

// Fleet configures the hub of a fleet.
type Fleet struct {
	LostAfter Duration `toml:"lost_after"` // after an attempt's estimated end
	Quota     Bytes    `toml:"quota"`      // of jobs and log on the hub's disk
	NATS      string   `toml:"nats"`       // servers of an external cluster; "": the hub's own
	Varz      []string `toml:"nats_varz"`  // their /varz addresses, which doctor asks
	Copy      string   `toml:"copy"`       // folder that gets a copy each minute; "": none
}

// Accept limits the jobs of the fleet that a rig takes. Empty lists accept all.
type Accept struct {
	Owners []string `toml:"owners"`
	Kinds  []string `toml:"kinds"` // suite, url, upload
	Feeds  []string `toml:"feeds"`
}

// Reserve keeps a share of a fleet's devices for a class of jobs.
type Reserve struct {
	Labels string  `toml:"labels"` // as --needs, with spaces between
	Class  string  `toml:"class"`
	Share  float64 `toml:"share"`
	Hours  string  `toml:"hours"` // such as 8-18, in UTC; "": all
}

// Team is owners who share the turns of a fleet's devices.
type Team struct {
	Owners []string `toml:"owners"`
	Share  float64  `toml:"share"` // beside others; an owner without a team has 1
}

// Labels are words of a rig's owner about its devices, by device. Those of "" are of all devices.
type Labels map[string]map[string]string

// UnmarshalTOML implements toml.Unmarshaler.
func (l *Labels) UnmarshalTOML(data any) error {
	*l = Labels{}
	all, _ := data.(map[string]any)
	for key, value := range all {
		switch v := value.(type) {
		case string:
			l.put("", key, v)
		case map[string]any:
			for word, text := range v {
				s, is := text.(string)
				if !is {
					return fmt.Errorf("labels.%s.%s must be a text", key, word)
				}
				l.put(key, word, s)
			}
		default:
			return fmt.Errorf("labels.%s must be a text, or a table of a device", key)
		}
	}
	return nil
}

func (l Labels) put(device, key, value string) {
	if l[device] == nil {
		l[device] = map[string]string{}
	}
	l[device][key] = value
}

var (
	labelKey   = pattern.New(`^[A-Za-z0-9._:+-]{1,64}$`)
	labelValue = pattern.New(`^[A-Za-z0-9._:+/-][A-Za-z0-9._:+/, -]{0,63}$`)
)

// maxWords bounds a rig's labels and limits.
const maxWords = 32

// maxTeam bounds the owners of a team.
const maxTeam = 1000

func (l Labels) check() error {
	for device, words := range l {
		if len(words) > maxWords {
			return fmt.Errorf("labels has %d words: must be at most %d of a device", len(words), maxWords)
		}
		for key, value := range words {
			if device != "" && !labelKey.MatchString(device) || !labelKey.MatchString(key) ||
				!labelValue.MatchString(value) {
				return fmt.Errorf("labels: %.80q = %.80q: must be short words of letters, digits and . _ : + -", key,
					value)
			}
		}
	}
	return nil
}

func (f Fleet) check() error {
	if t := time.Duration(f.LostAfter); t < 30*time.Second || t > 24*time.Hour {
		return fmt.Errorf("fleet.lost_after is %v: must be 30s to 24h", t)
	}
	if f.Quota < 64<<20 {
		return fmt.Errorf("fleet.quota is %d bytes: must be at least 64MiB", f.Quota)
	}
	if f.Copy != "" && !filepath.IsAbs(f.Copy) {
		return fmt.Errorf("fleet.copy is %.80q: must be an absolute path", f.Copy)
	}
	if f.NATS == "" {
		return nil
	}
	for server := range strings.SplitSeq(f.NATS, ",") {
		if u, err := url.Parse(server); err != nil || u.Scheme != "tls" || u.Host == "" || u.User != nil {
			return fmt.Errorf("fleet.nats is %.80q: must be one such as tls://nats:4222, without a user", f.NATS)
		}
	}
	if len(f.Varz) > maxWords {
		return fmt.Errorf("fleet.nats_varz has %d addresses: must be at most %d", len(f.Varz), maxWords)
	}
	for _, varz := range f.Varz {
		if u, err := url.Parse(varz); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("fleet.nats_varz has %.80q: must be one such as http://nats:8222/varz", varz)
		}
	}
	return nil
}

func (a Accept) check() error {
	for key, list := range map[string][]string{"owners": a.Owners, "kinds": a.Kinds, "feeds": a.Feeds} {
		if len(list) > maxWords {
			return fmt.Errorf("accept.%s has %d words: must be at most %d", key, len(list), maxWords)
		}
		for _, text := range list {
			if text == "" || len(text) > 128 {
				return fmt.Errorf("accept.%s has %.80q: must be a word", key, text)
			}
			if key == "kinds" {
				if err := oneOf("accept.kinds", text, "suite", "url", "upload"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *Config) checkReserve() error {
	if len(c.Reserve) > maxWords {
		return fmt.Errorf("reserve has %d tables: must be at most %d", len(c.Reserve), maxWords)
	}
	for _, r := range c.Reserve {
		if err := oneOf("reserve.class", r.Class, "now", "check", "watch", "fill"); err != nil {
			return err
		}
		if !(r.Share > 0 && r.Share <= 1) {
			return fmt.Errorf("reserve.share is %v: must be above 0 and at most 1", r.Share)
		}
		for _, need := range strings.Fields(r.Labels) {
			if key, values, is := strings.Cut(need, "="); !is || !labelKey.MatchString(key) ||
				!labelValue.MatchString(values) {
				return fmt.Errorf("reserve.labels is %.80q: must be one such as model=pixel7", r.Labels)
			}
		}
		if _, _, err := r.Span(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) checkTeams() error {
	if len(c.Team) > maxWords {
		return fmt.Errorf("team has %d tables: must be at most %d", len(c.Team), maxWords)
	}
	in := map[string]bool{}
	for _, t := range c.Team {
		if !(t.Share >= 0.1 && t.Share <= 100) {
			return fmt.Errorf("team.share is %v: must be 0.1 to 100; an owner without a team has 1", t.Share)
		}
		if len(t.Owners) == 0 || len(t.Owners) > maxTeam {
			return fmt.Errorf("team.owners has %d names: must be 1 to %d", len(t.Owners), maxTeam)
		}
		for _, name := range t.Owners {
			if name == "" || len(name) > 128 || in[name] {
				return fmt.Errorf("team.owners has %.80q: must be the name of a token, in one team only", name)
			}
			in[name] = true
		}
	}
	return nil
}

// Span returns the hours of a reservation; 0 and 0 is always.
func (r Reserve) Span() (from, to int, err error) {
	if r.Hours == "" {
		return 0, 0, nil
	}
	var rest string
	if n, _ := fmt.Sscanf(r.Hours+" .", "%d-%d %s", &from, &to, &rest); n != 3 || rest != "." || from < 0 ||
		from > 23 ||
		to < 1 || to > 24 || from == to {
		return 0, 0, fmt.Errorf("reserve.hours is %.20q: must be two hours such as 8-18", r.Hours)
	}
	return from, to % 24, nil
}
