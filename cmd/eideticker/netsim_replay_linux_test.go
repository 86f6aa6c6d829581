package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/device"
)

// TestNetsimRecordAndReplay: the commands, with curl behind a proxy, and behind a line where that
// may be made.
func TestNetsimRecordAndReplay(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("STATE_DIRECTORY", "")
	body := strings.Repeat("a line of the site\n", 5000)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, body)
	}))
	defer site.Close()
	server := site.Listener.Addr().String()
	archive := filepath.Join(t.TempDir(), "site.zip")
	page := "http://" + server + "/page"
	command := func(want int, args ...string) (out, told string) {
		t.Helper()
		var o, e bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &o, &e); code != want {
			t.Fatalf("%q: exit code %d, want %d: %s%s", args, code, want, &o, &e)
		}
		return o.String(), e.String()
	}
	curl := []string{"--", "curl", "--silent", "--show-error", "--max-time", "60"}
	out, _ := command(exitOK, append([]string{"netsim", "record", "--proxy", "localhost:0", "-o", archive},
		append(curl, page)...)...)
	if !strings.HasPrefix(out, body) || !strings.Contains(out, "1 exchange, ") {
		t.Errorf("%.300s", strings.TrimPrefix(out, body))
	}
	// it is there
	command(exitFailure, append([]string{"netsim", "record", "--proxy", "localhost:0", "-o", archive},
		append(curl, page)...)...)
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive, in which cookies are: %v %v", info.Mode(), err)
	}
	if err := os.Chmod(archive, 0o644); err != nil { // as one that is there may be
		t.Fatal(err)
	}
	command(exitOK, append([]string{"netsim", "record", "--proxy", "localhost:0", "--force", "-o", archive},
		append(curl, page)...)...)
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive in the place of another: %v %v", info.Mode(), err)
	}
	out, _ = command(exitOK, "netsim", "replay", archive, "--list")
	if !strings.Contains(out, page) || !strings.Contains(out, "1 exchange of eideticker") {
		t.Errorf("%s", out)
	}
	har := archive + ".har"
	command(exitOK, "netsim", "replay", archive, "--export", har)
	if info, err := os.Stat(har); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the HAR, in which cookies are: %v %v", info.Mode(), err)
	}
	for _, from := range []string{archive, har} {
		out, _ = command(exitOK, append([]string{"netsim", "replay", from, "--proxy", "localhost:0"},
			append(curl, page, page+"s")...)...)
		if !strings.HasPrefix(out, body) || !strings.Contains(out, "1 × GET "+page+"s: it was not recorded") ||
			!strings.Contains(out, "nearest: "+page+"\n") || !strings.Contains(out, "fidelity   50.0 %") {
			t.Errorf("%.600s", strings.TrimPrefix(out, body))
		}
	}
	if os.Geteuid() != 0 && os.Getenv("CI") != "true" {
		t.Skip("a packet link takes root")
	}
	// Behind the line any name leads to the replay, which knows sites by what they are asked as.
	_, port, _ := net.SplitHostPort(server)
	out, _ = command(exitOK, append([]string{"netsim", "replay", archive, "--profile", "cable"},
		append(curl, "--header", "Host: 127.0.0.1:"+port, "http://any.test/page")...)...)
	if !strings.HasPrefix(out, body) || !strings.Contains(out, "fidelity   100.0 %") {
		t.Errorf("%.300s", strings.TrimPrefix(out, body))
	}
	// By DNS, TLS is ours, and a site that is not there is said not to be.
	file := filepath.Join(t.TempDir(), "none.zip")
	out, _ = command(exitOK, append([]string{"netsim", "record", "--dns", "-o", file},
		append(curl, "https://nowhere.invalid/")...)...)
	if !strings.Contains(out, "nowhere.invalid does not answer") || !strings.Contains(out, "failed    1") {
		t.Errorf("%s", out)
	}
}

// TestProxyBeyondLoopback: a recording proxy that other machines reach connects them to no address
// of this machine.
func TestProxyBeyondLoopback(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("STATE_DIRECTORY", "")
	asked := make(chan string, 100)
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l,
		Config: &http.Server{Handler: http.HandlerFunc(
			func(_ http.ResponseWriter, r *http.Request) { asked <- r.Host })}}
	server.Start()
	defer server.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"localhost", "127.0.0.1", "127.0.0.2", "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]"}
	for _, a := range addresses {
		if ip := a.(*net.IPNet).IP; ip.To4() != nil {
			hosts = append(hosts, ip.String())
		}
	}
	curl := []string{"--", "curl", "--silent", "--insecure", "--max-time", "60"}
	for _, host := range hosts {
		curl = append(curl, "http://"+host+":"+port, "https://"+host+":"+port)
	}
	var out, told bytes.Buffer
	args := append([]string{"netsim", "record", "--proxy", "0.0.0.0:0", "-o", filepath.Join(t.TempDir(), "site.zip")},
		curl...)
	if code := run(t.Context(), args, strings.NewReader(""), &out, &told); code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, &out, &told)
	}
	select {
	case host := <-asked:
		t.Errorf("the proxy connected to %s, which is this machine", host)
	default:
	}
	if got := strings.Count(out.String(), device.ErrInside.Error()); got < 2*len(hosts) ||
		!strings.Contains(told.String(), "rejects requests to this machine") {
		t.Errorf("%d of %d requests were refused as to this machine: %s%s", got, 2*len(hosts), &out, &told)
	}
}
