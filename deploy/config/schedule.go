package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/robfig/cron/v3"

	"github.com/eideticker/eideticker/deploy/api"
)

// Schedule asks for runs again and again: of each new build of a feed, or at times.
type Schedule struct {
	On       string   `toml:"on"`   // feed.NAME
	Cron     string   `toml:"cron"` // minute, hour, day, month, weekday
	TZ       string   `toml:"tz"`   // of cron
	Tests    []string `toml:"tests"`
	Devices  []string `toml:"devices"`
	Needs    Needs    `toml:"needs"`    // on a hub, instead of devices
	Pool     string   `toml:"pool"`     // its devices share series, if an A/A test finds no difference
	Browsers []string `toml:"browsers"` // the subject, then rivals
	Control  string   `toml:"control"`
	Release  string   `toml:"release"`  // name or pattern of the subject's builds that are releases
	Runs     int      `toml:"runs"`     // of each browser
	Class    string   `toml:"class"`    // now, check, watch, fill
	Coalesce string   `toml:"coalesce"` // newest, none
	Backfill string   `toml:"backfill"` // on-candidate, none
	Deadline Duration `toml:"deadline"` // of a job, from the build on
	Explain  *bool    `toml:"explain"`  // runs with measuring code follow a confirmed change; nil: they do
}

// Needs are labels that a device of a fleet must have, such as model=pixel7,pixel8.
type Needs []string

// UnmarshalTOML implements toml.Unmarshaler.
func (n *Needs) UnmarshalTOML(data any) error {
	all, is := data.(map[string]any)
	if !is {
		return errors.New("needs must be a table such as { os = \"linux\" }")
	}
	*n = Needs{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		list, is := all[key].([]any)
		if !is {
			list = []any{all[key]}
		}
		var values []string
		for _, v := range list {
			text, is := v.(string)
			if !is || !labelKey.MatchString(key) || !labelValue.MatchString(text) || len(list) > maxWords {
				return fmt.Errorf("needs.%.64s is %.80s: must be a word, or a list of words", key, fmt.Sprint(all[key]))
			}
			values = append(values, text)
		}
		if len(values) == 0 || len(all) > 14 { // a job has 16, with its rig and device
			return fmt.Errorf("needs.%.64s: must have a value, and needs at most 14 labels", key)
		}
		*n = append(*n, key+"="+strings.Join(values, ","))
	}
	return nil
}

// Alarm bounds the false alarms of all schedules together.
type Alarm struct {
	FalseAlarms   float64  `toml:"false_alarms"` // expected at most in a period
	Per           Duration `toml:"per"`
	Confirmations int      `toml:"confirmations"` // begun in a period; 0: by the runs of the last one
	Bisect        int      `toml:"bisect"`        // runs of the bisection of an alert over several builds; 0: none
}

// maxSchedules bounds the schedules of a rig.
const maxSchedules = 500

// Feed returns the feed whose builds start the schedule; "": none.
func (s *Schedule) Feed() string { return strings.TrimPrefix(s.On, "feed.") }

// Times returns the times of cron in its time zone. Times that a change of the clock leaves out do
// not come. Those that it repeats come once.
func (s *Schedule) Times() (cron.Schedule, error) {
	// the parser panics on a zone without a space behind it
	if strings.Contains(s.Cron, "=") || len(s.Cron) > 200 {
		return nil, fmt.Errorf("cron is %.80q: must have five fields; tz is a key of its own", s.Cron)
	}
	zone, err := time.LoadLocation(cmp.Or(s.TZ, "UTC"))
	if err != nil || s.TZ == "Local" {
		return nil, fmt.Errorf("tz is %.80q: must be a time zone such as Europe/Berlin", s.TZ)
	}
	at, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(s.Cron)
	if err != nil {
		return nil, fmt.Errorf("cron is %.80q: %w", s.Cron, err)
	}
	if spec, is := at.(*cron.SpecSchedule); is {
		spec.Location = zone
		at = once{spec}
	}
	if at.Next(time.Unix(0, 0)).IsZero() {
		return nil, fmt.Errorf("cron is %.80q: no day fits", s.Cron)
	}
	return at, nil
}

// once leaves out the second one of two equal times on the clock, where hours are named.
type once struct{ *cron.SpecSchedule }

// Next implements cron.Schedule.
func (o once) Next(t time.Time) time.Time {
	const everyHour = 1 << 63
	for {
		t = o.SpecSchedule.Next(t)
		if t.IsZero() || o.Hour&everyHour != 0 || t.Add(-time.Hour).In(o.Location).Hour() != t.In(o.Location).Hour() {
			return t
		}
	}
}

// fill sets the defaults of schedules.
func (c *Config) fill() {
	for name, s := range c.Schedule {
		s.Runs, s.Class, s.Coalesce = cmp.Or(s.Runs, 5), cmp.Or(s.Class, api.ClassWatch), cmp.Or(s.Coalesce, "newest")
		s.Backfill = cmp.Or(s.Backfill, "on-candidate")
		s.Deadline = cmp.Or(s.Deadline, Duration(20*time.Hour))
		if len(s.Devices)+len(s.Needs) == 0 {
			s.Devices = []string{"local"}
		}
		c.Schedule[name] = s
	}
}

// checkSchedules returns the key of the first problem, and the problem.
func (c *Config) checkSchedules() (toml.Key, error) {
	if n := len(c.Schedule); n > maxSchedules {
		return toml.Key{"schedule"}, fmt.Errorf("%d schedules: must be at most %d", n, maxSchedules)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Schedule)) {
		s := c.Schedule[name]
		if !api.FeedName.MatchString(name) {
			return toml.Key{"schedule", name}, errors.New("a name has 1 to 32 letters, digits, - or _")
		}
		if key, err := s.check(); err != nil {
			return toml.Key{"schedule", name, key}, err
		}
		for _, text := range append(slices.Clone(s.Browsers), s.Control) {
			b, _ := api.ParseBrowser(text) // was checked
			if _, is := c.Feed[b.Feed]; b.Feed != "" && !is {
				return toml.Key{"schedule", name, "browsers"}, fmt.Errorf("%q: unknown feed %s", text, b.Feed)
			}
		}
	}
	return nil, nil
}

// check returns the key of the first problem, and the problem.
func (s *Schedule) check() (string, error) {
	switch {
	case (s.On == "") == (s.Cron == ""):
		return "on", errors.New("give one of on and cron")
	case s.On != "" && !api.FeedName.MatchString(s.Feed()):
		return "on", fmt.Errorf("%.80q is not feed.NAME", s.On)
	case s.TZ != "" && s.Cron == "":
		return "tz", errors.New("it needs cron")
	case len(s.Tests) == 0 || len(s.Tests) > 100:
		return "tests", fmt.Errorf("%d tests: must be 1 to 100", len(s.Tests))
	case len(s.Needs) > 0 && len(s.Devices) > 0:
		return "needs", errors.New("give one of devices and needs")
	case s.Pool != "" && !api.FeedName.MatchString(s.Pool):
		return "pool", errors.New("a name has 1 to 32 letters, digits, - or _")
	case s.Pool != "" && len(s.Needs) == 0 && len(s.Devices) < 2:
		return "pool", errors.New("it needs at least two devices, or needs")
	case s.Pool != "" && s.Control == "":
		return "pool", errors.New("it needs a control, which all its devices run")
	case len(s.Devices) > 100:
		return "devices", fmt.Errorf("%d devices: must be at most 100", len(s.Devices))
	case len(s.Browsers) == 0 || len(s.Browsers) >= api.MaxVariants:
		return "browsers", fmt.Errorf("%d browsers: must be 1 to %d", len(s.Browsers), api.MaxVariants-1)
	case s.Runs < 1 || s.Runs > 100:
		return "runs", fmt.Errorf("%d runs: must be 1 to 100", s.Runs)
	case time.Duration(s.Deadline) < time.Minute:
		return "deadline", fmt.Errorf("%v is too short: must be at least 1m", time.Duration(s.Deadline))
	}
	if s.Cron != "" {
		if _, err := s.Times(); err != nil {
			return "cron", err
		}
	}
	for key, names := range map[string][]string{"tests": s.Tests, "devices": s.Devices} {
		for i, name := range names {
			if _, err := path.Match(name, ""); err != nil || name == "" || len(name) > api.MaxName {
				return key, fmt.Errorf("%.80q is not a name", name)
			}
			if slices.Contains(names[:i], name) {
				return key, fmt.Errorf("%.80q is given twice", name)
			}
		}
	}
	rivals := map[api.Browser]string{}
	for i, text := range append(slices.Clone(s.Browsers), s.Control) {
		b, err := api.ParseBrowser(text)
		of := api.Browser{Kind: b.Kind, Feed: b.Feed} // the trend of a rival
		switch {
		case text == "" && i == len(s.Browsers): // no control
		case text == "" || err != nil:
			return "browsers", fmt.Errorf("%.80q is not KIND or KIND@FEED:BUILD", text)
		case i == 0 && s.On != "" && (b.Feed != s.Feed() || b.Build != ""):
			return "browsers", fmt.Errorf("the first one is %q: must be KIND@%s, whose builds start the schedule", text,
				s.Feed())
		case i == len(s.Browsers) && b.Feed != "" && b.Build == "":
			return "control", fmt.Errorf("%q moves: must name one build", text)
		case i > 0 && i < len(s.Browsers) && rivals[of] != "":
			return "browsers", fmt.Errorf("rivals %q and %q: must differ in kind or feed", rivals[of], text)
		case i > 0:
			rivals[of] = text
		}
	}
	if _, err := path.Match(s.Release, ""); err != nil {
		return "release", fmt.Errorf("%.80q is not a name or pattern", s.Release)
	}
	for key, value := range map[string][]string{"class": {s.Class, "now", "check", "watch", "fill"},
		"coalesce": {s.Coalesce, "newest", "none"}, "backfill": {s.Backfill, "on-candidate", "none"}} {
		if err := oneOf(key, value[0], value[1:]...); err != nil {
			return key, err
		}
	}
	return "", nil
}

func (a Alarm) check() error {
	switch per := time.Duration(a.Per); {
	case !(a.FalseAlarms > 0 && a.FalseAlarms <= 1000):
		return fmt.Errorf("alarm.false_alarms is %v: must be above 0 and at most 1000", a.FalseAlarms)
	case per < time.Hour || per > 366*24*time.Hour:
		return fmt.Errorf("alarm.per is %v: must be 1h to 366d", per)
	case a.Bisect != 0 && (a.Bisect < 24 || a.Bisect > 100_000):
		return fmt.Errorf("alarm.bisect is %d runs: must be 24 to 100000; 0 starts no bisection", a.Bisect)
	case a.Confirmations < 0 || a.Confirmations > 100_000:
		return fmt.Errorf("alarm.confirmations is %d: must be 0 to 100000; 0 follows the runs", a.Confirmations)
	}
	return nil
}

// scheduleError adds the line of a schedule's key, or of its table.
func (c *Config) scheduleError(file, text string) error {
	key, err := c.checkSchedules()
	if err == nil {
		return nil
	}
	line := 0
	for n := len(key); n > 0 && line == 0; n-- {
		line = lineOf(text, key[:n])
	}
	return &fileError{file, line, fmt.Sprintf("%.120s: %v", key, err)}
}
