package bus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/fleet/enroll"
)

const hubCertificate = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

func newAuthority(t testing.TB) *enroll.Authority {
	t.Helper()
	a, err := enroll.Init(t.TempDir() + "/secrets/fleet")
	if err != nil {
		t.Fatal(err)
	}
	a.Fingerprint = hubCertificate
	return a
}

func authorityKeys(a *enroll.Authority) (Keys, error) {
	operator, err := a.Operator()
	return Keys{Operator: operator, Account: a.Account(), AccountJWT: a.AccountJWT, System: a.System, User: a.User}, err
}

func keysOf(t testing.TB, a *enroll.Authority) Keys {
	t.Helper()
	k, err := authorityKeys(a)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func serve(t testing.TB, o ServerOptions) *Server {
	t.Helper()
	s, err := Serve(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// join enrols a rig and connects it without TLS.
func join(t *testing.T, a *enroll.Authority, s *Server, name string) Rig {
	t.Helper()
	o := joinOptions(t, a, s, name)
	r, err := Dial(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func joinOptions(t *testing.T, a *enroll.Authority, s *Server, name string) RigOptions {
	t.Helper()
	seed, public, err := enroll.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := a.Invite(name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, rights, err := a.Join(token, public, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return RigOptions{URL: "https://" + s.WebsocketAddress(), Rig: name, Seed: seed, plain: true,
		JWT: func() (string, error) { return rights, nil }}
}

func TestServer(t *testing.T) {
	a := newAuthority(t)
	s := serve(t, ServerOptions{Dir: t.TempDir(), Quota: 64 << 20, Keys: keysOf(t, a)})
	testBus(t, world{s, func(t *testing.T, name string) Rig { return join(t, a, s, name) }})
}

// TestSupersededAreDropped: a kill leaves superseded messages. Who reads all entries has them
// deleted.
func TestSupersededAreDropped(t *testing.T) {
	s := serve(t, ServerOptions{Dir: t.TempDir(), Keys: keysOf(t, newAuthority(t))})
	b := bucket{s, Jobs}.of("a")
	for range 5 {
		if _, err := s.js.Publish(t.Context(), subject(b.name, "a"), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := s.Bucket(Jobs).All(t.Context()); err != nil || len(all) != 1 || all[0].Revision != 5 {
		t.Fatalf("%+v, %v", all, err)
	}
	awaitMessages(t, s, Jobs, 1)
}

// awaitMessages waits until the streams of a bucket have a number of messages.
func awaitMessages(t *testing.T, s *Server, bucket string, want uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*storeTime)
	defer cancel()
	for n := want + 1; n != want; time.Sleep(10 * time.Millisecond) {
		n = 0
		for name, stream := range s.streams {
			if strings.HasPrefix(name, bucket) {
				info, err := stream.Info(ctx)
				if err != nil {
					t.Fatalf("%d messages are left, want %d: %v", n, want, err)
				}
				n += info.State.Msgs
			}
		}
	}
}

// TestChangesFasterThanDeletes: the storage answers other requests meanwhile. In the end it has the
// last message of each entry.
//
// Fault: Jobs of a fleet change faster than the storage deletes their earlier states
func TestChangesFasterThanDeletes(t *testing.T) {
	s := serve(t, ServerOptions{Dir: t.TempDir(), Keys: keysOf(t, newAuthority(t)), requests: 16})
	b, entries := s.Bucket(Jobs), make([]Entry, 100)
	for i := range entries {
		entries[i].Key = fmt.Sprint("job-", i)
	}
	for round := 0; len(s.superseded) < 500; round++ {
		if round == 1000 {
			t.Fatal("the storage deletes faster than 100 changes are made at once")
		}
		for i, stored := range b.PutAll(t.Context(), entries) {
			if stored.Err != nil {
				t.Fatal(stored.Err)
			}
			entries[i].Revision = stored.Revision
		}
	}
	if _, err := s.streams[jobShard(0)].Info(t.Context()); err != nil {
		t.Error(err)
	}
	if err := b.Delete(t.Context(), entries[0].Key, entries[0].Revision); err != nil {
		t.Error(err)
	}
	awaitMessages(t, s, Jobs, uint64(len(entries)-1))
	all, err := b.All(t.Context())
	for _, e := range entries[1:] {
		if !slices.ContainsFunc(all, func(a Entry) bool { return a.Key == e.Key && a.Revision == e.Revision }) {
			t.Errorf("%s of revision %d is not there", e.Key, e.Revision)
		}
	}
	if err != nil || len(all) != len(entries)-1 {
		t.Errorf("%d entries, %v", len(all), err)
	}
}
