package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/serve"
)

// told is what a command prints while it runs.
type toldSoFar struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *toldSoFar) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *toldSoFar) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestNetsimServe: a folder is served here until Ctrl-C, which prints what was served; with the
// certificate for devices beside it.
func TestNetsimServe(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("<!doctype html>here"), 0o600); err != nil {
		t.Fatal(err)
	}
	harPath := filepath.Join(t.TempDir(), "load.har")
	for _, more := range [][]string{nil, {"--stream", "--rtt", "40ms"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		var out bytes.Buffer
		var told toldSoFar
		ended := make(chan int, 1)
		go func() {
			ended <- run(ctx, append([]string{"netsim", "serve", dir, "--http", "127.0.0.1:0", "--https", "127.0.0.1:0",
				"--authority", filepath.Join(t.TempDir(), "a"), "--json", "--force", "--har", harPath}, more...),
				strings.NewReader(""), &out, &told)
		}()
		url := regexp.MustCompile(`serving 1 file at (http://\S+)\n(?s:.*)trust`)
		deadline := time.Now().Add(patience)
		for ; url.FindStringSubmatch(told.String()) == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(told.String())
			}
		}
		root := url.FindStringSubmatch(told.String())[1]
		began := time.Now()
		for path, want := range map[string]string{"": "<!doctype html>here",
			serve.AuthorityFile: "-----BEGIN CERTIFICATE-----"} {
			r, err := http.Get(root + path)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r.Body)
			r.Body.Close()
			if err != nil || !strings.HasPrefix(string(b), want) {
				t.Errorf("%s: %q, %v", path, b, err)
			}
		}
		if more != nil && time.Since(began) < 80*time.Millisecond {
			t.Errorf("two round trips and more took %v", time.Since(began))
		}
		interrupt()
		if code := <-ended; code != exitOK {
			t.Errorf("exit code %d: %s", code, told.String())
		}
		f, err := os.Open(harPath)
		if err != nil {
			t.Fatal(err)
		}
		fall, err := har.Read(f)
		f.Close()
		if err != nil || len(fall.Log.Entries) != 2 || fall.Log.Entries[0].Response.Status != 200 ||
			fall.Log.Entries[0].Moments.FirstByte.By != har.Server {
			t.Errorf("%+v, %v", fall, err)
		}
		if wait := fall.Log.Entries[1].Timings.Wait; more != nil && wait < 40 {
			t.Errorf("the second answer came after %v ms, over a line of 40", wait)
		}
		var got servedJSON
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Exchanges != 2 || got.Statuses[200] != 2 ||
			got.Failed != 0 || len(got.URLs) != 2 || got.Files != 1 {
			t.Errorf("%s %v", &out, err)
		}
	}
}

// TestNetsimPortTaken: it says which, and how to take another.
//
// Fault: Unknown host, port in use, or a mistake in a timing file
func TestNetsimPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	page, archive, at := filepath.Join(dir, "site", "a"), filepath.Join(dir, "a.har"), l.Addr().String()
	err = errors.Join(os.Mkdir(filepath.Dir(page), 0o755), os.WriteFile(page, nil, 0o600),
		os.WriteFile(archive, []byte(`{"log":{"version":"1.2","entries":[]}}`), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", filepath.Dir(page), "--http", at, "--https", "off"},
			"; choose another address with --http, or off"},
		{[]string{"serve", filepath.Dir(page), "--http", "off", "--https", at},
			"; choose another address with --https, or off"},
		{[]string{"record", "-o", filepath.Join(dir, "b.zip"), "--proxy", at}, "; choose another address with --proxy"},
		{[]string{"replay", archive, "--http", at}, "; choose another address with --http"},
		{[]string{"replay", archive, "--https", at}, "; choose another address with --https"},
		{[]string{"replay", archive, "--proxy", at}, "; choose another address with --proxy"},
	} {
		args := slices.Concat([]string{"netsim"}, tc.args, []string{"--authority", filepath.Join(dir, "authority")})
		var out, told bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &out, &told)
		if code != exitFailure || !strings.Contains(told.String(), "address already in use"+tc.want) {
			t.Errorf("%q: exit code %d: %s", args, code, &told)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "b.zip")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an archive is there of which nothing was recorded: %v", err)
	}
}
