package builds

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// item is an entry of an archive.
type item struct {
	name string
	mode fs.FileMode
	text string
	flag byte // of tar; 0: by mode
}

var good = []item{{name: "b/firefox", mode: 0o755, text: "program"}, {name: "b/sub/data", mode: 0o666, text: "data"}}

func tarOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, i := range items {
		h := &tar.Header{Name: i.name, Mode: int64(i.mode.Perm()), Size: int64(len(i.text)), Typeflag: i.flag}
		if i.mode&fs.ModeSetuid != 0 {
			h.Mode |= 0o4000
		}
		if i.flag == tar.TypeLink || i.flag == tar.TypeSymlink {
			h.Linkname, h.Size = i.text, 0
		}
		err := w.WriteHeader(h)
		if err == nil && h.Size > 0 {
			_, err = io.WriteString(w, i.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, i := range items {
		h := &zip.FileHeader{Name: i.name, Method: zip.Deflate}
		h.SetMode(i.mode)
		to, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(to, i.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packed(t testing.TB, raw []byte, pack func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pack(&b)
	if err == nil {
		_, err = w.Write(raw)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gz(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }
func archive(t testing.TB, raw []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// small are the limits of the tests.
var small = limits{bytes: 1000, table: 4000, files: 20, depth: 4, time: time.Minute}

// Tar files with firefox/firefox of the content "x". The last one needs 128 MiB to unpack.
const (
	bzipped = "425a6839314159265359f453fa0d00006f5b80c9806000e380200063209e400808200054251469a0c469899a98490a06869a" +
		"00657f90e840f00846ade4f1279cb040860632d2050c228e83e2ee7c8abdca6244e752c16f866c37eb24440c8bb9229c2848" +
		"7a29fd0680"
	xzipped = "fd377a585a000004e6d6b4460200210110000000a8708e86e027ff005e5d00331a4aaae7af76ce9c559eb71fa3f7a95dadc4" +
		"591e28b1209ab99ef098debcd3c5e1ad3ac0b459312573ce4b716d80ce8119a92f58872ef462204f3aef6b62dfb9aa403c4a" +
		"2418c26be6843665d3c58cf376c7dcbb748dbdb01d4cf0cca000000006c60c30b71072de00017a80500000004a450713b1c4" +
		"67fb020000000004595a"
	largeXZ = "fd377a585a000004e6d6b446020021011e0000009b075166e027ff005e5d00331a4aaae7af76ce9c559eb71fa3f7a95dadc4" +
		"591e28b1209ab99ef098debcd3c5e1ad3ac0b459312573ce4b716d80ce8119a92f58872ef462204f3aef6b62dfb9aa403c4a" +
		"2418c26be6843665d3c58cf376c7dcbb748dbdb01d4cf0cca000000006c60c30b71072de00017a80500000004a450713b1c4" +
		"67fb020000000004595a"
)

func fromHex(t testing.TB, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Fault: A build of a feed bursts, escapes or is setuid
func TestUnpack(t *testing.T) {
	t.Parallel()
	many := []item{}
	for i := range 21 {
		many = append(many, item{name: fmt.Sprint("f", i), mode: 0o644})
	}
	cut := zipOf(t, good...)
	cut = cut[:len(cut)-30]
	for _, tc := range []struct {
		name string
		raw  []byte
		want string // "": it is unpacked
	}{
		{"tar", tarOf(t, good...), ""},
		{"tar.gz", packed(t, tarOf(t, good...), gz), ""},
		{"tar.xz", fromHex(t, xzipped), ""},
		{"tar.bz2", fromHex(t, bzipped), ""},
		{"zip", zipOf(t, good...), ""},
		{"folders", tarOf(t, item{name: "./", mode: 0o777, flag: tar.TypeDir},
			item{name: "./b/", mode: 0o777, flag: tar.TypeDir}, good[0]), ""},
		{"nothing", nil, "it has no files"},
		{"no archive", []byte(strings.Repeat("<html>", 200)), "archive/tar: invalid tar header"},
		{"zip cut off", cut, "zip: not a valid zip file"},
		{"xz that takes memory", fromHex(t, largeXZ), "dictionary size exceeds max"},
		{"tar cut off", tarOf(t, good...)[:515], "unexpected EOF"},
		{"leads above", tarOf(t, item{name: "../firefox", mode: 0o755}), `"../firefox" is not a valid name`},
		{"leads above in the middle", zipOf(t, item{name: "a/../../b", mode: 0o755}), "is not a valid name"},
		{"absolute", tarOf(t, item{name: "/etc/firefox", mode: 0o755}), "is not a valid name"},
		{"of Windows", zipOf(t, item{name: `a\..\b`, mode: 0o755}), "is not a valid name"},
		{"link", tarOf(t, item{name: "a", text: "/etc", flag: tar.TypeSymlink}), `"a" is neither a file nor a folder`},
		{"hard link", tarOf(t, good[0], item{name: "a", text: "b/firefox", flag: tar.TypeLink}),
			`"a" is neither a file`},
		{"link in a zip file", zipOf(t, item{name: "a", mode: 0o777 | fs.ModeSymlink, text: "/etc"}),
			`"a" is neither a file`},
		{"device", tarOf(t, item{name: "a", flag: tar.TypeBlock}), `"a" is neither a file`},
		{"pipe", tarOf(t, item{name: "a", flag: tar.TypeFifo}), `"a" is neither a file`},
		{"another user's", tarOf(t, item{name: "a", mode: 0o755 | fs.ModeSetuid}), `"a" is to run as another user`},
		{"another user's in a zip file", zipOf(t, item{name: "a", mode: 0o755 | fs.ModeSetuid}), "as another user"},
		{"twice", tarOf(t, good[0], good[0]), "file exists"},
		{"a file and a folder", tarOf(t, item{name: "a", mode: 0o644}, item{name: "a/b", mode: 0o644}), "file exists"},
		{"too many", tarOf(t, many...), "it has over 20 files"},
		{"too many for the table", zipOf(t, slices.Repeat(many, 5)...), "its table is too large"},
		{"too deep", tarOf(t, item{name: "1/2/3/4/5", mode: 0o644}), "has over 4 folders"},
		{"bomb", packed(t, tarOf(t, item{name: "a", mode: 0o644, text: strings.Repeat("0", 1001)}), gz),
			"over 1000 bytes"},
		{"bomb in a zip file", zipOf(t, item{name: "a", mode: 0o644, text: strings.Repeat("0", 1<<20)}),
			"over 1000 bytes"},
		{"bomb of two", tarOf(t, item{name: "a", text: strings.Repeat("0", 600)},
			item{name: "b", text: strings.Repeat("0", 600)}), "over 1000 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			into, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer into.Close()
			err = unpack(context.Background(), archive(t, tc.raw), into, small)
			if tc.want != "" {
				if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, want %q", err, tc.want)
				}
				return
			}
			path, found := findProgram(into.Name(), "firefox")
			if err != nil || found != nil {
				t.Fatal(err, found)
			}
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o755 {
				t.Errorf("mode %v, error %v", st.Mode(), err)
			}
			if st, err := into.Stat("b/sub/data"); err == nil && st.Mode().Perm() != 0o644 {
				t.Errorf("a file that all may change has mode %v", st.Mode())
			}
		})
	}
	late := small
	late.time = -1
	into, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	if err := unpack(context.Background(), archive(t, tarOf(t, good...)), into, late); !errors.Is(err, errRefused) {
		t.Errorf("out of time: %v", err)
	}
}

// served is a feed of archives at a server.
type served struct {
	*Cache
	*httptest.Server
	at       *clock
	data     string
	index    string
	archives map[string][]byte
	asked    int
}

func serve(t *testing.T, limit int64) *served {
	s := &served{at: newClock(), data: t.TempDir(), archives: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/index":
			fmt.Fprint(w, s.index)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "http://192.0.2.1/a", http.StatusFound)
		default:
			s.asked++
			_, _ = w.Write(s.archives[strings.TrimPrefix(r.URL.Path, "/")])
		}
	}))
	t.Cleanup(s.Close)
	s.Cache = open(t, s.data, s.at, config.Feed{Kind: config.FeedLines, URL: s.URL + "/index"}, limit)
	return s
}

func (s *served) program(t *testing.T, build string) (string, func(), error) {
	t.Helper()
	b, err := s.Resolve(context.Background(), "f", build)
	if err != nil {
		return "", nil, err
	}
	return s.Program(context.Background(), "firefox", b)
}

// Fault: A build of a feed has another hash than before
func TestCache(t *testing.T) {
	t.Parallel()
	s := serve(t, 0)
	s.archives["a"], s.archives["c"] = packed(t, tarOf(t, good...), gz), []byte("no archive")
	s.index = `{"seq":1,"build":"a","url":"a"}
{"seq":2,"build":"b","url":"a","sha256":"` + strings.Repeat("0", 64) + `"}
{"seq":3,"build":"c","url":"c"}
{"seq":4,"build":"d","url":"moved"}
{"seq":5,"build":"e","url":"http://192.0.2.1/a"}`
	path, release, err := s.program(t, "a")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); string(text) != "program" ||
		!strings.HasPrefix(path, filepath.Join(s.data, "builds")) {
		t.Errorf("%q at %s, %v", text, path, err)
	}
	release()
	again, release, err := s.program(t, "a")
	if err != nil || again != path || s.asked != 1 {
		t.Errorf("the second time: %s, %v, after %d downloads", again, err, s.asked)
	}
	release()
	release() // does nothing
	if err := os.RemoveAll(filepath.Dir(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
	if _, release, err := s.program(t, "a"); err != nil || s.asked != 2 {
		t.Errorf("after a person removed it: %v, after %d downloads", err, s.asked)
	} else {
		release()
	}
	// A bad download makes a build broken if another one is bad an hour later.
	for _, wait := range []time.Duration{0, badTime - 1, 1} {
		s.at.at = s.at.at.Add(wait)
		for build, want := range map[string]string{"b": "its SHA-256 changed from 000000000000…",
			"c": "the archive is refused", "d": "redirect to http://192.0.2.1/a: not https",
			"e": "it must begin with https://"} {
			if _, _, err := s.program(t, build); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", build, err, want)
			}
		}
		want := "1 a usable, 2 b usable, 3 c usable, 4 d usable, 5 e usable"
		if wait == 1 {
			want = "1 a usable, 2 b broken, 3 c broken, 4 d usable, 5 e usable"
		}
		if got := builds(t, s.Cache); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		s.archives["c"] = []byte("another page") // no hash was pinned
	}
	// The hash of the first download is pinned: the server has another archive, and the cache none.
	all, err := s.Builds(context.Background(), "f")
	if err != nil || len(all[0].SHA256) != 64 {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := os.RemoveAll(filepath.Join(s.data, "builds", all[0].SHA256)); err != nil {
		t.Fatal(err)
	}
	s.archives["a"] = zipOf(t, good...)
	s.Cache = open(t, s.data, s.at, config.Feed{Kind: config.FeedLines, URL: s.URL + "/index"}, 0)
	if _, _, err := s.program(t, "a"); err == nil || !strings.Contains(err.Error(), "its SHA-256 changed") {
		t.Errorf("another archive: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.data, "builds", ".*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestCacheLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, 250)
	for i, name := range []string{"a", "b", "c"} {
		s.archives[name] = tarOf(t, item{name: "firefox", mode: 0o755, text: strings.Repeat(name, 100)})
		s.index += fmt.Sprintf(`{"seq":%d,"build":%q,"url":%[2]q}`+"\n", i+1, name)
	}
	has := func() (all string) {
		list, err := s.Builds(context.Background(), "f")
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range list {
			if s.Ready(b) {
				all += b.Name
			}
		}
		return all
	}
	use := func(name string) func() {
		s.at.pass()
		_, release, err := s.program(t, name)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	a := use("a")
	use("b")()
	if got := has(); got != "ab" {
		t.Errorf("has %q, want both", got)
	}
	c := use("c")
	if got := has(); got != "ac" {
		t.Errorf("has %q, want the one in use and the new one", got)
	}
	b := use("b")
	if got := has(); got != "abc" {
		t.Errorf("has %q, want all that are in use", got)
	}
	a()
	b()
	c()
	use("c")()
	if got := has(); got != "bc" {
		t.Errorf("has %q, want the last two", got)
	}
	// The limit holds after a restart, which removes what a killed program left.
	put(t, s.data, map[string]string{"builds/.new-1/tree/firefox": "half", "builds/.old-2/firefox": "half"})
	s.Cache = open(t, s.data, s.at, config.Feed{Kind: config.FeedLines, URL: s.URL + "/index"}, 250)
	use("a")()
	if got := has(); got != "ac" {
		t.Errorf("has %q, want the last two", got)
	}
	if left, _ := filepath.Glob(filepath.Join(s.data, "builds", ".*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestCacheKeeps: a pinned build stays, though others were used later.
func TestCacheKeeps(t *testing.T) {
	t.Parallel()
	s := serve(t, 250)
	for i, name := range []string{"a-1", "b", "c", "d"} {
		s.archives[name] = tarOf(t, item{name: "firefox", mode: 0o755, text: strings.Repeat(name[:1], 100)})
		s.index += fmt.Sprintf(`{"seq":%d,"build":%q,"url":%[2]q}`+"\n", i+1, name)
	}
	var err error
	if s.Cache, err = Open(Options{Dir: s.data, Feeds: map[string]config.Feed{
		"f": {Kind: config.FeedLines, URL: s.URL + "/index"}}, MaxBytes: 250, Now: s.at.now,
		Keep: []string{"", "firefox", "firefox@f", "firefox@none:a", "firefox@f:unknown", "firefox@f:a"}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.at.pass()
		_, release, err := s.program(t, name)
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	for name, want := range map[string]bool{"a": true, "b": false, "c": false, "d": true} {
		if b, err := s.Resolve(t.Context(), "f", name); err != nil || s.Ready(b) != want {
			t.Errorf("%s is there: %v, %v", name, !want, err)
		}
	}
}

func TestUnknownFeed(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir(), newClock(), config.Feed{Kind: config.FeedFolder, Dir: t.TempDir()}, 0)
	none, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]*Cache{`unknown feed "x"`: c, `feed "x": no feeds are configured`: none} {
		_, err := c.Resolve(context.Background(), "x", "")
		var told *api.Error
		if !errors.As(err, &told) || told.Code != api.NotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, err = c.Resolve(context.Background(), "f", "")
	if err == nil || !strings.Contains(err.Error(), "has no usable build") {
		t.Errorf("an empty feed: %v", err)
	}
}

// FuzzUnpack: an archive is unpacked within its bounds, or refused. Nothing is written elsewhere.
func FuzzUnpack(f *testing.F) {
	for _, raw := range [][]byte{tarOf(f, good...), zipOf(f, good...), packed(f, tarOf(f, good...), gz),
		fromHex(f, xzipped), fromHex(f, bzipped), zipOf(f, item{name: "../a", mode: 0o755}),
		tarOf(f, item{name: "a", text: "..", flag: tar.TypeSymlink}, item{name: "a/b", text: "x"})} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		into, err := os.OpenRoot(filepath.Join(dir, mkdir(t, dir, "in")))
		if err != nil {
			t.Fatal(err)
		}
		defer into.Close()
		err = unpack(context.Background(), archive(t, raw), into, small)
		if err != nil && !errors.Is(err, errRefused) {
			t.Errorf("neither unpacked nor refused: %v", err)
		}
		beside, err := os.ReadDir(dir)
		if err != nil || len(beside) != 1 {
			t.Errorf("written beside the folder: %v, %v", beside, err)
		}
		if size, err := sizeOf(into.Name()); err != nil || size > 2*small.bytes+1 {
			t.Errorf("%d bytes are written: %v", size, err)
		}
		err = filepath.WalkDir(into.Name(), func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !e.Type().IsRegular() {
				t.Errorf("%s is %v", path, e.Type())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func mkdir(t *testing.T, dir, name string) string {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// FuzzIndexes: an index gives builds with valid names and different numbers, or an error.
func FuzzIndexes(f *testing.F) {
	f.Add([]byte(chromeGood))
	f.Add(fmt.Appendf(nil, chromeLast, "1.2", "1.2"))
	f.Add([]byte(`{"seq":20,"revision":"r2","time":"2026-10-01T00:00:00Z","url":"a.zip"}`))
	f.Add([]byte("0a1b 1790928550 0b0c 0d0e\n0b0c 1790928540\n"))
	f.Add([]byte(listing("2026-10-01-09-30-21-mozilla-central/")))
	f.Add([]byte(strings.Repeat("d", 64) + " sha256 70 a/firefox.tar.xz\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for name, parse := range map[string]func([]byte) ([]api.Build, error){"jsonl": anyLines, "git": parseCommits,
			"chrome":  chrome{platform: "linux64"}.parse,
			"channel": chrome{platform: "linux64", channel: "stable"}.parse} {
			all, err := parse(raw)
			if err != nil {
				continue
			}
			merged, err := merge("f", nil, all, false)
			seen := map[string]bool{}
			for i, b := range merged {
				if seen[b.Name] || !api.BuildName.MatchString(b.Name) || b.State != usable ||
					i > 0 && b.Seq <= merged[i-1].Seq {
					t.Errorf("%s: build %+v", name, b)
				}
				seen[b.Name] = true
			}
			if err != nil {
				continue
			}
			if again, err := merge("f", merged, all, false); err != nil || told(again) != told(merged) {
				t.Errorf("%s: the same index again: %s, %v; at first %s", name, told(again), err, told(merged))
			}
		}
		for _, name := range parseLinks(raw) {
			if !api.BuildName.MatchString(name) {
				t.Errorf("link %q", name)
			}
		}
		if sum := mozillaSum(raw, "firefox.tar.xz"); sum != "" && len(sum) != 64 {
			t.Errorf("hash %q", sum)
		}
	})
}
