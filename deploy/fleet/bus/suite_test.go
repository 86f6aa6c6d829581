package bus

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// world is one implementation under the shared suite.
type world struct {
	hub Hub
	rig func(t *testing.T, name string) Rig
}

// testBus is the suite that both implementations pass.
func testBus(t *testing.T, w world) {
	t.Run("bucket", func(t *testing.T) { testBucket(t, w.hub.Bucket(Jobs), w.hub.Bucket(State)) })
	t.Run("race", func(t *testing.T) { testRace(t, w.hub.Bucket(Jobs)) })
	t.Run("log", func(t *testing.T) { testLog(t, w.hub.Log()) })
	t.Run("blobs", func(t *testing.T) { testBlobs(t, w.hub.Blobs()) })
	t.Run("requests", func(t *testing.T) { testRequests(t, w) })
}

func testBucket(t *testing.T, b, other Bucket) {
	ctx := t.Context()
	if all, err := b.All(ctx); err != nil || len(all) != 0 {
		t.Fatalf("a new bucket has %v, %v", all, err)
	}
	if _, err := b.Get(ctx, "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("get of an unknown key: %v", err)
	}
	first := mustPut(t, b, "..a-B_.", "1", 0)
	second := mustPut(t, b, "..a-B_.", "2", first)
	if second <= first {
		t.Errorf("revision %d after %d", second, first)
	}
	for name, err := range map[string]error{
		"put of an old revision":    putErr(ctx, b, "..a-B_.", first),
		"put of a new entry":        putErr(ctx, b, "..a-B_.", 0),
		"put of a revision of none": putErr(ctx, b, "none", second),
		"delete of an old revision": b.Delete(ctx, "..a-B_.", first),
		"delete without a revision": b.Delete(ctx, "..a-B_.", 0),
	} {
		if !errors.Is(err, ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, revision := range []uint64{0, 1, second, second + 100} {
		if err := b.Delete(ctx, "none", revision); !errors.Is(err, ErrNotFound) {
			t.Errorf("delete of an unknown key, revision %d: %v", revision, err)
		}
	}
	for _, key := range []string{"", "a b", "a>", "*", "ä", string(bytes.Repeat([]byte("k"), 121))} {
		if err := putErr(ctx, b, key, 0); err == nil || errors.Is(err, ErrConflict) {
			t.Errorf("put of key %q: %v", key, err)
		}
		if _, err := b.Get(ctx, key); err == nil {
			t.Errorf("get of key %q", key)
		}
	}
	if _, err := b.Put(ctx, "big", make([]byte, maxValue+1), 0); err == nil {
		t.Error("a value above the bound was stored")
	}
	big := bytes.Repeat([]byte{0, 255}, maxValue/2)
	mustPut(t, b, "big", string(big), 0)
	if e, err := b.Get(ctx, "big"); err != nil || !bytes.Equal(e.Value, big) {
		t.Errorf("big: %d bytes, %v", len(e.Value), err)
	}
	mustPut(t, b, "empty", "", 0)
	all, err := b.All(ctx)
	slices.SortFunc(all, func(x, y Entry) int { return cmp.Compare(x.Key, y.Key) })
	if err != nil || keys(all) != "..a-B_. big empty" || string(all[0].Value) != "2" || all[0].Revision != second {
		t.Errorf("all: %s, %v", keys(all), err)
	}
	if rest, err := other.All(ctx); err != nil || len(rest) != 0 {
		t.Errorf("another bucket has %s, %v", keys(rest), err)
	}
	for _, e := range all {
		if err := b.Delete(ctx, e.Key, e.Revision); err != nil {
			t.Errorf("delete %s: %v", e.Key, err)
		}
	}
	if _, err := b.Get(ctx, "big"); !errors.Is(err, ErrNotFound) {
		t.Errorf("get of a deleted key: %v", err)
	}
	if all, err := b.All(ctx); err != nil || len(all) != 0 {
		t.Errorf("after delete: %s, %v", keys(all), err)
	}
	again := mustPut(t, b, "..a-B_.", "3", 0)
	if again <= second {
		t.Errorf("revision %d after %d and a delete", again, second)
	}
	if err := b.Delete(ctx, "..a-B_.", again); err != nil {
		t.Error(err)
	}
	several := b.PutAll(ctx, []Entry{{"one", nil, 0}, {"two", nil, 0}, {"three", nil, 99}, {"a b", nil, 0}})
	if several[0].Err != nil || several[1].Err != nil || !errors.Is(several[2].Err, ErrConflict) ||
		several[3].Err == nil {
		t.Errorf("several puts: %+v", several)
	}
	for i, key := range []string{"one", "two"} {
		if err := b.Delete(ctx, key, several[i].Revision); err != nil {
			t.Error(err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := b.Put(cancelled, "late", nil, 0); err == nil {
		t.Error("a put of an ended context succeeds")
	}
}

// Two leaders of a hub change one job. One of them fails, so a job has one state.
func testRace(t *testing.T, b Bucket) {
	ctx := t.Context()
	revision := mustPut(t, b, "raced", "0", 0)
	for range 20 {
		var wins atomic.Int64
		var next atomic.Uint64
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				switch r, err := b.Put(ctx, "raced", fmt.Append(nil, i), revision); {
				case err == nil:
					wins.Add(1)
					next.Store(r)
				case !errors.Is(err, ErrConflict):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if wins.Load() != 1 {
			t.Fatalf("%d writers won", wins.Load())
		}
		revision = next.Load()
	}
	if err := b.Delete(ctx, "raced", revision); err != nil {
		t.Error(err)
	}
}

func testLog(t *testing.T, l Records) {
	ctx := t.Context()
	if got, err := l.Read(ctx, Log, 0, 10); err != nil || len(got) != 0 {
		t.Fatalf("a new log has %v, %v", got, err)
	}
	for _, id := range []string{"a", "b", "a", "", "", "c"} {
		if err := l.Append(ctx, Log, []byte("v"+id), id); err != nil {
			t.Fatal(err)
		}
	}
	all, err := l.Read(ctx, Log, 0, 10)
	if err != nil || keys(all) != "a b   c" || string(all[1].Value) != "vb" {
		t.Fatalf("read %q, %v", keys(all), err)
	}
	if got, err := l.Read(ctx, Log, all[1].Revision, 2); err != nil || keys(got) != "b " {
		t.Errorf("read two from b: %q, %v", keys(got), err)
	}
	if got, err := l.Read(ctx, Log, all[4].Revision+1, 2); err != nil || len(got) != 0 {
		t.Errorf("read behind the end: %q, %v", keys(got), err)
	}
	if l.Append(ctx, "jobs", nil, "a") == nil {
		t.Error("an unknown log was written")
	}
}

func testBlobs(t *testing.T, b Blobs) {
	ctx := t.Context()
	content := bytes.Repeat([]byte("test "), 300_000)
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	if _, err := b.Get(ctx, hash); !errors.Is(err, ErrNotFound) {
		t.Errorf("get of unknown content: %v", err)
	}
	for range 2 {
		if err := b.Put(ctx, hash, content); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.Get(ctx, hash); err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	for range 2 {
		if err := b.Delete(ctx, hash); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Get(ctx, hash); !errors.Is(err, ErrNotFound) {
		t.Errorf("get of deleted content: %v", err)
	}
	if b.Put(ctx, "../jobs", content) == nil {
		t.Error("a name that is not a hash was stored")
	}
}

func testRequests(t *testing.T, w world) {
	rig, other := w.rig(t, "lab-07"), w.rig(t, "lab-08")
	await(t, rig) // of the connection
	await(t, other)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	handling, release := make(chan struct{}), make(chan struct{})
	go func() {
		served <- w.hub.Serve(ctx, func(ctx context.Context, rig, kind string, request []byte) []byte {
			if kind == "relay" {
				close(handling)
				<-release
			}
			return fmt.Appendf(nil, "%s %s %s", rig, kind, request)
		})
	}()
	for _, r := range []struct {
		name string
		Rig
	}{{"lab-07", rig}, {"lab-08", other}} {
		if got, err := ask(t, r, "poll", "x"); err != nil || got != r.name+" poll x" {
			t.Fatalf("answer %q, %v", got, err)
		}
		if on, err := r.Connected(); !on || err != nil {
			t.Errorf("connected: %v, %v", on, err)
		}
	}
	long := make(chan string)
	go func() {
		got, err := ask(t, rig, "relay", "y")
		long <- fmt.Sprint(got, err)
	}()
	<-handling
	if got, err := ask(t, rig, "event", ""); err != nil || got != "lab-07 event " {
		t.Errorf("beside a long request: %q, %v", got, err)
	}
	close(release)
	if got := <-long; got != "lab-07 relay y<nil>" {
		t.Errorf("long request: %s", got)
	}
	big := string(bytes.Repeat([]byte("b"), wire.MaxMessage))
	if got, err := ask(t, rig, "poll", big); err != nil || len(got) != len(big)+12 {
		t.Errorf("a message of the greatest size: %d bytes, %v", len(got), err)
	}
	if _, err := ask(t, rig, "poll", big+"b"); err == nil {
		t.Error("a greater message was sent")
	}
	if _, err := ask(t, rig, "a.b", ""); err == nil {
		t.Error("a kind of two tokens was sent")
	}
	if err := w.hub.Wake("lab-07"); err != nil {
		t.Fatal(err)
	}
	await(t, rig)
	select {
	case <-other.Woken():
		t.Error("another rig was woken")
	default:
	}
	if err := w.hub.Wake("unknown"); err != nil {
		t.Errorf("wake of an absent rig: %v", err)
	}
	if err := w.hub.Disconnect("lab-07"); err != nil {
		t.Error(err)
	}
	await(t, rig) // it connects again
	if got, err := ask(t, rig, "poll", "z"); err != nil || got != "lab-07 poll z" {
		t.Errorf("after a new connection: %q, %v", got, err)
	}
	stop()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := errors.Join(rig.Close(), rig.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
	if on, err := rig.Connected(); on || err == nil {
		t.Errorf("a closed rig is connected: %v, %v", on, err)
	}
	if _, err := ask(t, rig, "poll", ""); !errors.Is(err, ErrAway) {
		t.Errorf("a closed rig asks: %v", err)
	}
}

// ask repeats a request while the handler is not registered yet.
func ask(t *testing.T, r Rig, kind, request string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		got, err := r.Request(ctx, kind, []byte(request))
		if on, _ := r.Connected(); !errors.Is(err, ErrAway) || !on {
			return string(got), err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return "", err
		}
	}
}

func await(t *testing.T, r Rig) {
	t.Helper()
	select {
	case <-r.Woken():
	case <-time.After(time.Minute):
		_, err := r.Connected()
		t.Fatalf("the rig was not woken: %v", err)
	}
}

func mustPut(t *testing.T, b Bucket, key, value string, revision uint64) uint64 {
	t.Helper()
	got, err := b.Put(t.Context(), key, []byte(value), revision)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func putErr(ctx context.Context, b Bucket, key string, revision uint64) error {
	_, err := b.Put(ctx, key, nil, revision)
	return err
}

func keys(entries []Entry) string {
	var all [][]byte
	for _, e := range slices.Clone(entries) {
		all = append(all, []byte(e.Key))
	}
	return string(bytes.Join(all, []byte(" ")))
}
