package rig

import (
	"slices"
	"testing"
)

func TestHosts(t *testing.T) {
	for _, tc := range []struct {
		given   []string
		machine string
		want    []string
		shown   string // of what listens on all addresses
	}{
		{nil, "rig-01", []string{"rig-01"}, "rig-01:8430"},
		{nil, "RIG-01", []string{"rig-01"}, "rig-01:8430"},
		{[]string{"rig-01.example.org"}, "rig-01", []string{"rig-01.example.org", "rig-01"}, "rig-01.example.org:8430"},
		{[]string{"rig-01"}, "rig-01", []string{"rig-01"}, "rig-01:8430"},
		{nil, "localhost", nil, "[::]:8430"},
		{nil, "", nil, "[::]:8430"},
	} {
		hosts := hostsWith(tc.given, tc.machine)
		if !slices.Equal(hosts, tc.want) {
			t.Errorf("%q with %q: %q, want %q", tc.given, tc.machine, hosts, tc.want)
		}
		if got := shownAddress("[::]:8430", hosts); got != tc.shown {
			t.Errorf("%q with %q: %s is shown, want %s", tc.given, tc.machine, got, tc.shown)
		}
		if got := shownAddress("192.0.2.1:8430", hosts); got != "192.0.2.1:8430" {
			t.Errorf("%s is shown of a rig that is at one address", got)
		}
	}
}
