package bus

import (
	"context"
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
	ctx, cancel := context.WithTimeout(t.Context(), storeTime)
	defer cancel()
	for left := uint64(5); left > 1; time.Sleep(10 * time.Millisecond) {
		info, err := s.streams[b.name].Info(ctx)
		if err != nil {
			t.Fatalf("%d messages are left: %v", left, err)
		}
		left = info.State.Msgs
	}
}
