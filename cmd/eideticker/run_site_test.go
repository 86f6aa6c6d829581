package main

import (
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/session/siterecord"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/replay"
)

// TestMissesOfRuns: requests without a recorded answer are counted over all runs and named once.
func TestMissesOfRuns(t *testing.T) {
	run := func(missed int, urls ...string) *session.Made {
		r := &session.Replayed{Missed: missed}
		for _, u := range urls {
			r.Misses = append(r.Misses, replay.Miss{Method: "GET", URL: u})
		}
		return &session.Made{Record: &session.Record{Network: &session.Network{Replay: r}}}
	}
	for name, tc := range map[string]struct {
		runs []*session.Made
		want string
	}{
		"without a network": {[]*session.Made{{Record: &session.Record{}}}, ""},
		"none":              {[]*session.Made{run(0), run(0)}, ""},
		"one in each": {[]*session.Made{run(1, "http://a.test/x"), run(2, "http://a.test/x", "http://a.test/y")},
			"3 requests not in the archive: GET http://a.test/x, GET http://a.test/y"},
	} {
		if got := missesText(tc.runs); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestRecordedTests: addresses with a network and without an archive are recorded.
func TestRecordedTests(t *testing.T) {
	link := suite.Network{Profile: "3g"}
	for name, tc := range map[string]struct {
		test suite.Test
		want bool
	}{
		"an address": {suite.Test{URL: "https://a.test/", Network: link}, true},
		"no network": {suite.Test{URL: "https://a.test/"}, false},
		"a file":     {suite.Test{URL: "file:///a.html", Network: link}, false},
		"a page":     {suite.Test{Page: "/load.html", Network: link}, false},
		"a test":     {suite.Test{URL: "https://a.test/", Network: link, File: "a.yaml"}, false},
		"an archive": {suite.Test{URL: "https://a.test/", Network: suite.Network{Replay: "a.zip"}}, false},
	} {
		if siterecord.Follows(&tc.test) != tc.want {
			t.Errorf("%s: %v", name, !tc.want)
		}
	}
	for age, want := range map[time.Duration]string{time.Second: "less than a minute", 90 * time.Second: "1 minute",
		49 * time.Hour: "2 days"} {
		if got := ageText(age); got != want {
			t.Errorf("%v: %s", age, got)
		}
	}
}
