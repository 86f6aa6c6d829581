package device

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/deploy/built"
)

// TestUntrustedTests has each browser try what an untrusted test is kept from: services of this
// machine (see reachesServices), then files (see readsFiles). A browser that is not kept from them
// must reach them, or the test would show nothing.
//
// Fault: A page, script or typed address that leads to a service of the box
// Fault: A test that opens files, file dialogs or developer tools in the browser
func TestUntrustedTests(t *testing.T) {
	if testing.Short() {
		t.Skip("browsers take long to start; all that is ours ran in them without -short")
	}
	t.Parallel()
	for _, k := range kinds() {
		for _, untrusted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/untrusted=%v", k.name, untrusted), func(t *testing.T) {
				t.Parallel()
				path, err := find(k.pkg, k.programs...)
				need(t, err)
				reachesServices(t, k, path, untrusted)
			})
		}
	}
}

// filePage is a page that asks for a file, and the requests for it.
type filePage struct {
	*httptest.Server
	heard chan string
}

func serveFilePage(ctx context.Context) *filePage {
	p := &filePage{heard: make(chan string, 100)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		fmt.Fprintf(w, `<title>x</title>
<input type=file style="position: fixed; inset: 0; height: 100%%; width: 100%%; background: #00f">
<script>`+tellShown+`
document.querySelector("input").onchange = e => fetch("/chosen/" + e.target.files[0].name)
let had // pixels
addEventListener("load", () => had = innerWidth * innerHeight)
onresize = () => fetch("/resized/" + innerWidth * innerHeight + "/" + had)
document.querySelector("input").oncancel = () => fetch("/cancelled")</script>`)
		select {
		case p.heard <- r.URL.Path:
		case <-ctx.Done():
		}
	}))
	return p
}

// readsFiles types the address of a file into a running browser, and names it in a page's file
// dialog. In a browser without restrictions it also types an address that is the beginning of a
// visited one.
func readsFiles(ctx context.Context, t *testing.T, k kind, untrusted bool, hand input.Driver, page *filePage) {
	t.Helper()
	heard := page.heard
	hears := func(ctx context.Context, want string) bool {
		for {
			select {
			case got := <-heard:
				if got == want {
					return true
				}
				if strings.HasPrefix(got, "/read") || strings.HasPrefix(got, "/chosen") {
					t.Fatalf("a file was read: %s", got)
				}
			case <-ctx.Done():
				return false
			}
		}
	}
	file := filepath.Join(t.TempDir(), "secret.html")
	if err := os.WriteFile(file, []byte(`<title>y</title><img src="`+page.URL+`/read">`), 0o600); err != nil {
		t.Fatal(err)
	}
	typed := Typed{Input: hand, Bar: blank("x").AddressBar}
	goTo := func(address, want string) {
		t.Helper()
		goUntil(ctx, t, typed, address, func(ctx context.Context) bool { return hears(ctx, want) })
	}
	tryTools := func() {
		t.Helper()
		if !t.Failed() && toolsOpen(t, ctx, hand, heard, !untrusted) == untrusted {
			t.Errorf("the developers' tools open: %v", untrusted)
		}
	}
	first := untrusted && k.name == "firefox"
	if !first {
		defer tryTools() // at last: what tells that they do not open stays in the way, as do open ones
	}
	goTo(page.URL+"/first", "/shown/first")
	if untrusted {
		_, err := typed.Go(ctx, "file://"+file)
		need(t, err)
	} else {
		goTo("file://"+file, "/read")
		goTo(page.URL+"/typed-1", "/shown/typed-1")
		goTo(page.URL+"/typed", "/shown/typed") // browsers complete it to the one before, which must not count
	}
	goTo(page.URL+"/second", "/shown/second") // what a file asked for comes before what this page does
	if first {
		// Firefox puts a notice above a page without dialogs, and takes it off late.
		tryTools()
	}

	if k.name == "chromium" && !untrusted {
		return // its dialog is larger than the display: the test only checks that it does not open
	}
	// the dialog, and what it does with each thing that is typed; else the file is not found, which
	// the browser that is not kept tells
	const opens = 2 * time.Second
	name := []input.Timed{
		{After: 0, Actions: []input.Action{input.Move{X: 400, Y: 400}}},
		{After: barHeld, Actions: []input.Action{input.ButtonDown{Button: input.Left}}},
		{After: 2 * barHeld, Actions: []input.Action{input.ButtonUp{Button: input.Left}}},
		{After: opens, Actions: []input.Action{input.Text{Text: "/"}}},
		{After: 2 * opens, Actions: []input.Action{input.Text{Text: file[1:]}}},
		{After: 3 * opens, Actions: []input.Action{input.KeyDown{Key: "Enter"}}},
		{After: 3*opens + barHeld, Actions: []input.Action{input.KeyUp{Key: "Enter"}}},
	}
	play := func(all []input.Timed) {
		t.Helper()
		if err := input.Play(ctx, hand, timeline.Monotonic().Now(), all, nil); err != nil {
			t.Fatal(err)
		}
	}
	play(name)
	for !untrusted { // a dialog that opens late on a busy machine has not heard all: again, after it is gone
		select {
		case got := <-heard:
			if got == "/chosen/secret.html" {
				return
			}
		case <-time.After(5 * opens):
			play([]input.Timed{{Actions: []input.Action{input.KeyDown{Key: "Escape"}}},
				{After: barHeld, Actions: []input.Action{input.KeyUp{Key: "Escape"}}}})
			play(name)
		case <-ctx.Done():
			t.Fatal("the file was not chosen")
		}
	}
	if k.name == "chromium" && !hears(ctx, "/cancelled") {
		t.Fatal("the dialog was not refused")
	}
	goTo(page.URL+"/third", "/shown/third")
}

// goUntil types an address until the expected result comes. A browser of a busy machine loses text
// that is typed while it switches pages. A person who sees that types it again.
func goUntil(ctx context.Context, t *testing.T, typed Typed, address string, comes func(context.Context) bool) {
	t.Helper()
	const again = 20 * time.Second
	for ctx.Err() == nil {
		if _, err := typed.Go(ctx, address); err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(ctx, again)
		come := comes(soon)
		if cancel(); come {
			return
		}
	}
	t.Fatalf("nothing comes of %s", address)
}

// toolsOpen presses the key of the developers' tools, and reports whether the size of the page has
// changed: they take a part of the window. Nothing else may be about to change it. Where they
// should open it waits for that.
func toolsOpen(t *testing.T, ctx context.Context, hand input.Driver, heard <-chan string, should bool) (open bool) {
	t.Helper()
	unread := func(got string) {
		t.Helper()
		if !should && (strings.HasPrefix(got, "/read") || strings.HasPrefix(got, "/chosen")) {
			t.Fatalf("a file was read: %s", got)
		}
	}
	for len(heard) > 0 {
		unread(<-heard) // of before
	}
	const opens = 5 * time.Second // Firefox loads them first
	press := input.KeyDown{Key: "F12"}
	release := input.KeyUp{Key: "F12"}
	all := []input.Timed{{Actions: []input.Action{press}}, {After: barHeld, Actions: []input.Action{release}},
		{After: opens, Actions: []input.Action{input.Move{X: 400, Y: 300}}}}
	if err := input.Play(ctx, hand, timeline.Monotonic().Now(), all, nil); err != nil {
		t.Fatal(err)
	}
	for should || len(heard) > 0 {
		select {
		case got := <-heard:
			unread(got)
			if sizes, is := strings.CutPrefix(got, "/resized/"); is {
				t.Logf("pixels of the page, now and before: %s", sizes)
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// TestPoliciesOfTheSystem: where the system's own policies would go before ours, no browser is
// started.
func TestPoliciesOfTheSystem(t *testing.T) {
	dir := t.TempDir()
	set := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "p.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	chromium, firefox := kinds()[0], filepath.Join(dir, "p.json")
	set(`{"HomepageLocation": "about:blank"}`)
	kept, err := keptChromium(chromium, []string{dir})
	if err != nil || !strings.Contains(kept.files["Default/Preferences"], "url_blocklist") ||
		!strings.Contains(kept.files["Default/Preferences"], "safebrowsing") {
		t.Errorf("%v, %v", kept.files, err)
	}
	set(`{"URLBlocklist": ["example.org"]}`)
	if _, err := keptChromium(chromium, []string{dir}); err == nil {
		t.Error("a list of the system's is passed over")
	}
	if _, err := keptFirefox("/none", filepath.Join(dir, "program"), untrustedFirefox, []string{firefox}); err == nil ||
		!strings.Contains(err.Error(), firefox) {
		t.Errorf("policies of the system's are passed over: %v", err)
	}
	script := filepath.Join(dir, "script")
	built.Executable(t, script, "#!/bin/sh\n")
	if _, err := keptFirefox(script, filepath.Join(dir, "program"), untrustedFirefox, nil); !errors.Is(err,
		errors.ErrUnsupported) {
		t.Errorf("what is not a program of Firefox is started: %v", err)
	}
}
