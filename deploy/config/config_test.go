package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// shipped is the file that the package of a box installs.
const shipped = "../box/eideticker.toml"

func TestShippedFile(t *testing.T) {
	c, err := Load(shipped, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.DataDir, want.Devices = "/var/lib/eideticker", filepath.Join(filepath.Dir(shipped), "devices.yaml")
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v\nwant the defaults, and a box's folders, %+v", c, want)
	}
}

// The commented lines of the shipped file are a valid configuration too. They name every key.
func TestShippedFileHasAllKeys(t *testing.T) {
	text, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, "#"); is && strings.Contains(rest, " = ") &&
			!strings.HasPrefix(rest, " ") {
			line = rest
		}
		b.WriteString(line)
	}
	c, err := parse("eideticker.toml", b.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys() {
		name := key[strings.LastIndex(key, ".")+1:]
		if !strings.Contains(b.String(), "\n"+name+" = ") && !strings.Contains(b.String(), "\n["+key+"]") {
			t.Errorf("the shipped file does not show %s", key)
		}
	}
	want := Default()
	if len(c.Schedule) != 2 {
		t.Errorf("the shipped file shows %d schedules", len(c.Schedule))
	}
	c.Schedule = want.Schedule
	if len(c.Feed) != len(feedKeys) {
		t.Errorf("the shipped file shows %d kinds of feeds of %d", len(c.Feed), len(feedKeys))
	}
	c.DataDir, c.Devices, c.Access.Hosts, c.Runs.KeepLast, c.Feed = want.DataDir, want.Devices, want.Access.Hosts,
		want.Runs.KeepLast, want.Feed
	if len(c.Reserve) != 1 || len(c.Team) != 1 || len(c.Labels) != 2 {
		t.Errorf("the shipped file shows %v, %v and %v", c.Reserve, c.Team, c.Labels)
	}
	c.Team = want.Team
	c.Accept, c.Reserve, c.Labels, c.Fleet.Varz = want.Accept, want.Reserve, want.Labels, nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("the defaults that the file shows are %+v\nwant %+v", c, want)
	}
}

// schedule is a schedule without its start.
const schedule = "[schedule.a]\ntests = [\"b\"]\nbrowsers = [\"f\"]\n"

// Fault: Configuration has an unknown key or a bad value
// Fault: An eavesdropper on the network
// Fault: A client of a reverse proxy on the box
func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name, text, want string
		line             int
	}{
		{"unknown key", "listen = \"127.0.0.1:1\"\nlisen = 3\n", `unknown key "lisen"; did you mean listen?`, 2},
		{"unknown key of a table", "[store]\n\nmax_byte = \"3GiB\"\n",
			`unknown key "store.max_byte"; did you mean store.max_bytes?`, 3},
		{"unknown table", "[stores]\nmax_bytes = \"3GiB\"\n", `unknown key "stores"; did you mean store?`, 1},
		{"no TOML", "listen = \n", "", 1},
		{"wrong type", "[limits]\nconnections = \"many\"\n", "line 2", 0},
		{"bad size", "[store]\nmin_free = \"a lot\"\n", `invalid size "a lot"`, 2},
		{"bad time", "[store]\nmax_age = \"soon\"\n", `invalid time "soon"`, 2},
		{"a short time", "[store]\nunused_age = \"5s\"\n", "store.unused_age is 5s: must be at least 1m", 0},
		{"negative time", "[store]\nmax_age = \"-3h\"\n", "invalid time", 2},
		{"no address", "listen = \"rig:http\"\n", "must be an address and a port", 0},
		{"no port", "listen = \"127.0.0.1\"\n", "must be an address and a port", 0},
		{"tokens in the open", "listen = \"0.0.0.0:80\"\n[tls]\nmode = \"off\"\n",
			"tokens would be sent in clear", 0},
		{"names of a proxy that make everybody admin", "[access]\nhosts = [\"rig.example.org\"]\n",
			`access.token must be "always"`, 0},
		{"certificate without key", "[tls]\ncert = \"a.pem\"\n", "both files are needed", 0},
		{"unknown mode", "[tls]\nmode = \"on\"\n", "must be one of auto, off, self, files", 0},
		{"host with a port", "[access]\nhosts = [\"rig:80\"]\n", "without a port", 0},
		{"too many", "[limits]\nconnections = 100000\n", "must be 1 to 10000", 0},
		{"not a number", "[limits]\ncalls_per_s = nan\n", "must be 1 to 100000", 0},
		{"too short", "[runs.keep_last]\na = \"1ms\"\n", "must be 1s to 10m", 0},
		{"log level", "[log]\nlevel = \"loud\"\n", "must be one of debug, info, warn, error", 0},
		{"schedule without a start", "[schedule.a]\ntests = [\"b\"]\n", "schedule.a.on: give one of on and cron", 1},
		{"schedule by feed and time", "[schedule.a]\ncron = \"0 3 * * *\"\non = \"feed.b\"\n", "give one of", 3},
		{"needs and devices", schedule + "on = \"feed.b\"\ndevices = [\"a/b\"]\nneeds = { os = \"linux\" }\n",
			"give one of devices and needs", 6},
		{"pool of one device", schedule + "on = \"feed.b\"\npool = \"p\"\n", "pool: it needs at least two devices", 5},
		{"pool without a control", schedule + "on = \"feed.b\"\nneeds = { os = \"linux\" }\npool = \"p\"\n",
			"pool: it needs a control", 6},
		{"pool's name", schedule + "on = \"feed.b\"\npool = \"a b\"\n", "a name has 1 to 32 letters", 5},
		{"needs without a word", schedule + "on = \"feed.b\"\nneeds = { os = [\"a\", 1] }\n",
			"is [a 1]: must be a word", 5},
		{"schedule's unknown key", "[schedule.a]\nwhen = \"now\"\n", `unknown key "schedule.a.when"`, 2},
		{"no such time", schedule + "cron = \"0 25 * * *\"\n", "schedule.a.cron: cron is \"0 25", 4},
		{"no such day", schedule + "cron = \"0 0 30 2 *\"\n", "no day fits", 4},
		{"zone within cron", schedule + "cron = \"TZ=\"\n", "tz is a key of its own", 4},
		{"no such zone", schedule + "tz = \"Mars\"\ncron = \"0 3 * * *\"\n", "tz is \"Mars\"", 5},
		{"each second", schedule + "cron = \"@every 1s\"\n", "schedule.a.cron", 4},
		{"class of a schedule", schedule + "cron = \"0 3 * * *\"\nclass = \"soon\"\n", "must be one of now, check", 5},
		{"moving control", schedule + "cron = \"0 3 * * *\"\ncontrol = \"f@g\"\n", "must name one build", 5},
		{"another feed's browser", schedule + "on = \"feed.g\"\n", "must be KIND@g", 3},
		{"unknown feed", "[schedule.a]\ntests = [\"b\"]\nbrowsers = [\"f@g\"]\non = \"feed.g\"\n", "unknown feed g", 3},
		{"two rivals of a feed", "[schedule.a]\ntests = [\"b\"]\nbrowsers = [\"f\", \"f@g:1\", \"f@g:2\"]\n" +
			"cron = \"0 3 * * *\"\n", `rivals "f@g:1" and "f@g:2": must differ in kind or feed`, 3},
		{"runs of a schedule", schedule + "cron = \"0 3 * * *\"\nruns = 1000\n", "must be 1 to 100", 5},
		{"short deadline", schedule + "cron = \"0 3 * * *\"\ndeadline = \"5s\"\n", "at least 1m", 5},
		{"alarms", "[alarm]\nfalse_alarms = nan\n", "alarm.false_alarms is NaN", 0},
		{"unknown kind", "[feed.a]\nkind = \"ftp\"\n", "kind is \"ftp\": must be one of folder, jsonl", 2},
		{"no kind", "\n[feed.a]\ndir = \"b\"\n", "feed.a: kind is missing", 2},
		{"no folder", "[feed]\na = { kind = \"folder\" }\n", "feed.a: dir is missing; kind folder needs it", 2},
		{"key of another kind", "[feed.a]\nkind = \"folder\"\ndir = \"b\"\nbranch = \"c\"\n",
			"feed.a: kind folder has no key branch", 1},
		{"feed of what", "[feed]\na = { kind = \"folder\", dir = \"/\", of = \"app\" }\n",
			`feed.a: of is "app": must be one of browser, site`, 2},
		{"feed of sites", "[feed]\na = { kind = \"mozilla\", of = \"site\" }\n",
			"feed.a: kind mozilla has no key of", 2},
		{"unknown key of a feed", "[feed.a]\nkind = \"folder\"\ndirs = \"b\"\n", `unknown key "feed.a.dirs"`, 3},
		{"lost at once", "[fleet]\nlost_after = \"1s\"\n", "fleet.lost_after is 1s", 0},
		{"a cluster in clear", "[fleet]\nnats = \"nats://x\"\n", "must be one such as tls://", 0},
		{"a server in clear", "[fleet]\nnats = \"tls://x:4222,nats://y\"\n", "must be one such as tls://", 0},
		{"no address", "[fleet]\nnats = \"tls://x\"\nnats_varz = [\"x:8222\"]\n", "http://nats:8222/varz", 0},
		{"a small quota", "[fleet]\nquota = \"1MiB\"\n", "must be at least 64MiB", 0},
		{"an unknown kind", "[accept]\nkinds = [\"x\"]\n", "must be one of suite, url, upload", 0},
		{"a share of all and more", "reserve = [{ labels = \"a=b\", class = \"now\", share = 1.5 }]\n",
			"reserve.share is 1.5", 0},
		{"a team of nobody", "team = [{ share = 2 }]\n", "team.owners has 0 names: must be 1 to 1000", 0},
		{"a team without a share", "team = [{ owners = [\"ada\"] }]\n", "team.share is 0: must be 0.1 to 100", 0},
		{"an owner of two teams",
			"team = [{ owners = [\"ada\"], share = 2 }, { owners = [\"ada\"], share = 1 }]\n",
			"team.owners has \"ada\": must be the name of a token, in one team only", 0},
		{"no hours", "reserve = [{ class = \"now\", share = 0.5, hours = \"8-25\" }]\n", "two hours such as 8-18", 0},
		{"no label", "reserve = [{ labels = \"a\", class = \"now\", share = 0.5 }]\n", "such as model=pixel7", 0},
		{"a label that is a number", "[labels]\na = 3\n", "labels.a must be a text", 1},
		{"a long label", "[labels.a]\nmodel = \"a\\nb\"\n", "must be short words", 0},
		{"builds in the open", "[feed.a]\nkind = \"jsonl\"\nurl = \"http://example.org/a\"\n",
			"must begin with https://", 1},
		{"name of a feed", "[feed.\"../a\"]\nkind = \"folder\"\ndir = \"b\"\n", "a name has 1 to 32 letters", 1},
		{"output outside", "[feed.a]\nkind = \"git\"\ndir = \"b\"\ncommand = [\"c\"]\noutput = \"../d\"\n",
			"output is \"../d\": must be a path within", 1},
		{"no output", "[feed.a]\nkind = \"git\"\ndir = \"b\"\ncommand = [\"c\"]\n",
			"command and output belong together", 1},
		{"signed without a command", "[feed.a]\nkind = \"git\"\ndir = \"b\"\nsign = \"c\"\n", "sign needs command", 1},
		{"fleet without a key", "[feed.a]\nkind = \"fleet\"\n", "key is missing; kind fleet needs it", 1},
		{"no branch", "[feed.a]\nkind = \"git\"\ndir = \"b\"\ncommand = [\"c\"]\noutput = \"d\"\nbranch = \"--all\"\n",
			"branch is \"--all\"", 1},
		{"huge", strings.Repeat("# much\n", 1<<18), "are more than", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parse("a.toml", tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "a.toml:") {
				t.Fatalf("%v, want %q", err, tc.want)
			}
			var wrong *fileError
			if errors.As(err, &wrong) && wrong.Line != tc.line {
				t.Errorf("line %d, want %d: %v", wrong.Line, tc.line, err)
			}
		})
	}
}

// Fault: Another user of a box that serves its loopback
func TestWhatFollows(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		token      bool
		encrypted  string
	}{
		{"nothing", "", false, "off"},
		{"loopback of six", "listen = \"[::1]:1\"", false, "off"},
		{"loopback with tokens", "[access]\ntoken = \"always\"", true, "off"},
		{"all", "listen = \":1\"", true, "self"},
		{"one", "listen = \"192.0.2.1:1\"", true, "self"},
		{"files", "listen = \"192.0.2.1:1\"\n[tls]\ncert = \"c\"\nkey = \"k\"", true, "files"},
		{"behind a proxy on the same machine", "[access]\nhosts = [\"rig.example.org\"]\ntoken = \"always\"", true,
			"off"},
		{"behind a proxy", "listen = \"192.0.2.1:1\"\naccess = {hosts = [\"rig.example.org\"]}\ntls = {mode = \"off\"}",
			true, "off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := parse("a.toml", tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if c.NeedsToken() != tc.token || c.Encrypted() != tc.encrypted {
				t.Errorf("token %v, encrypted %q", c.NeedsToken(), c.Encrypted())
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	c, err := Load("", func(name string) string { return map[string]string{"EIDETICKER_LISTEN": "127.0.0.1:9"}[name] })
	if err != nil || c.Listen != "127.0.0.1:9" {
		t.Errorf("%q, %v", c.Listen, err)
	}
	named := filepath.Join(t.TempDir(), "named.toml")
	if err := os.WriteFile(named, []byte("[access]\nhosts = [\"rig.example.org\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// the environment goes before the file
	for listen, refused := range map[string]bool{"": true, "127.0.0.1:9": true, ":9": false} {
		if _, err := Load(named, func(name string) string {
			return map[string]string{"EIDETICKER_LISTEN": listen}[name]
		}); (err != nil) != refused {
			t.Errorf("hosts and listen %q: %v", listen, err)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.toml"), os.Getenv); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestDuration(t *testing.T) {
	var d Duration
	for text, want := range map[string]time.Duration{"30s": 30 * time.Second, "30d": 720 * time.Hour, "0": 0,
		"1.5d": 36 * time.Hour} {
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%s: %v, %v", text, time.Duration(d), err)
		}
	}
}

// FuzzParse: a file gives values within bounds, or an error that names the file.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile(shipped)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("listen = \"127.0.0.1:1\"\nlisen = 3\n")
	f.Add("[runs.keep_last]\na = \"30s\"\n[limits]\ncalls_per_s = nan")
	f.Add(schedule + "cron = \"TZ=\"\n[alarm]\nper = \"1h\"\n")
	f.Add(schedule + "cron = \"*/0 1-70 ? JAN sun\"\ntz = \"Local\"\n")
	f.Add("[feed.a]\nkind = \"git\"\ndir = \"b\"\ncommand = [\"c\"]\noutput = \"d\"\ntimeout = \"1h\"\n")
	f.Add("a.b.c = {d = [1, 2]}\n[[x]]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse("a.toml", text)
		switch {
		case err == nil:
			if err := c.Check(); err != nil {
				t.Errorf("taken, though %v", err)
			}
		case !strings.HasPrefix(err.Error(), "a.toml"):
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}

// TestClockChanges: a time that the clock leaves out does not come, and a repeated one comes once.
//
// Fault: The clock changes to summer time or back while a schedule waits
func TestClockChanges(t *testing.T) {
	s := Schedule{Cron: "30 2 * * *", TZ: "Europe/Berlin"}
	at, err := s.Times()
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string][]string{
		"2026-03-28T00:00:00Z": {"2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"}, // 29 March has no 02:30
		"2026-10-24T00:00:00Z": {"2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, from)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if now = at.Next(now); now.UTC().Format(time.RFC3339) != w {
				t.Errorf("after %s: %v, want %s", from, now.UTC(), w)
			}
		}
	}
}

// TestMostSchedules: a rig has at most 500 schedules and 50 feeds.
func TestMostSchedules(t *testing.T) {
	for _, tc := range []struct {
		feeds, schedules int
		want             string
	}{
		{50, 500, ""},
		{51, 1, "feed has 51 tables: must be at most 50"},
		{1, 501, "501 schedules: must be at most 500"},
	} {
		var b strings.Builder
		for i := range tc.feeds {
			fmt.Fprintf(&b, "[feed.f%d]\nkind = \"folder\"\ndir = \"/b\"\n", i)
		}
		for i := range tc.schedules {
			fmt.Fprintf(&b, "[schedule.s%d]\ntests = [\"b\"]\nbrowsers = [\"firefox@f0\"]\non = \"feed.f0\"\n", i)
		}
		_, err := parse("c.toml", b.String())
		if err == nil && tc.want != "" || err != nil && (tc.want == "" || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%d feeds, %d schedules: %v, want %q", tc.feeds, tc.schedules, err, tc.want)
		}
	}
}
