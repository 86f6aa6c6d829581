package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
)

// output is what a command prints while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// line waits for a line that begins with something, and returns the rest of it.
func (o *output) line(t *testing.T, begin string) string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for line := range strings.Lines(o.String()) {
			if rest, is := strings.CutPrefix(line, begin); is && strings.HasSuffix(line, "\n") {
				return strings.TrimSpace(rest)
			}
		}
	}
	t.Fatalf("no line begins with %q:\n%s", begin, o.String())
	return ""
}

// serving starts eideticker serve, and returns what it prints. It ends with the test, and must end
// well.
func serving(t *testing.T, args ...string) (out, errOut *output) {
	t.Helper()
	out, errOut = &output{}, &output{}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan int, 1)
	go func() { over <- run(ctx, append([]string{"serve"}, args...), nil, out, errOut) }()
	t.Cleanup(func() {
		stop()
		select {
		case code := <-over:
			if code != exitOK {
				t.Errorf("exit code %d:\n%s", code, errOut)
			}
		case <-time.After(patience):
			t.Errorf("serve does not end:\n%s", errOut)
		}
	})
	return out, errOut
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "eideticker.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A rig encrypts with a certificate of its own, which clients know by the fingerprint that it
// prints, and takes tokens that are made while it runs.
//
// Fault: An eavesdropper on the network
func TestServeEncrypted(t *testing.T) {
	data := t.TempDir()
	secrets := filepath.Join(data, "secrets") // in which programs were killed
	if err := os.Mkdir(secrets, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".tokens.json.123", ".tls.pem.456"} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte("half a"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := writeConfig(t, "listen = \"127.0.0.1:0\"\ndata_dir = \""+data+
		"\"\n[access]\ntoken = \"always\"\n[tls]\nmode = \"self\"\n")
	out, errOut := serving(t, "--config", config)
	address := "https:" + out.line(t, "https:")
	fingerprint := errOut.line(t, "certificate ")
	if hint := errOut.line(t, "no tokens"); !strings.Contains(hint, "serve token add") {
		t.Error(hint)
	}
	var secret bytes.Buffer
	if code := run(t.Context(), []string{"serve", "token", "add", "--config", config, "--role", "view", "ci"}, nil,
		&secret, errOut); code != exitOK {
		t.Fatal(errOut)
	}
	ask := func(token, print string) error {
		c, err := client.New(address, token)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if print != "" {
			if err := c.Trust(print); err != nil {
				t.Fatal(err)
			}
		}
		var status api.Status
		if err := c.Call(t.Context(), "rig.status", api.Empty{}, &status); err != nil {
			return err
		}
		if status.Owner != "ci" || status.Role != api.View {
			t.Errorf("%+v", status)
		}
		return nil
	}
	token := strings.TrimSpace(secret.String())
	var refused *client.StatusError
	if err := ask("", fingerprint); !errors.As(err, &refused) || refused.Status != 401 {
		t.Errorf("without a token: %v", err)
	}
	if err := ask(token, ""); err == nil || errors.As(err, &refused) {
		t.Errorf("a certificate for which nobody vouches: %v", err)
	}
	if err := ask(token, strings.Repeat("00", 32)); err == nil || errors.As(err, &refused) {
		t.Errorf("another fingerprint: %v", err)
	}
	// it is looked for once a second
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := ask(token, fingerprint)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"secrets/tls.pem", "secrets/tokens.json"} {
		if st, err := os.Stat(filepath.Join(data, path)); err != nil || st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
	if list, err := os.ReadDir(secrets); err != nil || len(list) != 2 {
		t.Errorf("what killed programs have left is still there: %v, %v", list, err)
	}
	if code := run(t.Context(), []string{"serve", "--config", config}, nil, io.Discard,
		io.Discard); code != exitFailure {
		t.Errorf("two rigs have one data directory: exit code %d", code)
	}
}

// Bug: /healthz is ok on a full disk, on which no run begins.
func TestServeOnFullDisk(t *testing.T) {
	out, _ := serving(t, "--config", writeConfig(t, "listen = \"127.0.0.1:0\"\ndata_dir = \""+t.TempDir()+
		"\"\n[store]\nmin_free = \"8000TiB\"\n"))
	address := "http:" + out.line(t, "http:")
	// until the daemon has looked at its disk
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		res, err := http.Get(address + "healthz")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == 503 && strings.Contains(string(text), "bytes are free on the disk") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("healthz: %d %s", res.StatusCode, text)
		}
	}
}

// Fault: Configuration has an unknown key or a bad value
func TestServeRefused(t *testing.T) {
	dir := t.TempDir()
	const free = "listen = \"" + anyPort + "\"\n"
	for _, tc := range []struct {
		name, config string
		args         []string
		code         int
		want         string
	}{
		{"unknown key", "lisen = \"x\"\n", nil, exitUsage, ":1: unknown key \"lisen\"; did you mean listen?"},
		{"open tokens", "listen = \"0.0.0.0:0\"\n[tls]\nmode = \"off\"\n", nil, exitUsage,
			"tokens would be sent in clear"},
		{"a proxy whose clients are admin", "[access]\nhosts = [\"rig.example.org\"]\n", nil, exitUsage,
			`access.token must be "always"`},
		{"bad address", "", []string{"--listen", "nowhere"}, exitUsage, "must be an address and a port"},
		{"no devices file", free + "devices = \"none.yaml\"\n", nil, exitFailure, "none.yaml"},
		{"no certificate", free + "[tls]\ncert = \"none.pem\"\nkey = \"none.pem\"\n", nil, exitFailure, "none.pem"},
		{"keep what has no display", free + "[runs.keep_last]\nlocal = \"30s\"\n", nil, exitFailure,
			"only while a test runs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var errOut output
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			args := append([]string{"serve", "--config", writeConfig(t, tc.config), "--data-dir",
				filepath.Join(dir, "data")}, tc.args...)
			if code := run(ctx, args, nil, io.Discard, &errOut); code != tc.code ||
				!strings.Contains(errOut.String(), tc.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, tc.code, tc.want, errOut.String())
			}
		})
	}
}

// TestServeFirst: the first start without a configuration prints the next steps. Others print the
// address alone.
func TestServeFirst(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(data, "authority"), 0o700); err != nil { // of another command
		t.Fatal(err)
	}
	start := func(first bool, args ...string) {
		t.Helper()
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			out, errOut := serving(t, append(args, "--listen", "127.0.0.1:0")...)
			page := "http:" + out.line(t, "http:")
			if first {
				if got := errOut.line(t, "web page "); got != page {
					t.Errorf("the page is %s, not %s", got, page)
				}
				for begin, want := range map[string]string{"runs ": data, "run a test ": " --rig " + page,
					"add a device ": "devices.yaml", "let others in ": "token add --role run --data-dir " + data,
					"as a service ": "docs/install-a-box.md"} {
					if got := errOut.line(t, begin); !strings.Contains(got, want) {
						t.Errorf("%s: %q has no %q", begin, got, want)
					}
				}
			}
			if strings.Contains(errOut.String(), "This rig is new") != first || strings.Count(out.String(), "\n") != 1 {
				t.Errorf("it prints %q and\n%s", out, errOut)
			}
		})
	}
	start(false, "--config", writeConfig(t, ""), "--data-dir", filepath.Join(t.TempDir(), "configured"))
	t.Run("hub", func(t *testing.T) {
		hub := []string{"--data-dir", filepath.Join(t.TempDir(), "hub")}
		var said bytes.Buffer
		if code := run(t.Context(), append([]string{"fleet", "init"}, hub...), nil, io.Discard,
			&said); code != exitOK || !strings.Contains(said.String(), "eideticker serve --listen :8430") {
			t.Fatalf("fleet init: exit code %d: %s", code, &said)
		}
		_, errOut := serving(t, append(hub, "--listen", "0.0.0.0:0")...)
		if got := errOut.line(t, "let others in "); strings.Contains(got, "--listen") {
			t.Errorf("a rig that listens on all addresses: %s", got)
		}
		if got := errOut.line(t, "add a rig "); !strings.Contains(got, "fleet invite NAME --hub https:") {
			t.Errorf("a hub: %s", got)
		}
	})
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	var errOut bytes.Buffer
	args := []string{"serve", "--data-dir", data, "--listen", busy.Addr().String()}
	code := run(t.Context(), args, nil, &errOut, &errOut)
	if want := "eideticker: serve: listen tcp " + busy.Addr().String(); code != exitFailure ||
		!strings.HasPrefix(errOut.String(), want) || strings.Count(errOut.String(), "\n") != 1 {
		t.Errorf("exit code %d, want only %q:\n%s", code, want, &errOut)
	}
	start(true, "--data-dir", data)
	start(false, "--data-dir", data)
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
