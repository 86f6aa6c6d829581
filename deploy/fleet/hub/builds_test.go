package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// sharing is a hub with a builder a without a fitting device, and rig b that fetches its builds.
func sharing(t *testing.T) (w *world, f *rigFile, made wire.Made, url string) {
	t.Helper()
	w = newWorld(t, "a", "b")
	w.hub.o.Built = func(feed string) bool { return feed == "shop" }
	w.rigs["a"].signs, w.rigs["a"].feeds = []string{"shop"}, []string{}
	w.rigs["b"].fetches, w.rigs["b"].feeds = []string{"shop"}, []string{"shop"}
	w.rigs["a"].poll()
	w.rigs["b"].poll()
	s := httptest.NewServer(w.hub.Handler())
	t.Cleanup(s.Close)
	f = &rigFile{content: randomBytes(1, pieceBytes+1000), tag: `"1"`}
	w.relays(s.URL, f)
	sum := sha256.Sum256(f.content)
	made = wire.Made{Build: wire.Build{Feed: "shop", Build: "4f2c"}, Line: json.RawMessage(`{"seq":1}`),
		SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(f.content))}
	return w, f, made, s.URL + "/fleet/v1/ticket/"
}

func (w *world) commit(id, build string) {
	w.Helper()
	w.submit(id, api.JobParams{StartParams: api.StartParams{Browsers: []string{"chromium@shop" + build}}})
}

// TestSharedBuild: a job waits until the hub has its build whole, with one reason. Then it goes to
// a rig that fetches the build, with the builder's line. That rig alone gets a ticket for it.
//
// Fault: The builder of a fleet measures, is away, or has lost a build
func TestSharedBuild(t *testing.T) {
	w, f, made, url := sharing(t)
	a, b := w.rigs["a"], w.rigs["b"]
	reason := func(id, want string) {
		t.Helper()
		w.hub.tick(t.Context())
		if j := w.job(id); j.State != queued || !strings.Contains(j.Reason, want) {
			t.Fatalf("%s is %s: %s, want %q", id, j.State, j.Reason, want)
		}
	}
	const waits = "waits for build 4f2c of feed shop: "
	w.commit("s-newest", "")
	w.commit("s-1", ":4f2c")
	reason("s-1", waits+"a makes it")
	reason("s-newest", "no device has a label makes")
	if got := fmt.Sprint(a.poll().answer.Make, b.poll().answer.Make); got != "[{shop 4f2c}] []" {
		t.Fatalf("wanted: %s", got)
	}
	w.pass(time.Minute, "b")
	reason("s-1", waits+"a is away since 2026-11-28 12:0")
	b.made = []wire.Made{made} // it is not asked
	b.poll()
	a.poll()
	reason("s-1", waits+"a makes it")
	a.made = []wire.Made{made}
	a.poll()
	w.hub.rigs["a"].busy = true
	if w.hub.gather(t.Context()); w.state("s-1") != "queued" {
		t.Fatal(w.state("s-1"))
	}
	reason("s-1", waits+"a measures now and sends no files; try again later")
	a.poll()
	f.set(randomBytes(2, len(f.content)), `"1"`)
	w.now = w.now.Add(gatherAgain)
	w.hub.gather(t.Context())
	reason("s-1", waits+"a sends other content than it has signed")
	f.set(randomBytes(1, len(f.content)-1), `"1"`) // the builder has removed it
	w.pass(gatherAgain, "a", "b")
	w.hub.gather(t.Context())
	reason("s-1", waits+"a makes it")
	if got := a.poll().answer.Make; len(got) > 0 {
		t.Errorf("%v is wanted before the rig has forgotten it", got)
	}
	f.set(randomBytes(1, len(f.content)+1), `"1"`)
	w.pass(gatherAgain, "a", "b")
	a.poll()
	if !w.hub.gather(t.Context()) || w.hub.gather(t.Context()) {
		t.Fatal("the build is not got once")
	}
	w.expect("s-1", "assigned b:assigned")
	hasLine(t, b.poll().has["s-1.1"], made)

	ask := func(rig, sum string) (out wire.Asked) {
		raw, _ := json.Marshal(wire.Ask{Build: sum})
		if err := json.Unmarshal(w.hub.handle(t.Context(), rig, "ask", raw), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, no := range [][2]string{{"a", made.SHA256}, {"b", strings.Repeat("0", 64)}, {"c", made.SHA256}} {
		if got := ask(no[0], no[1]); got.Ticket != "" || got.Error == "" {
			t.Errorf("%v: %+v", no, got)
		}
	}
	ticket := ask("b", made.SHA256).Ticket
	f.busy = true // the hub has it
	for _, from := range []int{0, pieceBytes - 10} {
		status, body, _ := fetch(t, "GET", url+ticket, "", "Range", fmt.Sprintf("bytes=%d-", from))
		if status != 206 || body != string(f.content[from:]) {
			t.Errorf("from %d: %d, %d bytes", from, status, len(body))
		}
	}
	if status, _, _ := fetch(t, "POST", url+ticket, "x"); status != 404 {
		t.Errorf("a post to the ticket of a build: %d", status)
	}
	w.now = w.now.Add(ticketTime)
	if status, _, _ := fetch(t, "GET", url+ticket, ""); status != 404 {
		t.Errorf("an old ticket: %d", status)
	}

	// Another hub leads: the attempt that its rig does not have waits for the line.
	b.poll().end("s-1.1", wire.Ended{State: "ok"}).poll()
	w.commit("s-2", ":4f2c")
	w.expect("s-2", "assigned b:assigned")
	w.restart()
	w.hub.o.Built = w.o.Built
	a.made = nil
	a.poll()
	if b.poll(); b.has["s-2.1"] != nil {
		t.Error("an attempt is sent without the line of its build")
	}
	w.hub.tick(t.Context())
	a.poll()
	if got := a.answer.Make; !slices.Equal(got, []wire.Build{made.Build}) {
		t.Fatalf("after a restart %v is wanted", got)
	}
	a.made = []wire.Made{made}
	a.poll()
	w.hub.gather(t.Context()) // pieces are on the disk
	hasLine(t, b.poll().has["s-2.1"], made)
}

// hasLine checks that an attempt has the line of a build.
func hasLine(t *testing.T, a *simAttempt, m wire.Made) {
	t.Helper()
	if a == nil || len(a.Builds) != 1 || a.Builds[0].SHA256 != m.SHA256 || string(a.Builds[0].Line) != string(m.Line) {
		t.Fatalf("the attempt is %+v", a)
	}
}

// TestUnmakeable: a job ends with the builder's reason if its build cannot be made or is too large.
func TestUnmakeable(t *testing.T) {
	for want, change := range map[string]func(*wire.Made){
		"a cannot make build 4f2c of feed shop: sh: exit status 1": func(m *wire.Made) {
			*m = wire.Made{Build: m.Build, Error: "sh: exit status 1"}
		},
		"its archive has 4294967297 bytes, at most 4294967296": func(m *wire.Made) { m.Bytes = wire.MaxBuild + 1 },
		"its line is invalid": func(m *wire.Made) { m.SHA256 = "../" + m.SHA256[3:] },
	} {
		w, _, made, _ := sharing(t)
		w.commit("s-1", ":4f2c")
		w.hub.tick(t.Context())
		change(&made)
		w.rigs["a"].made = []wire.Made{made}
		w.rigs["a"].poll()
		w.hub.tick(t.Context())
		if j := w.job("s-1"); j.State != failed || !strings.Contains(j.Reason, want) {
			t.Errorf("%s: %s, want %s", j.State, j.Reason, want)
		}
		if w.hub.tick(t.Context()); len(w.hub.builds) > 0 || len(w.hub.building) > 0 {
			t.Errorf("%v and %v are kept", w.hub.builds, w.hub.building)
		}
	}
}
