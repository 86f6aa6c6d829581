package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
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

// A rig on the network answers to the name that it prints, be that from the configuration or the
// machine's own, and to no other.
//
// Fault: DNS rebinding
func TestServeByName(t *testing.T) {
	for name, access := range map[string]string{"the configuration's": "[access]\nhosts = [\"rig-01.example.org\"]\n",
		"the machine's": ""} {
		t.Run(name, func(t *testing.T) {
			out, _ := serving(t, "--config", writeConfig(t, "listen = \":0\"\ndata_dir = \""+t.TempDir()+"\"\n"+access))
			printed, err := url.Parse("https:" + out.line(t, "https:"))
			if err != nil {
				t.Fatal(err)
			}
			if access != "" && printed.Hostname() != "rig-01.example.org" {
				t.Errorf("%s is printed", printed)
			}
			// this is not about certificates
			http := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
			defer http.CloseIdleConnections()
			for host, want := range map[string]int{printed.Host: 200, "evil.example": 421} {
				if status := page(t, http, net.JoinHostPort("127.0.0.1", printed.Port()), host); status != want {
					t.Errorf("to %s the rig answers %d, want %d", host, status, want)
				}
			}
		})
	}
}

// page asks for the page of a rig, by a name for it.
func page(t *testing.T, c *http.Client, at, host string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body) // so that the connection can be used again
	_ = res.Body.Close()
	return res.StatusCode
}

// The help of serve names each flag that it takes, which the parser lists under serve start only.
func TestServeHelp(t *testing.T) {
	var help bytes.Buffer
	if code := run(t.Context(), []string{"serve", "--help"}, nil, &help, io.Discard); code != exitOK {
		t.Fatal(code)
	}
	parser, err := newParser(io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse([]string{"serve", "start"})
	if err != nil {
		t.Fatal(err)
	}
	flags := parsed.Selected().Flags
	if len(flags) < 5 {
		t.Fatalf("serve start has %d flags", len(flags))
	}
	for _, f := range flags {
		if said := fmt.Sprintf("--%s %s", f.Name, f.PlaceHolder); !strings.Contains(
			strings.Join(strings.Fields(help.String()), " "), said) {
			t.Errorf("%s is not in the help of serve:\n%s", said, &help)
		}
	}
}
