package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestNetsimForwards: a program behind a line finds a server of this machine at any name, and all
// of it goes over the line.
func TestNetsimForwards(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a packet link takes root")
	}
	body := strings.Repeat("it is there\n", 10_000)
	hosts := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts <- r.Host
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	var out, told bytes.Buffer
	code := run(t.Context(), []string{"netsim", "link", "--profile", "cable", "--forward",
		"80=" + server.Listener.Addr().String(), "--",
		"curl", "--silent", "--show-error", "--max-time", "60", "http://anything.test/"}, strings.NewReader(""), &out,
		&told)
	if code != exitOK || out.String() != body {
		t.Fatalf("exit code %d, %d bytes of %d: %s", code, out.Len(), len(body), &told)
	}
	if host := <-hosts; host != "anything.test" {
		t.Errorf("asked for %q", host)
	}
	if !strings.Contains(told.String(), "cable; down ") || strings.Contains(told.String(), "down 0 packets") {
		t.Errorf("%s", &told)
	}
}
