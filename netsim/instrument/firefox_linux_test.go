package instrument_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// reporter sends the text of a page that is done, and goes on to the next page.
const reporter = `(function wait() {
  if (!window.done) return setTimeout(wait, 20);
  const request = new XMLHttpRequest();
  request.open('POST', '/report', false);
  request.send(document.getElementById('out').textContent);
  location.href = request.responseText;
})();`

// TestFirefox: each hostile page without a policy has the text of the plain page in Firefox, too.
func TestFirefox(t *testing.T) {
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("Firefox is not installed")
		}
		t.Skip("Firefox is not installed (apt-get install firefox-esr)")
	}
	in, fake := hostileInstrument(t)
	pages, names, calls := map[string]answer{"/report.js": {reporter, asScript, 0}}, []string{}, []string{}
	for _, c := range hostilePages {
		if c.policy != "" {
			continue // of other forms in Firefox
		}
		for path, a := range hostileSite(t, c.name, "") {
			if path == "/" {
				a.body += "<script src=/report.js></script>"
			}
			pages["/"+c.name+path] = a
		}
		// Workers end with their page before they send, and a page without iterators sends no text/plain.
		if names = append(names, c.name); c.name != "workers" && c.name != "natives" {
			calls = append(calls, c.calls...)
		}
	}
	reports, next := make(chan string, 1), make(chan string, 1)
	serve := func(h http.Handler) *httptest.Server {
		mux := http.NewServeMux()
		mux.Handle("/", h)
		mux.HandleFunc("/report", func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
			if err != nil {
				t.Error(err)
			}
			reports <- string(text)
			fmt.Fprint(w, <-next)
		})
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		return s
	}
	plain, wrapped := serve(site(pages)), serve(in.Wrap(site(pages)))
	defer close(next)
	stop := startFirefox(t, path, plain.URL+"/"+names[0]+"/")
	defer stop()
	for i, name := range names {
		without := receive(t, name, reports)
		next <- wrapped.URL + "/" + name + "/"
		with := receive(t, name, reports)
		if with != without {
			t.Errorf("%s shows\n%s", name, difference(with, without))
		}
		if i+1 < len(names) {
			next <- plain.URL + "/" + names[i+1] + "/"
		} else {
			next <- "about:blank"
		}
	}
	if missing := fake.waitFor(func() string { return notEntered(in, fake.ids, calls) }); missing != "" {
		t.Errorf("functions were not entered: %s", missing)
	}
}

// receive returns the report of a page.
func receive(t *testing.T, name string, reports <-chan string) string {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case text := <-reports:
		return text
	case <-timer.C:
		t.Fatalf("%s is not done", name)
		return ""
	}
}

// startFirefox opens a page in a browser without a window.
func startFirefox(t *testing.T, path, address string) (stop func()) {
	home, err := os.MkdirTemp("", "f") // short: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	// Processes for pages that may come cost as much as those of the test.
	const prefs = `user_pref("dom.ipc.processPrelaunch.enabled", false);
user_pref("dom.ipc.processCount", 1);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("app.normandy.enabled", false);
`
	if err := os.WriteFile(filepath.Join(home, "user.js"), []byte(prefs), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-remote", "--profile", home, address)
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the leader was not waited for
		_ = cmd.Wait()                                      // was killed
		if err := os.RemoveAll(home); err != nil {
			t.Log(err)
		}
	}
}
