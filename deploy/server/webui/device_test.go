package webui

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/eideticker/eideticker/analyze/report/browsertest"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/daemon/daemontest"
	"github.com/eideticker/eideticker/deploy/server"
)

// deviceRig is a daemon with a device that shows a scene, on the network.
type deviceRig struct {
	*daemontest.Rig
	tokens *server.Tokens
	url    string
	power  string // file to which the device's power is written
}

// serveDevice starts a rig and a browser in front of it. With needed, visitors need a token.
func serveDevice(t *testing.T, needed bool) (*deviceRig, *tab) {
	t.Helper()
	needsBrowser(t)
	r := &deviceRig{power: filepath.Join(t.TempDir(), "power")}
	d := daemontest.New("bench")
	turn := func(to string) []string { return []string{"sh", "-c", `echo "$1" >>"$0"`, r.power, to} }
	d.About.Power = device.Power{On: turn("on"), Off: turn("off")}
	r.Rig = daemontest.Start(t, t.TempDir(), daemontest.Devices{d}, nil)
	var err error
	if r.tokens, err = server.OpenTokens(r.Dir); err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{Daemon: r.Daemon, Tokens: r.tokens, Place: server.Place{Loopback: true},
		Needed: needed, Program: "eideticker (test)", Page: Handler()})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	r.url = h.URL
	return r, newTab(t, h.URL)
}

// is waits until the device is as it should be.
func (r *deviceRig) is(what string, as func(d api.Device) bool) {
	r.Until("the device "+what, func() bool { return as(r.Devices()[0]) })
}

// holds checks that a run in the store has a recording that is whole, and returns it.
func (r *deviceRig) holds(t *testing.T, id string) made {
	t.Helper()
	dir, err := r.Store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	report, err := recording.Verify(t.Context(), filepath.Join(dir, runfolder.RecordingFile), nil)
	if err != nil || report.Frames == 0 || !report.Complete || len(report.Problems) > 0 {
		t.Errorf("run %s: %+v, %v", id, report, err)
	}
	return made{id, dir, report.Frames}
}

// button finds a button that can be used by its text, in what asks something if anything does.
func button(text string) string {
	return fmt.Sprintf(`[...(document.querySelector('dialog[open]') ?? document).querySelectorAll('button')].find((b) =>
		b.textContent === %q && !b.disabled && b.ariaDisabled !== 'true')`, text)
}

// push uses a button by keys, without a pointer: it takes the focus and keeps it.
func (b *tab) push(text string) {
	b.Helper()
	b.focus(text)
	b.press(kb.Enter)
}

// focus goes to a button.
func (b *tab) focus(text string) {
	b.Helper()
	b.await("the button "+text, fmt.Sprintf(`(b => { b?.focus(); return b && document.activeElement === b; })(%s)`,
		button(text)))
}

// lacks checks that a page has no such button.
func (b *tab) lacks(text string) {
	b.Helper()
	if browsertest.Eval[bool](b.Tab,
		fmt.Sprintf(`[...document.querySelectorAll('button')].some((b) => b.textContent === %q)`, text)) {
		b.Errorf("there is a button %q", text)
	}
}

// arrives waits until the page of a run is shown, and returns its ID.
func (b *tab) arrives() string {
	b.Helper()
	b.await("a run is shown",
		`/^#\/runs\/20/.test(location.hash) && document.querySelector('h1')?.textContent === 'Recording'`)
	id, _, _ := strings.Cut(strings.TrimPrefix(browsertest.Eval[string](b.Tab, `location.hash`), "#/runs/"), "?")
	return id
}

// The buttons on a device's page record it and save its last seconds.
func TestRecordButtons(t *testing.T) {
	t.Parallel()
	r, b := serveDevice(t, false)
	b.open("#/rig")
	b.await("the live picture is shown",
		`document.querySelector('.live')?.width === 160 && document.querySelector('.live-none')?.hidden`)
	b.await("its signal is told", `document.querySelector('.device')?.textContent.includes('160 × 90 BGR4')`)

	b.Log("a recording begins and ends")
	b.push("Record")
	r.is("records", func(d api.Device) bool { return d.State == "running" && d.Capture != nil && d.Capture.Frames > 0 })
	b.await("how it goes is told",
		`(t => /frames[1-9]/.test(t) && /lost(✓ 0|! \d)/.test(t) &&
			t.includes('% full'))(document.querySelector('.capture')?.textContent ?? '')`)
	b.await("the queue has it", `document.querySelector('.job')?.textContent.includes('recording')`)
	b.push("End the recording")
	id := b.arrives()
	m := r.holds(t, id)
	b.shows(m, 0)
	b.press(kb.ArrowRight)
	b.shows(m, 1)
	b.Log("it is measured, although no test said how")
	b.push("Measure it")
	b.longAwait("what was found is shown",
		`document.querySelector('.quality') !== null && document.querySelector('.window, .windows .refusal') !== null`)
	if _, err := os.Stat(filepath.Join(m.dir, "results.json")); err != nil {
		t.Error(err)
	}

	b.Log("the last seconds are kept, while they are looked at, and saved")
	b.open("#/rig")
	b.push("Keep the last 30 s")
	r.is("keeps", func(d api.Device) bool { return d.State == "keeping" && d.Capture != nil && d.Capture.Frames > 0 })
	b.await("the page says so", `document.querySelector('.tab')?.textContent.includes('keeping')`)
	b.push("Save the last seconds")
	saved := b.arrives()
	if saved == id {
		t.Error("what was saved is the recording before")
	}
	b.shows(r.holds(t, saved), 0)
	b.open("#/rig")
	r.is("goes on keeping", func(d api.Device) bool {
		return d.State == "keeping" && d.Capture != nil &&
			d.Capture.Frames > 0
	})
	b.await("the page is there", `document.querySelector('.tab')?.textContent.includes('keeping')`)
	b.press("k")
	if last := b.arrives(); last == saved {
		t.Error("the key saved nothing")
	}
	b.open("#/rig")
	b.push("End keeping")
	r.is("is free", func(d api.Device) bool { return d.State == "free" })
	b.await("the page says so", `document.querySelector('.tab')?.textContent.includes('free')`)
	b.Quiet()
}

// A device is put under quarantine, switched, and reserved, by the buttons on its page.
func TestDeviceButtons(t *testing.T) {
	t.Parallel()
	r, b := serveDevice(t, false)
	b.open("#/rig")
	const text = `(document.querySelector('.device')?.textContent ?? '')`

	b.Log("quarantine, once it was thought better of")
	b.push("Quarantine …")
	b.push("Cancel")
	b.push("Quarantine …")
	b.push("Quarantine")
	r.is("is under quarantine", func(d api.Device) bool {
		return d.Quarantine == "by hand" &&
			d.State == "quarantined"
	})
	b.await("the page says so",
		text+`.includes('Under quarantine: by hand') &&
			document.querySelector('.tab')?.textContent.includes('quarantined')`)
	b.lacks("Record")
	b.push("Lift the quarantine")
	r.is("is free", func(d api.Device) bool { return d.State == "free" })
	b.await("the page says so", `!`+text+`.includes('Under quarantine')`)

	b.Log("power, by a button that stays while others come and go, and so does what chooses the device")
	b.focus("Power cycle …")
	b.Do(chromedp.Evaluate[chromedp.Void](`window.chooses = document.querySelector('.tab')`))
	theirs, err := r.Reserve("ci", false, api.ReserveParams{Device: "bench", ForNS: int64(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	b.await("it is reserved for another",
		text+`.includes('Reserved for ci') && document.querySelector('.tab').textContent.includes('reserved')`)
	if _, err := r.Reserve("ci", false, api.ReserveParams{Device: "bench", Release: true,
		Key: theirs.Key}); err != nil {
		t.Fatal(err)
	}
	b.await("it is free", `!`+text+
		`.includes('Reserved') && document.querySelector('.tab').textContent.includes('free')`)
	if !browsertest.Eval[bool](b.Tab, `chooses.isConnected`) {
		t.Error("what chooses the device is another one")
	}
	b.press(kb.Enter)
	b.push("Power cycle")
	b.await("it is said", `document.querySelector('.said')?.textContent === 'bench was switched off and on.'`)
	if said, err := os.ReadFile(r.power); err != nil || string(said) != "off\non\n" {
		t.Errorf("the power was switched %q, %v", said, err)
	}

	b.Log("reservation")
	b.push("Reserve …")
	b.await("a note is asked for",
		`(f => { if (f) { f.value = 'new cable'; } return f?.value === 'new cable'; })(
			document.querySelector('dialog[open] input'))`)
	b.push("Reserve")
	r.is("is reserved", func(d api.Device) bool {
		left := func(r *api.Reservation) time.Duration { return time.Until(time.Unix(0, r.UntilWallNS)) }
		return d.Reserved != nil && d.Reserved.Note == "new cable" && left(d.Reserved) <= 15*time.Minute
	})
	b.await("the page says for whom", text+`.includes('Reserved for local until ') && `+text+`.includes(': new cable')`)
	if _, err := r.Record(t.Context(), "another", api.RecordParams{Device: "bench"}); err == nil {
		t.Error("others may use what is reserved")
	}
	b.Log("who has reserved it may use it, after a reload too")
	b.open("#/tests?test=scene")
	b.push("Start")
	b.longAwait("the test has run", `document.querySelector('.job .made a') !== null`)
	b.open("#/rig")
	b.push("Record")
	r.is("records", func(d api.Device) bool { return d.Capture != nil && d.Capture.Frames > 0 && d.State == "running" })
	b.push("End the recording")
	b.arrives()
	b.open("#/rig")
	b.push("End the reservation")
	r.is("is free", func(d api.Device) bool { return d.State == "free" && d.Reserved == nil })
	b.await("the page says so", `!`+text+`.includes('Reserved')`)
	b.Log("what is over is forgotten")
	b.push("Record")
	r.is("records", func(d api.Device) bool { return d.State == "running" })
	b.push("End the recording")
	b.arrives()
	b.Quiet()
}

// A visitor from elsewhere gives a token. It allows actions until it is taken away.
func TestLoginPage(t *testing.T) {
	t.Parallel()
	r, b := serveDevice(t, true)
	secret := func(name string, role api.Role) string {
		t.Helper()
		s, err := r.tokens.Add(name, role, 0, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	viewer, admin := secret("viewer", api.View), secret("admin", api.Admin)
	login := func(token string) {
		t.Helper()
		b.await("a token is asked for", `document.activeElement?.id === 'token'`)
		b.Do(chromedp.Evaluate[chromedp.Void](`document.getElementById('token').value = ''`),
			chromedp.SendKeys(chromedp.CSS("#token"), token))
		b.press(kb.Enter)
	}
	b.open("#/rig")
	login("eid_wrong")
	b.await("it is refused in words",
		`document.querySelector('.login .problem')?.textContent === 'The rig does not know this token.'`)
	b.Audited("login")
	b.picture("login")
	login(viewer)
	b.await("the page is shown",
		`document.querySelector('.live')?.width === 160 &&
			document.querySelector('.top')?.textContent.includes('you are viewer, role view')`)
	for _, text := range []string{"Record", "Reserve …", "Quarantine …", "Power cycle …"} {
		b.lacks(text)
	}
	const all = "document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + location.href"
	if kept := browsertest.Eval[bool](b.Tab, "("+all+").includes('eid_')"); kept {
		t.Error("scripts can read the token")
	}
	b.open("#/tests")
	b.await("nothing can be started", `document.querySelector('form.start button.main')?.disabled === true`)

	b.Log("who logs out may look no more, and what has the focus keeps it while the page learns what is new")
	b.open("#/rig")
	b.focus("Log out")
	b.Do(chromedp.Evaluate[chromedp.Void](`window.before = document.querySelector('.top .about span')`))
	r.Changed("20261121-201530-scene-k7f2", "changed")
	b.await("it has learnt", `!before.isConnected`)
	b.press(kb.Enter)
	login(admin)
	b.await("an admin may do everything", `document.querySelector('.top')?.textContent.includes('role admin') && !!`+
		button("Power cycle …"))

	b.Log("a token that was taken away")
	if err := r.tokens.Remove("admin"); err != nil {
		t.Fatal(err)
	}
	b.await("the page asks for another one when it wants to do something, whatever that is",
		`document.getElementById('token') !== null || (`+button("Record")+`?.click(), false)`)
	if d := r.Devices()[0]; d.State != "free" {
		t.Errorf("the device is %s", d.State)
	}
	b.Quiet("401", "WebSocket")
}
