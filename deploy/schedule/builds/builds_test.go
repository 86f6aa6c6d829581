package builds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// clock is set by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// pass lets indexes be read again.
func (c *clock) pass() { c.at = c.at.Add(time.Minute) }

func newClock() *clock { return &clock{time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)} }

func open(t *testing.T, dir string, c *clock, f config.Feed, limit int64) *Cache {
	t.Helper()
	cache, err := Open(Options{Dir: dir, Feeds: map[string]config.Feed{"f": f}, MaxBytes: limit, Now: c.now,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

// put writes files; those of names that end with "*" are executable.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name, mode := strings.TrimSuffix(name, "*"), os.FileMode(0o644)
		if len(files) > 0 && files[name+"*"] == text {
			mode = 0o755
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode),
			os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// told lists builds as NUMBER NAME STATE.
func told(all []api.Build) string {
	var b []string
	for _, one := range all {
		b = append(b, fmt.Sprint(one.Seq, " ", one.Name, " ", one.State))
	}
	return strings.Join(b, ", ")
}

func builds(t *testing.T, c *Cache) string {
	t.Helper()
	all, err := c.Builds(context.Background(), "f")
	if err != nil {
		return err.Error()
	}
	return told(all)
}

func TestFolderKeepsNumbers(t *testing.T) {
	t.Parallel()
	dir, data, at := t.TempDir(), t.TempDir(), newClock()
	for _, n := range []string{"b-9", "b-10"} {
		put(t, dir, map[string]string{n + "/firefox*": "x"})
	}
	put(t, dir, map[string]string{"README.md": "no build", "empty/readme": "no build", ".b-11/firefox*": "half copied"})
	c := open(t, data, at, config.Feed{Kind: config.FeedFolder, Dir: dir}, 0)
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"numbers as numbers", func() error { return nil }, "1 b-9 usable, 2 b-10 usable"},
		{"one is removed, one comes", func() error {
			if err := os.RemoveAll(filepath.Join(dir, "b-9")); err != nil {
				return err
			}
			return os.Rename(filepath.Join(dir, ".b-11"), filepath.Join(dir, "b-11"))
		}, "1 b-9 gone, 2 b-10 usable, 3 b-11 usable"},
		{"an earlier name is a newer build", func() error {
			put(t, dir, map[string]string{"b-1/firefox*": "x"})
			return nil
		}, "1 b-9 gone, 2 b-10 usable, 3 b-11 usable, 4 b-1 usable"},
		{"it comes again", func() error {
			put(t, dir, map[string]string{"b-9/firefox*": "x"})
			_, err := c.Resolve(t.Context(), "f", "b-9")
			return err
		}, "1 b-9 usable, 2 b-10 usable, 3 b-11 usable, 4 b-1 usable"},
		{"after a restart", func() error {
			c = open(t, data, at, config.Feed{Kind: config.FeedFolder, Dir: dir}, 0)
			return nil
		}, "1 b-9 usable, 2 b-10 usable, 3 b-11 usable, 4 b-1 usable"},
		{"a folder and an archive of one name", func() error {
			return os.WriteFile(filepath.Join(dir, "b-9.zip"), nil, 0o644)
		}, "feed f: build b-9 is listed twice"},
		{"the feed is absent", func() error {
			return os.Rename(dir, dir+"-away")
		}, "feed f: open " + dir + ": no such file or directory"},
		{"the ledger is damaged", func() error {
			put(t, data, map[string]string{"feeds/f.json": "{"})
			c = open(t, data, at, config.Feed{Kind: config.FeedFolder, Dir: dir}, 0)
			return nil
		}, "feed f: read ledger f.json: unexpected end of JSON input; restore it from a backup"},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := builds(t, c); got != step.want {
			t.Errorf("%s:\n%s\nwant\n%s", step.name, got, step.want)
		}
	}
}

// Fault: A build of a feed has another hash than before
func TestFolderBuildsInPlace(t *testing.T) {
	t.Parallel()
	dir, data, at, ctx := t.TempDir(), t.TempDir(), newClock(), context.Background()
	put(t, dir, map[string]string{"b-1/sub/chrome*": "x", "b-1/chromedriver*": "y", "b-1/lib.so": "1",
		"b-2/chrome*": "x"})
	c := open(t, data, at, config.Feed{Kind: config.FeedFolder, Dir: dir}, 0)
	b, err := c.Resolve(ctx, "f", "b-1")
	if err != nil || c.Ready(b) {
		t.Fatalf("%v, ready before its first use: %v", err, c.Ready(b))
	}
	path, release, err := c.Program(ctx, "chromium", b)
	if err != nil || path != filepath.Join(dir, "b-1/sub/chrome") {
		t.Fatalf("%s, %v", path, err)
	}
	release()
	if !c.Ready(b) {
		t.Error("not ready after its first use")
	}
	lib := filepath.Join(dir, "b-1/lib.so")
	st, err := os.Stat(lib)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"b-1/lib.so": "2"})
	if err := os.Chtimes(lib, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	if _, release, err = c.Program(ctx, "chromium", b); err != nil {
		t.Errorf("the content is read again, though sizes and times are the same: %v", err)
	} else {
		release()
	}
	refuse := func(name, kind, want string) {
		t.Helper()
		if _, _, err := c.Program(ctx, kind, b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	refuse("another kind", "firefox", "no program of firefox")
	if err := os.Chmod(filepath.Join(dir, "b-1/lib.so"), 0o666); err != nil {
		t.Fatal(err)
	}
	refuse("a file that all may change", "chromium", "other users can change lib.so")
	if err := os.Chmod(filepath.Join(dir, "b-1/lib.so"), 0o644); err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"b-1/lib.so": "23"})
	if c.Ready(b) {
		t.Error("ready with another content")
	}
	refuse("another content", "chromium", "its SHA-256 changed")
	if got := builds(t, c); got != "1 b-1 broken, 2 b-2 usable" {
		t.Error(got)
	}
	_, err = c.Resolve(ctx, "f", "b-1")
	if err == nil || !strings.Contains(err.Error(), "build f:b-1 is broken: its SHA") {
		t.Errorf("a broken build: %v", err)
	}
}

// Fault: A feed is absent, or repeats a build
// Fault: A build of a feed has another hash than before
func TestLines(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	text, at, asked := "", newClock(), 0
	index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		if text == "" {
			http.Error(w, "no", http.StatusNotFound)
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(index.Close)
	c := open(t, t.TempDir(), at, config.Feed{Kind: config.FeedLines, URL: index.URL}, 0)
	for _, step := range []struct{ name, text, want string }{
		{"two", `{"seq":20,"revision":"r2","time":"2026-10-01T00:00:00Z","url":"a.zip","sha256":"` + a + `"}` + "\n\n" +
			`{"seq":10,"build":"one","url":"b.zip"}`, "10 one usable, 20 r2 usable"},
		{"absent", "", "feed f: download " + index.URL + ": the server answers 404 Not Found"},
		{"no JSON", "<html>", "feed f: line 1: invalid character '<' looking for beginning of value"},
		{"no number", `{"url":"a"}`, "feed f: line 1: seq is 0: must be a positive number"},
		{"no address", `{"seq":1}`, "feed f: line 1: url is missing"},
		{"no hash", `{"seq":1,"url":"a","sha256":"ab"}`,
			`feed f: line 1: sha256 is "ab": must have 64 hexadecimal digits`},
		{"a number twice", `{"seq":1,"url":"a","build":"x"}` + "\n" + `{"seq":1,"url":"a","build":"y"}`,
			"feed f: number 1 is that of builds x and y"},
		{"a name twice", `{"seq":1,"url":"a","build":"x"}` + "\n" + `{"seq":2,"url":"a","build":"x"}`,
			"feed f: build x is listed twice"},
		{"a name that leads elsewhere", `{"seq":1,"url":"a","build":"../x"}`,
			`feed f: build "../x": a name has 1 to 100 letters, digits and . _ + -`},
		{"another number", `{"seq":21,"revision":"r2","url":"a.zip"}`,
			"feed f: build r2: its number changed from 20 to 21"},
		{"another hash", `{"seq":20,"revision":"r2","url":"a.zip","sha256":"` + b + `"}`, "10 one gone, 20 r2 broken"},
		{"the first hash again", `{"seq":20,"revision":"r2","url":"a.zip","sha256":"` + a + `"}`,
			"10 one gone, 20 r2 broken"},
		{"a build between", `{"seq":15,"url":"c.zip"}` + "\n" + `{"seq":10,"build":"one","url":"b.zip"}`,
			"10 one usable, 15 15 usable, 20 r2 broken"},
	} {
		at.pass()
		text = step.text
		if got := builds(t, c); got != step.want {
			t.Errorf("%s:\n%s\nwant\n%s", step.name, got, step.want)
		}
	}
	if asked = 0; builds(t, c) == "" || asked > 0 {
		t.Error("the index of a server is read again at once")
	}
	text = ""
	at.pass()
	gaveUp, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := c.Builds(gaveUp, "f")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that gave up: %v", err)
	}
	asked = 0
	for range 3 {
		if all, err := c.Builds(context.Background(), "f"); err == nil || len(all) != 3 {
			t.Errorf("an absent feed has %d builds, error %v", len(all), err)
		}
		at.at = at.at.Add(failed / 3)
	}
	if asked != 1 {
		t.Errorf("%d requests to an absent feed within a minute", asked)
	}
	if b, err := c.Resolve(context.Background(), "f", "one"); err != nil || b.Seq != 10 {
		t.Errorf("a known build of an absent feed: %v, %v", b, err)
	}
	if _, err := c.Resolve(context.Background(), "f", ""); err == nil {
		t.Error("the newest build of an absent feed is found")
	}
}

// The index of Chrome for Testing as recorded, shortened.
const (
	chromeGood = `{"timestamp":"2026-10-02T08:09:10.000Z","versions":[
{"version":"113.0.5672.0","revision":"1121455","downloads":{"chrome":[
{"platform":"linux64",
"url":"https://storage.googleapis.com/chrome-for-testing-public/113.0.5672.0/linux64/chrome-linux64.zip"},
{"platform":"win64",
"url":"https://storage.googleapis.com/chrome-for-testing-public/113.0.5672.0/win64/chrome-win64.zip"}]}},
{"version":"113.0.5672.63","revision":"1121455","downloads":{"chromedriver":[],"chrome":[
{"platform":"linux64",
"url":"https://storage.googleapis.com/chrome-for-testing-public/113.0.5672.63/linux64/chrome-linux64.zip"}]}}]}`
	chromeLast = `{"timestamp":"2026-10-02T08:09:10.000Z","channels":{"Stable":{"channel":"Stable","version":"%s",
"revision":"1625079","downloads":{"chrome":[{"platform":"linux64",
"url":"https://storage.googleapis.com/c/%s/linux64/chrome-linux64.zip"}]}}}}`
)

func TestChromeForTesting(t *testing.T) {
	t.Parallel()
	version, at := "150.0.7871.115", newClock()
	index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/known-good-versions-with-downloads.json":
			fmt.Fprint(w, chromeGood)
		case "/last-known-good-versions-with-downloads.json":
			fmt.Fprintf(w, chromeLast, version, version)
		}
	}))
	t.Cleanup(index.Close)
	f := config.Feed{Kind: config.FeedChrome, URL: index.URL}
	if got := builds(t, open(t, t.TempDir(), at, f, 0)); got != "1 113.0.5672.0 usable, 2 113.0.5672.63 usable" {
		t.Error(got)
	}
	f.Channel = "stable"
	c := open(t, t.TempDir(), at, f, 0)
	builds(t, c)
	version = "151.0.7900.10"
	at.pass()
	if got := builds(t, c); got != "1 150.0.7871.115 usable, 2 151.0.7900.10 usable" {
		t.Error(got)
	}
	b, err := c.Resolve(context.Background(), "f", "150")
	if err != nil || b.Name != "150.0.7871.115" || b.Revision != "1625079" || b.WallNS != 1790928550000000000 {
		t.Errorf("%+v, %v", b, err)
	}
	for _, wrong := range []config.Feed{{Kind: config.FeedChrome, URL: index.URL, Channel: "gold"},
		{Kind: config.FeedChrome, URL: index.URL, Platform: "amiga"}} {
		got := builds(t, open(t, t.TempDir(), at, wrong, 0))
		if !strings.HasPrefix(got, "feed f: index of Chrome for Testing: ") {
			t.Error(got)
		}
	}
}

// listing is a page of Mozilla's archive.
func listing(names ...string) string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html><body><table>\n" +
		"<tr><td>Dir</td><td><a href=\"/pub/firefox/nightly/\">..</a></td></tr>\n")
	for _, name := range names {
		fmt.Fprintf(&b, "<tr><td></td><td><a href=\"/pub/firefox/nightly/x/%s\">%s</a></td></tr>\n", name, name)
	}
	return b.String() + "</table></body></html>"
}

func TestMozilla(t *testing.T) {
	t.Parallel()
	at, asked := newClock(), 0
	const base = "firefox-145.0a1.en-US.linux-x86_64"
	days := []string{"2026-10-01-09-30-21-mozilla-central/", "2026-10-01-09-30-21-mozilla-central-l10n/",
		"2026-10-02-21-00-00-mozilla-central/"}
	september, want := []string{}, []string{}
	for day := 1; day <= 30; day++ {
		september = append(september, fmt.Sprintf("2026-09-%02d-09-30-21-mozilla-central/", day))
		if day > 18 { // with two days of October these are the newest 14
			want = append(want, fmt.Sprintf("%d 2026-09-%02d-09-30-21 usable", day-18, day))
		}
	}
	want = append(want, "13 2026-10-01-09-30-21 usable")
	index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		dir, name := filepath.Split(r.URL.Path)
		switch {
		case dir == "/2026/09/":
			fmt.Fprint(w, listing(september...))
		case dir == "/2026/10/":
			fmt.Fprint(w, listing(days...))
		case strings.Contains(dir, "10-02"):
			fmt.Fprint(w, listing(base+".txt")) // not complete
		case name == "":
			fmt.Fprint(w, listing(base+".checksums", base+".tar.xz", base+".txt", base+".tests.tar.gz"))
		case strings.HasSuffix(name, ".checksums"):
			fmt.Fprintf(w, "%s sha512 70 %s.tar.xz\n%s sha256 70 %[2]s.tar.xz\n", strings.Repeat("c", 128), base,
				strings.Repeat("d", 64))
		case strings.HasSuffix(name, ".txt"):
			fmt.Fprint(w, "20261001093021\n"+
				"https://hg.mozilla.org/mozilla-central/rev/0a1b2c3d4e5f0a1b2c3d4e5f0a1b2c3d4e5f0a1b\n")
		}
	}))
	t.Cleanup(index.Close)
	c := open(t, t.TempDir(), at, config.Feed{Kind: config.FeedMozilla, URL: index.URL}, 0)
	if got := builds(t, c); got != strings.Join(want, ", ") {
		t.Error(got)
	}
	b, err := c.Resolve(context.Background(), "f", "2026-10-01")
	if err != nil || b.SHA256 != strings.Repeat("d", 64) || !strings.HasPrefix(b.Revision, "0a1b2c3d") ||
		b.URL != index.URL+"/2026/10/2026-10-01-09-30-21-mozilla-central/"+base+".tar.xz" {
		t.Errorf("%+v, %v", b, err)
	}
	if asked != 2+3*13+1 {
		t.Errorf("%d requests for two months and 14 folders, 13 of them complete", asked)
	}
	at.pass()
	if got := builds(t, c); got != strings.Join(want, ", ") {
		t.Errorf("older builds are added later: %s", got)
	}
	if asked != 42+3 {
		t.Errorf("%d requests more, want two months and the incomplete folder", asked-42)
	}
}

// git runs git in a repository.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	args = append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org",
		"-c", "commit.gpgsign=false"}, args...)
	cmd := exec.Command("git", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
}

// Fault: The command of a `git` feed fails or hangs
func TestGit(t *testing.T) {
	t.Parallel()
	repo, at, ctx := t.TempDir(), newClock(), context.Background()
	git(t, repo, "init", "-q", "-b", "main")
	for i, message := range []string{"1\n\nMore text", "2" + strings.Repeat("é", 5000)} {
		put(t, repo, map[string]string{"src": fmt.Sprint(i + 1)})
		git(t, repo, "add", ".")
		git(t, repo, "commit", "-q", "-m", message)
	}
	const script = `mkdir out && printf "#!/bin/sh\n# %s $EIDETICKER_REVISION" "$(cat src)" >out/firefox &&
chmod 755 out/firefox`
	f := config.Feed{Kind: config.FeedGit, Dir: repo, Branch: "main", Command: []string{"sh", "-c", script},
		Output: "out"}
	c := open(t, t.TempDir(), at, f, 0)
	all, err := c.Builds(ctx, "f")
	if err != nil || len(all) != 2 || all[1].Parent != all[0].Revision ||
		all[0].Subject != "1" || all[1].Subject != "2"+strings.Repeat("é", 117)+".." {
		t.Fatalf("%+v, %v", all, err)
	}
	message := "e" + strings.Repeat("\u0301", maxOutput) // of one column
	put(t, repo, map[string]string{"src": "3", "message": message})
	git(t, repo, "commit", "-q", "-a", "-F", filepath.Join(repo, "message"))
	at.pass()
	if all, err := c.Builds(ctx, "f"); err != nil || len(all) != 3 || len(all[2].Subject) > maxSubject {
		t.Fatalf("%d builds, %v", len(all), err)
	}
	if got := subject(strings.Repeat("\U0001d400", 200)); len(got) > maxSubject || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	out, err := run(ctx, "", "", "sh", "-c", "echo warning: old >&2; echo 0a 1")
	if string(out) != "0a 1\n" || err != nil {
		t.Errorf("%q, %v: want the output without warnings", out, err)
	}
	path, release, err := c.Program(ctx, "firefox", all[0])
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if text, _ := os.ReadFile(path); string(text) != "#!/bin/sh\n# 1 "+all[0].Revision {
		t.Errorf("%s", text)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(path)), ".new-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	for want, wrong := range map[string]config.Feed{
		"sh: exit status 3: oh": {Command: []string{"sh", "-c", "echo oh; exit 3"}, Output: "out"},
		"sh: exit status 4: hm": {Command: []string{"sh", "-c", "echo hm >&2; echo oh; exit 4"}, Output: "out"},
		"timeout after 1s": {Command: []string{"sh", "-c", "sleep 600 & sleep 600"}, Output: "out",
			Timeout: config.Duration(time.Second)},
		"leads out of the commit's": {Command: []string{"ln", "-s", "/usr", "out"}, Output: "out"},
		"no such file":              {Command: []string{"true"}, Output: "out"},
		"has no program":            {Command: []string{"mkdir", "out"}, Output: "out"},
		"has no command for it":     {},
	} {
		wrong.Kind, wrong.Dir = config.FeedGit, repo
		c := open(t, t.TempDir(), at, wrong, 0)
		b, err := c.Resolve(ctx, "f", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Program(ctx, "firefox", b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestNaturalOrder(t *testing.T) {
	t.Parallel()
	want := []string{"a", "a-2", "a-010", "a-10", "a-10.0.2", "a-10.0.10", "a-b", "b1"}
	got := slices.Clone(want)
	slices.Reverse(got)
	if slices.SortFunc(got, wording.Natural); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
