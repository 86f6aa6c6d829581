package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/rig"
	"github.com/eideticker/eideticker/deploy/store/trend"
)

// TestScheduleCheckDoubts: names that cannot be used now are warnings of the check, and of the
// service. The check leaves nothing in the data directory.
func TestScheduleCheckDoubts(t *testing.T) {
	data, feed := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(feed, "v1.0.zip"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := writeConfig(t, fmt.Sprintf(`data_dir = %q
listen = "127.0.0.1:0"
feed.main = { kind = "folder", dir = %q }
feed.away = { kind = "folder", dir = "/nonexistent/builds" }
[schedule.good]
on = "feed.main"
tests = ["load"]
browsers = ["firefox@main"]
explain = false
[schedule.odd]
on = "feed.away"
tests = ["load"]
devices = ["locl", "local"]
pool = "desks"
browsers = ["firefox@away", "firefox"]
control = "firefox@main:v1.1"
`, data, feed))
	want := []string{
		"schedule odd: feed away cannot be read: open /nonexistent/builds: no such file or directory",
		`schedule odd: no device "locl"; did you mean local?`,
		"schedule odd: feed main has no build v1.1 yet; did you mean v1.0?",
	}
	var out, errOut output
	code := run(t.Context(), []string{"schedule", "check", "--config", config}, nil, &out, &errOut)
	if code != exitOK || !strings.Contains(out.String(), "odd: 2 jobs") ||
		!strings.Contains(out.String(), "\n  pool desks is not tested yet\n") ||
		errOut.String() != "warning: "+strings.Join(want, "\nwarning: ")+"\n" {
		t.Errorf("exit code %d:\n%s%s", code, out.String(), errOut.String())
	}
	if left, err := os.ReadDir(data); len(left) > 0 || err != nil {
		t.Errorf("the data directory has %v, %v", left, err)
	}
	served, logged := serving(t, "--config", config)
	served.line(t, "http://")
	for _, text := range want {
		if !strings.Contains(strings.ReplaceAll(logged.String(), `\"`, `"`), text) {
			t.Errorf("serve does not log %s:\n%s", text, logged.String())
		}
	}
}

// TestScheduleCheckSites: the check refuses a test that cannot play the builds of its schedule. The
// service warns.
//
// Fault: A schedule's test does not play the builds of its feed
func TestScheduleCheckSites(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"suite/shop.yaml": "name: shop\nsite: /\nend: 2s\n",
		"builds/s-1/index.html": "", "builds/s-1/firefox": ""} {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err = errors.Join(err, os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	form := fmt.Sprintf("data_dir = %q\nlisten = \"127.0.0.1:0\"\nsuite = [%q]\n"+
		"feed.shop = { kind = \"folder\", of = \"site\", dir = %q }\nfeed.main = { kind = \"folder\", dir = %[3]q }\n",
		filepath.Join(dir, "data"), filepath.Join(dir, "suite"), filepath.Join(dir, "builds")) +
		"[schedule.shop]\non = \"feed.%s\"\ntests = [\"%s\"]\nbrowsers = [\"firefox@%[1]s\"%[3]s]\n"
	for _, tc := range []struct{ feed, test, rival, want string }{
		{"shop", "shop", "", ""},
		{"main", "load", "", ""},
		{"shop", "load", "", "schedule shop: browser firefox@shop: test load: it does not play a build of a site; " +
			"give it site: / in place of page or url"},
		{"shop", "*", "", "it does not play a build of a site"},
		{"main", "shop", "", "schedule shop: browser firefox@main: test shop: it plays a build of a site; give " +
			`--site DIR, or on a rig a feed with of = "site"`},
		{"shop", "shop", `, "chromium"`, "browser chromium: test shop: it plays a build of a site"},
	} {
		config := writeConfig(t, fmt.Sprintf(form, tc.feed, tc.test, tc.rival))
		var out, errOut output
		code := run(t.Context(), []string{"schedule", "check", "--config", config}, nil, &out, &errOut)
		if want := map[bool]int{true: exitOK, false: exitUsage}[tc.want == ""]; code != want ||
			!strings.Contains(errOut.String(), tc.want) {
			t.Errorf("%s on %s: exit code %d:\n%s%s", tc.test, tc.feed, code, out.String(), errOut.String())
		}
	}
	served, logged := serving(t, "--config", writeConfig(t, fmt.Sprintf(form, "shop", "load", "")))
	served.line(t, "http://")
	if !strings.Contains(logged.String(), "test load: it does not play a build of a site") {
		t.Errorf("serve does not warn:\n%s", logged.String())
	}
}

// TestSchedulePoints: the list of points has the sets that remove-points takes, also those of a
// fleet.
func TestSchedulePoints(t *testing.T) {
	data, feed := t.TempDir(), t.TempDir()
	db, err := trend.Open(t.Context(), filepath.Join(data, rig.TrendFile), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	const set = "lab-07/s-000081-k7f2.2"
	for seq := range int64(3) {
		var all []trend.Measured
		for _, role := range []string{trend.Subject, trend.Control} {
			all = append(all, trend.Measured{Key: trend.SeriesKey{Schedule: "nightly", Test: "load", Measure: "fps",
				Value: "framerate", Unit: "fps", Device: "lab-07/local", Product: "firefox", Feed: "main", Role: role},
				Point: trend.Point{Seq: 79 + seq, Build: fmt.Sprint("v", 79+seq), WallNS: seq + 1,
					Values: []trend.Value{{Run: "run-01", Block: 1, Value: 60}}}})
		}
		if err := db.Add(t.Context(), strings.Replace(set, "81", fmt.Sprint(79+seq), 1), all); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.AddBuilds(t.Context(), []api.Build{{Feed: "main", Seq: 79, Name: "v79", Subject: "Before"},
		{Feed: "main", Seq: 80, Name: "v80", Subject: "Round\x1b[2J prices"}}); err != nil {
		t.Fatal(err)
	}
	list, err := db.Series(t.Context(), api.SeriesListParams{Role: trend.Subject, Limit: 1})
	if err != nil || len(list.Series) == 0 {
		t.Fatal(list, err)
	}
	for _, state := range []string{"confirmed", "candidate", "refuted"} {
		x := api.SeriesShift{Series: list.Series[0].ID, FirstSeq: 79, LastSeq: 80, State: state, Shift: -0.3,
			Relative: true, Direction: "worse", Reason: "It is " + state + "."}
		if state == "confirmed" {
			x.Cause = "price (app.js:3) ran for 9 ms\x1b[2J."
		}
		err = errors.Join(err, db.PutChange(t.Context(), &x))
		if state == "confirmed" {
			for _, open := range []string{"open", "fixed"} {
				err = errors.Join(err, db.PutAlert(t.Context(), &api.Alert{Schedule: "nightly", Feed: "main",
					FirstSeq: 79, LastSeq: 80, State: open, Changes: []api.SeriesShift{x},
					Command: "eideticker run " + open + " --device lab-07/local"}))
			}
		}
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	served, _ := serving(t, "--config", writeConfig(t, fmt.Sprintf("data_dir = %q\nlisten = \"127.0.0.1:0\"\n"+
		"feed.main = { kind = \"folder\", dir = %q }\n", data, feed)))
	address := "http://" + served.line(t, "http://")
	command := func(args ...string) string {
		t.Helper()
		var out, errOut output
		if code := run(t.Context(), append(append([]string{"schedule"}, args...), "--rig", address), nil, &out,
			&errOut); code != exitOK {
			t.Fatalf("%q: exit code %d: %s", args, code, errOut.String())
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	said := command("alerts")
	const shift = "fps.framerate of load on lab-07/local: 30 % lower since build v80 (worse)"
	if !strings.HasPrefix(said, "alert 1, open: "+shift+" build v80: Round?[2J prices "+
		"change 1: price (app.js:3) ran for 9 ms?[2J. "+
		"repeat it: eideticker run open --device lab-07/local "+
		"--hub "+address+" candidate: "+shift+" It is candidate. 0 of ") ||
		strings.Contains(said, "fixed") || strings.Contains(said, "refuted") {
		t.Errorf("%s", said)
	}
	got := command("points", "nightly", "--limit", "2")
	if !strings.HasPrefix(got, "set point "+set+" v81: framerate 60 fps; load on lab-07/local, 1 run, ") ||
		!strings.Contains(got, " lab-07/s-000080-k7f2.2 v80: ") || strings.Contains(got, "v79") {
		t.Errorf("%s", got)
	}
	if got := command("remove-points", strings.Fields(got)[2]); got != "2 points removed" {
		t.Errorf("%s", got)
	}
	if got := command("points", "nightly", "--json"); strings.Contains(got, set) || !strings.Contains(got, "v80") {
		t.Errorf("%s", got)
	}
}

// TestNeedsWithoutHub: a check without a hub says that it does not know the fleet.
func TestNeedsWithoutHub(t *testing.T) {
	t.Parallel()
	file := writeConfig(t, fmt.Sprintf("data_dir = %q\n[schedule.a]\ncron = \"0 3 * * *\"\ntests = [\"load\"]\n"+
		"needs = { model = \"pixel7\" }\nbrowsers = [\"firefox\"]\n", t.TempDir()))
	var out, errOut output
	code := run(t.Context(), []string{"schedule", "check", "--config", file}, nil, &out, &errOut)
	if code != exitOK || !strings.Contains(errOut.String(),
		"warning: schedule a: needs are not compared with the fleet; give --hub URL\n") {
		t.Errorf("exit code %d: %s%s", code, out.String(), errOut.String())
	}
}
