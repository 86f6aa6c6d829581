package bus

import (
	"context"
	"errors"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/eideticker/eideticker/deploy/api/fingerprint"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

func echo(_ context.Context, rig, kind string, _ []byte) []byte { return []byte(rig + " " + kind) }

// background serves until the test ends.
func background(t *testing.T, s Hub, h Handler) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, h) }()
	t.Cleanup(func() { stop(); <-done })
}

// Fault: A removed rig keeps its connection
//
// It loses it at once, and its key opens no other.
func TestRevokedRigLosesItsConnection(t *testing.T) {
	a := newAuthority(t)
	s := serve(t, ServerOptions{Dir: t.TempDir(), Quota: 64 << 20, Keys: keysOf(t, a)})
	background(t, s, echo)
	removed, kept := join(t, a, s, "lab-07"), join(t, a, s, "lab-08")
	await(t, removed)
	await(t, kept)
	if got, err := ask(t, removed, "poll", ""); err != nil || got != "lab-07 poll" {
		t.Fatalf("%q, %v", got, err)
	}
	if err := errors.Join(a.Revoke("lab-07"), s.Disconnect("lab-07")); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		on, err := removed.Connected()
		if !on && errors.Is(err, nats.ErrAuthorization) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("connected: %v, %v", on, err)
		}
	}
	if _, err := removed.Request(t.Context(), "poll", nil); !errors.Is(err, ErrAway) {
		t.Errorf("request of a removed rig: %v", err)
	}
	if got, err := ask(t, kept, "poll", ""); err != nil || got != "lab-08 poll" {
		t.Errorf("another rig: %q, %v", got, err)
	}
}

// Fault: A rig of a fleet speaks for another one
//
// A hostile rig reads the hub's storage, speaks for another rig or has an answer sent to
// another's subject.
func TestRigHasOnlyItsOwnSubjects(t *testing.T) {
	a := newAuthority(t)
	s := serve(t, ServerOptions{Dir: t.TempDir(), Quota: 64 << 20, Keys: keysOf(t, a)})
	var asked atomic.Int64
	background(t, s, func(ctx context.Context, rig, kind string, _ []byte) []byte {
		asked.Add(1)
		return []byte(rig)
	})
	victim := join(t, a, s, "victim")
	await(t, victim)
	o := joinOptions(t, a, s, "hostile")
	pair, err := nkeys.FromSeed(o.Seed)
	if err != nil {
		t.Fatal(err)
	}
	violations := make(chan error, 100)
	conn, err := nats.Connect("ws://"+s.WebsocketAddress(), nats.UserJWT(o.JWT, pair.Sign),
		nats.CustomInboxPrefix(inbox("hostile")),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, subject := range []string{"$JS.API.INFO", "$JS.API.STREAM.DELETE.jobs", "store.jobs.x", "rig.victim.poll",
		"hub.victim.wake", "$SYS.REQ.SERVER.PING", "_INBOX.x"} {
		if err := errors.Join(conn.Publish(subject, nil), conn.Flush()); err != nil {
			t.Fatal(err)
		}
		denied(t, violations, "publish on "+subject)
	}
	for _, subject := range []string{">", "hub.>", "hub.victim.>", "rig.victim.>", "hub.*.wake", "$JS.>"} {
		if _, err := conn.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		denied(t, violations, "subscribe to "+subject)
	}
	for _, reply := range []string{"none", "hub.victim.inbox.x", "hub.victim.wake", "store.jobs.x",
		"$JS.API.STREAM.PURGE.jobs"} {
		if err := conn.PublishRequest(wire.RigSubject("hostile", "poll"), reply, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, subject := range []string{"rig.hostile.POLL", "rig.hostile.poll.x",
		"rig.hostile." + strings.Repeat("k", 17)} {
		if err := conn.PublishRequest(subject, inbox("hostile")+".x", nil); err != nil {
			t.Fatal(err)
		}
	}
	got, err := conn.RequestWithContext(ctx, wire.RigSubject("hostile", "poll"), nil) // after all of the above
	if err != nil || string(got.Data) != "hostile" || asked.Load() != 1 {
		t.Errorf("answer %v, %v; the hub was asked %d times", got, err, asked.Load())
	}
	select {
	case <-victim.Woken():
		t.Error("a rig woke another")
	default:
	}
	if err := conn.Publish(wire.RigSubject("hostile", "poll"), make([]byte, wire.MaxMessage+1)); err == nil {
		err = conn.FlushWithContext(ctx)
		if err == nil {
			t.Error("a message above the bound was sent")
		}
	}
}

func denied(t *testing.T, violations <-chan error, action string) {
	t.Helper()
	select {
	case err := <-violations:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: %v", action, err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s is permitted", action)
	}
}

// TestFingerprint: a rig joins through the hub's HTTPS port and rejects another certificate.
func TestFingerprint(t *testing.T) {
	a := newAuthority(t)
	s := serve(t, ServerOptions{Dir: t.TempDir(), Quota: 64 << 20, Keys: keysOf(t, a)})
	background(t, s, echo)
	hub := &url.URL{Scheme: "http", Host: s.WebsocketAddress()}
	web := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(hub))
	defer web.Close()
	o := joinOptions(t, a, s, "lab-07")
	o.plain, o.URL, o.Path = false, web.URL, "/fleet/v1/nats"
	o.Fingerprint = fingerprint.Of(web.Certificate().Raw)
	rig, err := Dial(o)
	if err != nil {
		t.Fatal(err)
	}
	defer rig.Close()
	await(t, rig)
	if got, err := ask(t, rig, "poll", ""); err != nil || got != "lab-07 poll" {
		t.Errorf("%q, %v", got, err)
	}
	o.Fingerprint = hubCertificate
	wrong, err := Dial(o)
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		on, err := wrong.Connected()
		if on || time.Now().After(deadline) {
			t.Fatalf("connected: %v, %v", on, err)
		}
		if strings.Contains(err.Error(), "another certificate") {
			break
		}
	}
	for _, bad := range []string{"", "http://hub", "hub:8430", "https://"} {
		o.URL = bad
		if _, err := Dial(o); err == nil {
			t.Errorf("address %q was accepted", bad)
		}
	}
}

// Fault: A rig of a fleet reports attempts of others, and floods its hub
//
// It is refused and then disconnected. Another rig gets each answer.
func TestFlood(t *testing.T) {
	a := newAuthority(t)
	s := serve(t, ServerOptions{Dir: t.TempDir(), Quota: 64 << 20, Keys: keysOf(t, a)})
	var flooded atomic.Int64
	background(t, s, func(ctx context.Context, rig, kind string, r []byte) []byte {
		if rig == "flood" {
			flooded.Add(1)
		}
		return r
	})
	flood, quiet := join(t, a, s, "flood").(*rigLink), join(t, a, s, "quiet")
	await(t, flood)
	await(t, quiet)
	if _, err := ask(t, flood, "poll", ""); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default: // errors are expected while it is disconnected
				_ = flood.conn.PublishRequest(wire.RigSubject("flood", "poll"), inbox("flood")+".x", make([]byte, 1000))
			}
		}
	}()
	for range 20 {
		if got, err := ask(t, quiet, "poll", "x"); err != nil || got != "x" {
			t.Errorf("the quiet rig: %q, %v", got, err)
		}
	}
	await(t, flood) // it was disconnected and is back
	close(stop)
	<-stopped
}

func TestGate(t *testing.T) {
	g, now := gate{rigs: map[string]*turnstile{}}, time.Unix(1000, 0)
	for range maxAtOnce {
		if ok, _ := g.enter("a", "relay", 0, now); !ok {
			t.Fatal("a request was refused")
		}
	}
	if ok, _ := g.enter("a", "relay", 0, now); ok {
		t.Error("too many requests at the same time")
	}
	if ok, _ := g.enter("a", "poll", 0, now); !ok {
		t.Error("long requests block a poll")
	}
	g.leave("a", "relay")
	if ok, _ := g.enter("a", "relay", 0, now); !ok {
		t.Error("a request after an answer was refused")
	}
	admitted, disconnected := 0, 0
	for range 1000 {
		ok, cut := g.enter("b", "poll", wire.MaxMessage, now)
		if ok {
			g.leave("b", "poll")
			admitted++
		}
		if cut {
			disconnected++
		}
	}
	if most := requestBurst / (wire.MaxMessage / requestUnit); admitted == 0 || admitted > most || disconnected == 0 {
		t.Errorf("%d large requests admitted, at most %d; disconnected %d times", admitted, most, disconnected)
	}
	if ok, _ := g.enter("b", "poll", 0, now.Add(time.Second)); !ok {
		t.Error("a request a second later was refused")
	}
}
