package builds

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// writePair writes a pair of keys as openssl does.
func writePair(t *testing.T, private, public string) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	var der []byte
	if err == nil {
		der, err = x509.MarshalPKCS8PrivateKey(key)
	}
	if err == nil {
		err = os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	writeKey(t, public, pub)
}

// shop is a cache that makes and signs the commits of a site, and one that gets them.
func shop(t *testing.T, limit int64) (maker, taker *Cache, repo string, fetch *func(*os.File, int64) error) {
	t.Helper()
	repo = t.TempDir()
	keys, at := t.TempDir(), newClock()
	private, public := filepath.Join(keys, "a.key"), filepath.Join(keys, "a.pem")
	writePair(t, private, public)
	git(t, repo, "init", "-q", "-b", "main")
	put(t, repo, map[string]string{"dist/index.html": "<p>1", "dist/js/a.js": "1", "dist/run*": "#!"})
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-q", "-m", "one")
	maker = open(t, t.TempDir(), at, config.Feed{Kind: config.FeedGit, Of: config.OfSite, Dir: repo, Sign: private,
		Command: []string{"sh", "-c", "date +%N >>dist/when"}, Output: "dist"}, limit)
	fetch = new(func(*os.File, int64) error)
	taker, err := Open(Options{Dir: t.TempDir(), Now: at.now,
		Feeds: map[string]config.Feed{"f": {Kind: config.FeedFleet, Of: config.OfSite, Key: public}},
		Fetch: func(_ context.Context, _ string, to *os.File, limit int64) error { return (*fetch)(to, limit) }})
	if err != nil {
		t.Fatal(err)
	}
	return maker, taker, repo, fetch
}

func atOnce(_ context.Context, work func() error) error { return work() }

// TestSharedBuilds: a build that one rig has made and signed is that of another rig, by its bytes.
// The other rig takes no line without the signature of its key, and unpacks no other bytes.
//
// Fault: A hub sends a rig a build that the fleet's builder has not signed, or changed bytes
func TestSharedBuilds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	maker, taker, _, fetch := shop(t, 0)
	newest, err := maker.Resolve(ctx, "f", "")
	if err != nil {
		t.Fatal(err)
	}
	text, sum, size, err := maker.Export(ctx, "f", newest.Name, atOnce)
	if err != nil {
		t.Fatal(err)
	}
	never := func(context.Context, func() error) error { return errors.New("it was made twice") }
	again, _, _, err := maker.Export(ctx, "f", newest.Name, never)
	if err != nil || !bytes.Equal(again, text) {
		t.Errorf("%s, then %s, %v", text, again, err)
	}
	f, err := maker.Archive(sum)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil || int64(len(raw)) != size {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	for _, other := range []string{"../feeds/f", strings.Repeat("0", 64), ""} {
		if f, err := maker.Archive(other); err == nil {
			t.Errorf("%q is the archive %s", other, f.Name())
		}
	}

	changed := func(change func(*line)) []byte {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		change(&l)
		out, _ := json.Marshal(l) // it was read from JSON
		return out
	}
	const wrong = "the signature is not one of the feed's key"
	for _, tc := range []struct {
		name, build string
		text        []byte
		want        string
	}{
		{"another content", newest.Name, changed(func(l *line) { l.SHA256 = strings.Repeat("9c", 32) }), wrong},
		{"another commit", newest.Name, changed(func(l *line) { l.Revision = "4f2c" }), wrong},
		{"no signature", newest.Name, changed(func(l *line) { l.Signature = nil }), "signature is missing"},
		{"another build", "4f2c", text, "its line is one of another build"},
		{"two lines", newest.Name, append(append(bytes.Clone(text), '\n'), text...), "another build"},
		{"nothing", newest.Name, nil, "another build"},
	} {
		if err := taker.Learn("f", tc.build, tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	if err := maker.Learn("f", newest.Name, text); err == nil || !strings.Contains(err.Error(), "another one") {
		t.Errorf("a feed of commits learns a build: %v", err)
	}
	if _, err := taker.Resolve(ctx, "f", newest.Name); err == nil {
		t.Fatal("a build without a valid line is known")
	}
	if err := errors.Join(taker.Learn("f", newest.Name, text), taker.Learn("f", newest.Name, text)); err != nil {
		t.Fatal(err)
	}
	b, err := taker.Resolve(ctx, "f", newest.Name)
	if err != nil || b.SHA256 != sum || b.Revision != newest.Revision || b.Subject != "one" {
		t.Fatalf("%+v, %v", b, err)
	}

	program := func() (string, error) {
		path, release, err := taker.Program(ctx, "chromium", b)
		if err == nil {
			release()
		}
		return path, err
	}
	bad := bytes.Clone(raw)
	bad[len(bad)/2] ^= 1
	for want, get := range map[string]func(*os.File, int64) error{
		"its SHA-256 changed":       func(to *os.File, _ int64) error { return write(to, bad) },
		"it has over":               func(to *os.File, limit int64) error { return to.Truncate(limit + 1) },
		"lab-01 is away since noon": func(*os.File, int64) error { return errors.New("lab-01 is away since noon") },
	} {
		*fetch = get
		if _, err := program(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if left, _ := filepath.Glob(filepath.Join(taker.dir, "*")); len(left) > 0 {
			t.Errorf("%s: left %q", want, left)
		}
	}
	*fetch = func(to *os.File, _ int64) error { return write(to, raw) }
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	own, release, err := maker.Program(ctx, "chromium", newest)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, name := range []string{"index.html", "js/a.js", "when"} {
		mine, err := os.ReadFile(filepath.Join(own, name))
		theirs, err2 := os.ReadFile(filepath.Join(path, name))
		if err != nil || err2 != nil || !bytes.Equal(mine, theirs) {
			t.Errorf("%s: %q and %q, %v, %v", name, mine, theirs, err, err2)
		}
	}
	if st, err := os.Stat(filepath.Join(path, "run")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	sign, err := signer(maker.feeds["f"].sign)
	if err != nil {
		t.Fatal(err)
	}
	other := changed(func(l *line) { l.SHA256 = strings.Repeat("9c", 32); sign(l) })
	if err := taker.Learn("f", newest.Name, other); err == nil || !strings.Contains(err.Error(), "SHA-256 changed") {
		t.Errorf("a build is replaced: %v", err)
	}
	if _, err := program(); err != nil {
		t.Errorf("the known build is spoilt: %v", err)
	}
}

func write(to *os.File, raw []byte) error {
	_, err := to.Write(raw)
	return err
}

// TestExport: a builder keeps archives within the limit of builds, and refuses what other rigs
// would refuse.
func TestExport(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	maker, _, repo, _ := shop(t, 0)
	b, err := maker.Resolve(ctx, "f", "")
	if err != nil {
		t.Fatal(err)
	}
	_, sum, _, err := maker.Export(ctx, "f", b.Name, atOnce)
	if err != nil {
		t.Fatal(err)
	}
	maker.max = 1
	maker.evict()
	if _, err := maker.Archive(sum); err == nil {
		t.Error("the archive stays above the limit")
	}
	if _, _, _, err := maker.Export(ctx, "f", b.Name, atOnce); err == nil {
		t.Error("a build that cannot be kept is exported")
	}
	maker.max = 0
	_, now, _, err := maker.Export(ctx, "f", b.Name, atOnce)
	if err != nil || now == sum {
		t.Errorf("%s: the command has run once, %v", now, err)
	}
	reopened, err := Open(Options{Dir: filepath.Dir(maker.dir),
		Feeds: map[string]config.Feed{"f": {Kind: config.FeedGit, Dir: repo}}})
	if err != nil {
		t.Fatal(err)
	}
	if f, err := reopened.Archive(now); err != nil || f.Close() != nil {
		t.Errorf("after a restart: %v", err)
	}
	if err := os.Symlink("/etc", filepath.Join(repo, "dist", "etc")); err != nil {
		t.Fatal(err)
	}
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-q", "-m", "two")
	linked := b
	for _, one := range commitsOf(t, maker) {
		linked = one
	}
	if _, _, _, err := maker.Export(ctx, "f", linked.Name, atOnce); err == nil ||
		!strings.Contains(err.Error(), "etc is neither a file nor a folder") {
		t.Errorf("a build with a link: %v", err)
	}
}

// commitsOf reads the index of commits anew.
func commitsOf(t *testing.T, c *Cache) []api.Build {
	t.Helper()
	f := c.feeds["f"]
	f.read = c.now().Add(-failed)
	all, err := f.Builds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}
