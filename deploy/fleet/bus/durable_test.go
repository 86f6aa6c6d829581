package bus

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/eideticker/eideticker/deploy/api/fingerprint"
	"github.com/eideticker/eideticker/deploy/fleet/enroll"
)

// childDir is set in the process that TestKill kills.
const childDir = "EIDETICKER_BUS_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, putForEver(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// openChild opens the hub of a folder.
func openChild(dir string) (*Server, error) {
	a, err := enroll.Open(filepath.Join(dir, "fleet"))
	if err != nil {
		return nil, err
	}
	k, err := authorityKeys(a)
	if err != nil {
		return nil, err
	}
	return Serve(context.Background(), ServerOptions{Dir: filepath.Join(dir, "jetstream"), Quota: 64 << 20, Keys: k})
}

// putForEver stores growing numbers under 50 keys, and deletes one of each ten. It prints each
// number after its change has returned.
func putForEver(dir string) error {
	s, err := openChild(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	b := s.Bucket(Jobs)
	last := map[string]Entry{}
	all, err := b.All(ctx)
	if err != nil {
		return err
	}
	next := 0
	for _, e := range all {
		last[e.Key] = e
		n, err := strconv.Atoi(string(e.Value))
		if err != nil {
			return err
		}
		next = max(next, n) // again: its delete may be missing
	}
	for n := next; ; n++ {
		key := "n" + strconv.Itoa(n%50)
		value := strconv.Itoa(n)
		revision, err := b.Put(ctx, key, []byte(value), last[key].Revision)
		if err == nil && n%10 == 0 {
			err = b.Delete(ctx, key, revision)
			revision = 0
		}
		if err != nil {
			return err
		}
		last[key] = Entry{key, nil, revision}
		fmt.Println(n)
	}
}

// Fault: The hub of a fleet is killed while it stores jobs
//
// Each acknowledged change is there after the restart, and revisions continue. EIDETICKER_SOAK is
// the number of kills, at least 1,000.
func TestKill(t *testing.T) {
	kills := 3
	if soak := os.Getenv("EIDETICKER_SOAK"); soak != "" {
		n, _ := strconv.Atoi(soak) // 0: not a number
		kills = max(n, 1000)
	}
	dir := t.TempDir()
	if _, err := enroll.Init(filepath.Join(dir, "fleet")); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := -1
	for kill := range kills {
		child := exec.Command(exe)
		child.Env = append(os.Environ(), childDir+"="+dir)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < 20+7*kill%60 && lines.Scan(); n++ {
			if acknowledged, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(err)
			}
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // lines before the kill count
			if n, err := strconv.Atoi(lines.Text()); err == nil {
				acknowledged = n
			}
		}
		_ = child.Wait() // it was killed
		s, err := openChild(dir)
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.Bucket(Jobs).All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, e := range all {
			if got[e.Key], err = strconv.Atoi(string(e.Value)); err != nil {
				t.Fatal(err)
			}
		}
		for n := max(0, acknowledged-49); n <= acknowledged; n++ {
			v, ok := got["n"+strconv.Itoa(n%50)]
			newer := v > acknowledged // not acknowledged, but stored
			if n%10 == 0 && ok && !newer || n%10 != 0 && (!ok || v != n && !newer) {
				t.Errorf("kill %d: of %d acknowledged, number %d is %d (%v)", kill, acknowledged, n, v, ok)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if acknowledged < 20*kills {
		t.Errorf("%d puts in %d lives", acknowledged, kills)
	}
}

// Fault: The storage of a hub is full
//
// Puts fail with a reason. Reads and deletes work, and so do puts after a delete.
func TestQuota(t *testing.T) {
	s := serve(t, ServerOptions{Dir: t.TempDir(), Quota: 64 << 20, Keys: keysOf(t, newAuthority(t))})
	b, ctx := s.Bucket(State), t.Context()
	value := make([]byte, 50_000)
	var stored []uint64
	var err error
	for len(stored) < 200 && err == nil {
		s.mu.Lock()
		clear(s.used) // as after a second
		s.mu.Unlock()
		var revision uint64
		if revision, err = b.Put(ctx, "k"+strconv.Itoa(len(stored)), value, 0); err == nil {
			stored = append(stored, revision)
		}
	}
	if !errors.Is(err, ErrFull) || len(stored) == 0 {
		t.Fatalf("after %d puts: %v", len(stored), err)
	}
	if e, err := b.Get(ctx, "k0"); err != nil || len(e.Value) != len(value) {
		t.Errorf("get from a full bucket: %v", err)
	}
	if stored[0], err = b.Put(ctx, "k0", value, stored[0]); err != nil {
		t.Errorf("an entry of the same size in a full bucket: %v", err)
	}
	if err := b.Delete(ctx, "k0", stored[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Put(ctx, "k0", value, 0); err != nil {
		t.Errorf("after a delete: %v", err)
	}
	if _, err := s.Bucket(Jobs).Put(ctx, "other", value, 0); err != nil {
		t.Errorf("another bucket: %v", err)
	}
}

// Fault: Other programs fill the disk of a hub
//
// The reserve is used first. Then puts fail before the disk is full. The storage goes on when there
// is space again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	reserve := func() int64 {
		st, err := os.Stat(filepath.Join(dir, "reserve"))
		if err != nil {
			return 0
		}
		return st.Size()
	}
	var others atomic.Int64 // bytes
	const disk, quota = 4 << 30, 160 << 20
	s := serve(t, ServerOptions{Dir: dir, Quota: quota, Keys: keysOf(t, newAuthority(t)),
		free: func(string) (int64, error) { return disk - others.Load() - reserve(), nil }})
	if got := reserve(); got < quota-1<<20 || got > quota {
		t.Fatalf("the reserve has %d bytes", got)
	}
	put := func(key string) error { _, err := s.Bucket(Jobs).Put(t.Context(), key, nil, 0); return err }
	others.Store(disk - quota - minFree/2)
	if err := put("a"); err != nil || reserve() >= quota-roomStep/2 || reserve() == 0 {
		t.Errorf("with a reserve: %v, %d bytes are left", err, reserve())
	}
	others.Store(disk - minFree/2)
	if err := put("b"); !errors.Is(err, ErrFull) || reserve() != 0 {
		t.Errorf("on a full disk: %v, %d bytes are left", err, reserve())
	}
	if err := s.Blobs().Put(t.Context(), hubCertificate, nil); !errors.Is(err, ErrFull) {
		t.Errorf("a blob on a full disk: %v", err)
	}
	if _, err := s.Bucket(Jobs).Get(t.Context(), "a"); err != nil {
		t.Errorf("get on a full disk: %v", err)
	}
	others.Store(0)
	if err := put("b"); err != nil {
		t.Errorf("with space again: %v", err)
	}
}

// TestRoomOfOthers: the reserve leaves space to other programs.
func TestRoomOfOthers(t *testing.T) {
	for _, c := range []struct{ free, want int64 }{
		{20 << 30, 4 << 20}, {1<<30 + 1<<20, 1 << 20}, {1 << 29, 0}, {0, 0},
	} {
		r := &room{dir: t.TempDir(), free: func(string) (int64, error) { return c.free, nil }}
		r.path = filepath.Join(r.dir, "reserve")
		if err := r.keep(4<<20, nil); err != nil || r.left != c.want {
			t.Errorf("of %d bytes: %d, %v, want %d", c.free, r.left, err, c.want)
		}
	}
}

// The error of a stopped storage names the reason.
func TestStoppedStorage(t *testing.T) {
	s := serve(t, ServerOptions{Dir: t.TempDir(), Quota: 8 << 20, Keys: keysOf(t, newAuthority(t))})
	s.log.Errorf("JetStream out of %s resources, will be DISABLED", "File")
	if err := s.server.ShutdownJetStream(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Bucket(Jobs).Put(t.Context(), "a", nil, 0)
	if err == nil || !strings.Contains(err.Error(), "the storage has stopped") ||
		!strings.Contains(err.Error(), "File") {
		t.Error(err)
	}
}

// TestRestart: a rig finds its hub again after a restart at the same address.
func TestRestart(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	o := ServerOptions{Dir: dir, Quota: 8 << 20, Keys: keysOf(t, a)}
	s := serve(t, o)
	revision := mustPut(t, s.Bucket(Rigs), "lab-07", "x", 0)
	var target atomic.Pointer[string]
	point := func(s *Server) { address := s.WebsocketAddress(); target.Store(&address) }
	point(s)
	web := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: *target.Load()})
	}})
	defer web.Close()
	ro := joinOptions(t, a, s, "lab-07")
	ro.plain, ro.URL, ro.Fingerprint = false, web.URL, fingerprint.Of(web.Certificate().Raw)
	rig, err := Dial(ro)
	if err != nil {
		t.Fatal(err)
	}
	defer rig.Close()
	await(t, rig)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := rig.Request(t.Context(), "poll", nil); !errors.Is(err, ErrAway) {
		t.Errorf("without a hub: %v", err)
	}
	s = serve(t, o)
	point(s)
	background(t, s, echo)
	await(t, rig)
	if got, err := ask(t, rig, "poll", ""); err != nil || got != "lab-07 poll" {
		t.Errorf("%q, %v", got, err)
	}
	if e, err := s.Bucket(Rigs).Get(t.Context(), "lab-07"); err != nil || e.Revision != revision {
		t.Errorf("%+v, %v", e, err)
	}
}
