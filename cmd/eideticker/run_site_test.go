package main

import (
	"testing"

	"github.com/eideticker/eideticker/controller/session/siterecord"
	"github.com/eideticker/eideticker/controller/suite"
)

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
}
