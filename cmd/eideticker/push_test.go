package main

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/fingerprint"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/server"
	"github.com/eideticker/eideticker/deploy/store"
)

// testRig is a rig with a store, which wants a token and has made its own certificate.
type testRig struct {
	*httptest.Server
	store *store.Store
	print string // of its certificate
	token string // file
}

func newTestRig(t *testing.T) *testRig {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(context.Background(), store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	devices, err := session.FindDevices("")
	if err != nil {
		t.Fatal(err)
	}
	d, err := daemon.New(daemon.Options{Dir: dir, Store: s, Devices: devices, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := server.OpenTokens(dir)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := tokens.Add("test", api.Run, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	handler, err := server.New(server.Options{Daemon: d, Tokens: tokens, Needed: true, Program: "test",
		Place: server.Place{Loopback: true, Encrypted: true}})
	if err != nil {
		t.Fatal(err)
	}
	r := &testRig{Server: httptest.NewTLSServer(handler), store: s, token: filepath.Join(t.TempDir(), "token")}
	r.print = fingerprint.Of(r.Certificate().Raw)
	if err := os.WriteFile(r.token, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		handler.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// ask runs a command line against the rig.
func (r *testRig) ask(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), append(args, "--rig", r.URL, "--token-file", r.token, "--fingerprint", r.print),
		strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// pushable makes a run folder with a recording.
func pushable(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	if code := run(t.Context(), []string{"record", "-s", "synth:noise?size=64x48&frames=30", "-o",
		filepath.Join(dir, "recording.eid")}, strings.NewReader(""), &o, &e); code != 0 {
		t.Fatalf("record: %s", e.String())
	}
	r := session.Record{
		Schema: session.Schema, Version: session.Version, Test: "framerate", Device: "local", State: session.Passed,
		StartedWallNS: time.Date(2024, 2, 29, 20, 15, 30, 0, time.UTC).UnixNano(),
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestPushAndPull: a run and a set go to a rig and come back as they were.
//
// Fault: A run is pushed twice, also at the same time
func TestPushAndPull(t *testing.T) {
	r := newTestRig(t)
	base := t.TempDir()
	alone := pushable(t, filepath.Join(base, "alone"))
	set := filepath.Join(base, "set")
	pushable(t, filepath.Join(set, "run-01"))
	pushable(t, filepath.Join(set, "failed", "run-02.1"))
	for _, dir := range []string{alone, set} {
		code, out, errOut := r.ask(t, "push", dir)
		id, _, _ := strings.Cut(out, " ")
		if code != 0 || !strings.HasPrefix(id, "20240229-201530-framerate-") {
			t.Fatalf("push: %d, %q, %s", code, out, errOut)
		}
		if code, out, errOut := r.ask(t, "push", dir, "--json"); code != 0 ||
			!strings.Contains(out, `"run": "`+id+`"`) || !strings.Contains(out, `"known": true`) {
			t.Errorf("push again: %d, %q, %s", code, out, errOut)
		}
		if page, err := r.store.List(t.Context(), store.Query{Set: id}); err != nil || page.Total > 2 {
			t.Errorf("%+v, %v", page, err)
		}
		back := filepath.Join(base, "back-"+filepath.Base(dir))
		code, out, errOut = r.ask(t, "pull", id, "-o", back, "--json")
		if code != 0 || !strings.Contains(out, `"run": "`+id+`"`) {
			t.Fatalf("pull: %d, %q, %s", code, out, errOut)
		}
		was, is := tree(t, dir), tree(t, back)
		if !slices.Equal(was, is) {
			t.Errorf("%s has come back as %q, was %q", dir, is, was)
		}
		if code, _, errOut := r.ask(t, "pull", id, "-o", back); code != exitFailure ||
			!strings.Contains(errOut, "exists: choose another folder") {
			t.Errorf("over another folder: %d, %s", code, errOut)
		}
	}
}

// TestPushOfKeys: a run with the secrets of its TLS is pushed and verified without them, and is the
// same.
func TestPushOfKeys(t *testing.T) {
	r := newTestRig(t)
	dir := pushable(t, filepath.Join(t.TempDir(), "keys"))
	without := tree(t, dir)
	file := filepath.Join(dir, session.KeyLogFile)
	if err := os.WriteFile(file, []byte("SERVER_TRAFFIC_SECRET_0 00 00\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := r.ask(t, "push", dir)
	id, _, _ := strings.Cut(out, " ")
	if code != 0 {
		t.Fatalf("push: %d, %q, %s", code, out, errOut)
	}
	if code, out, errOut := r.ask(t, "push", dir, "--json"); code != 0 || !strings.Contains(out, `"run": "`+id+`"`) ||
		!strings.Contains(out, `"known": true`) {
		t.Errorf("push again: %d, %q, %s", code, out, errOut)
	}
	there, err := r.store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	back := filepath.Join(t.TempDir(), "back")
	if code, _, errOut := r.ask(t, "pull", id, "-o", back); code != 0 {
		t.Fatalf("pull: %d, %s", code, errOut)
	}
	for _, dir := range []string{there, back} {
		if is := tree(t, dir); !slices.Equal(is, without) {
			t.Errorf("there is %q, want %q", is, without)
		}
	}
	// What somebody puts into the folder by hand is not pulled either.
	if err := os.Link(file, filepath.Join(there, session.KeyLogFile)); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "again")
	if code, _, errOut := r.ask(t, "pull", id, "-o", again); code != 0 || !slices.Equal(tree(t, again), without) {
		t.Errorf("pull: %d, %s, %q", code, errOut, tree(t, again))
	}
}

// TestPullOfLargeFrames: a recording whose frames would not fit into memory is refused before one
// is read.
func TestPullOfLargeFrames(t *testing.T) {
	r := newTestRig(t)
	dir, err := r.store.Place("large")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	w, err := recording.Create(filepath.Join(dir, "recording.eid"), recording.Options{NoDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := frame.NewFormat(frame.YU12, 16384, 2306)
	if err := errors.Join(err, w.Segment(f, 1, 60),
		w.WriteFrame(make([]byte, f.Size()), frame.Meta{Sampled: timeline.At(1)}, nil), w.Close(),
		r.store.Add(t.Context(), dir)); err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(t.TempDir(), "into")
	if code, _, errOut := r.ask(t, "pull", filepath.Base(dir), "-o", into); code != exitFailure ||
		!strings.Contains(errOut, "16384x2306") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	if _, err := os.Lstat(into); err == nil {
		t.Error("it is there all the same")
	}
}

// tree lists files with their content.
func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all = append(all, rel+" "+string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPushAndPullRefused: what does not work leaves nothing and says why.
//
// Fault: `push` or `pull` has a wrong token, a damaged run, or a rig with another certificate
func TestPushAndPullRefused(t *testing.T) {
	r := newTestRig(t)
	base := t.TempDir()
	good := pushable(t, filepath.Join(base, "good"))
	damaged := pushable(t, filepath.Join(base, "damaged"))
	file := filepath.Join(damaged, "recording.eid")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(base, "wrong-token")
	if err := os.WriteFile(wrong, []byte("no-such-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(base, "none")
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no run":           {[]string{"push", base + "/nothing"}, exitFailure, "nothing"},
		"a folder without": {[]string{"push", t.TempDir()}, exitFailure, "run.json"},
		"a damaged one":    {[]string{"push", damaged}, exitFailure, "recording.eid"},
		"no such run":      {[]string{"pull", "20240229-201530-x-aaaa", "-o", none}, exitFailure, "unknown run"},
		"no ID":            {[]string{"pull", "../etc", "-o", none}, exitUsage, "not the ID"},
		"a wrong token":    {[]string{"push", good, "--token-file", wrong}, exitFailure, "token"},
		"a token that's no": {[]string{"push", good, "--token-file", filepath.Join(base, "no-file")}, exitFailure,
			"read the token"},
		"another rig": {[]string{"push", good, "--fingerprint", strings.Repeat("00:", 31) + "00"}, exitFailure,
			"another fingerprint"},
		"not encrypted": {[]string{"push", good, "--rig", "http" + strings.TrimPrefix(r.URL, "https")}, exitUsage,
			"certificate"},
		"no address":   {[]string{"push", good, "--rig", "rig-3"}, exitUsage, "address"},
		"nobody there": {[]string{"push", good, "--rig", "https://127.0.0.1:1"}, exitFailure, "127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			// The test's own flags come last and count.
			args := append([]string{tc.args[0], "--rig", r.URL, "--token-file", r.token, "--fingerprint", r.print},
				tc.args[1:]...)
			var o, e bytes.Buffer
			code := run(t.Context(), args, strings.NewReader(""), &o, &e)
			if code != tc.code || !strings.Contains(e.String(), tc.want) {
				t.Errorf("%d, %s, want %d and %q", code, e.String(), tc.code, tc.want)
			}
			if _, err := os.Lstat(none); err == nil {
				t.Error("a folder was made")
			}
		})
	}
	page, err := r.store.List(t.Context(), store.Query{})
	if err != nil || page.Total != 0 {
		t.Errorf("the rig has %d runs, %v", page.Total, err)
	}
}

// TestPullFromARigThatLies: what a rig sends is looked at, and nothing of what is wrong is kept.
//
// Fault: `push` or `pull` has a wrong token, a damaged run, or a rig with another certificate
func TestPullFromARigThatLies(t *testing.T) {
	r := newTestRig(t)
	dir := pushable(t, filepath.Join(t.TempDir(), "run"))
	code, out, errOut := r.ask(t, "push", dir)
	if code != 0 {
		t.Fatal(errOut)
	}
	id, _, _ := strings.Cut(out, " ")
	there, err := r.store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(there, "recording.eid")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	code, _, errOut = r.ask(t, "pull", id, "-o", filepath.Join(base, "out"))
	if code != exitFailure || !strings.Contains(errOut, "recording.eid: at offset") {
		t.Errorf("%d, %s", code, errOut)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
