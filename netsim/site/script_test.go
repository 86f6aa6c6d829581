package site

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// around is what a page's script finds around it, as far as it needs. Frames come at once, and what
// it sends is printed.
const around = `
'use strict';
let now = 1000;
const element = () => ({ style: {}, classList: { add() {} }, getContext: () => ({ fillRect() {} }), remove() {} });
const elements = { rig: { textContent: %s }, marker: element() };
Object.defineProperty(globalThis, 'performance', { value: { now: () => now } });
Object.defineProperty(globalThis, 'navigator', { value: { userAgent: '日'.repeat(400) } });
Object.assign(globalThis, {
  window: globalThis, innerWidth: 1280, innerHeight: 720, devicePixelRatio: 1, self: globalThis,
  document: { getElementById: (id) => elements[id], addEventListener() {}, createElement: element,
    body: { append() {} } }, addEventListener() {},
  requestAnimationFrame: (f) => setImmediate(() => f(now += 16)),
  fetch: async (path, options) => {
    if (path.startsWith('/clock')) return { json: async () => ({ now_ns: '1' }) };
    if (path.startsWith('/ended')) return new Promise((end) => { globalThis.endInput = end; });
    console.log(JSON.stringify({ path, body: options.body }));
    return { ok: true, json: async () => ({}) };
  },
});
%s
Rig.play(%s);
`

// sent runs the script of a site's page, and returns the body of what it sends to a path.
func sent(t *testing.T, s *Site, path, hooks string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("there is no node (apt-get install nodejs): ", err)
	}
	_, page, _ := ask(s, "GET", s.Start(), "", "")
	_, rest, _ := strings.Cut(page, `<script id="rig" type="application/json">`)
	config, _, whole := strings.Cut(rest, "</script>")
	if !whole {
		t.Fatalf("no configuration: %.300s", page)
	}
	_, script, _ := ask(s, "GET", "/assets/sync.js", "", "")
	run := exec.CommandContext(t.Context(), node, "-")
	run.Stdin = strings.NewReader(fmt.Sprintf(around, text(t, config), script, hooks))
	var complained strings.Builder
	run.Stderr = &complained
	out, err := run.Output()
	var said struct{ Path, Body string }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil || said.Path != path {
		t.Fatalf("%v: %.300s %.1000s", err, out, complained.String())
	}
	return said.Body
}

// TestScriptCutsItsFailure: whatever a browser throws, the rig gets an error.
func TestScriptCutsItsFailure(t *testing.T) {
	for _, letter := range []string{"x", "é", "日", "😀"} {
		s := newSite(t, "load")
		body := sent(t, s, "/failure", fmt.Sprintf("{ prepare() { throw new Error('a' + '%s'.repeat(600)); } }",
			letter))
		if status, said, _ := ask(s, "POST", "/failure", "application/json", body); status != 200 {
			t.Errorf("%s: %d %s", letter, status, said)
		}
		var told struct{ Reason string }
		if err := json.Unmarshal([]byte(body), &told); err != nil || len(told.Reason) <= maxText-len(letter) ||
			strings.ContainsRune(told.Reason, '\uFFFD') {
			t.Errorf("%s: %d bytes, %v", letter, len(told.Reason), err)
		}
	}
}

// TestScriptStopsAnswering: a page with more answers than a report holds says so in place of the
// rest.
func TestScriptStopsAnswering(t *testing.T) {
	for _, more := range []int{0, 7} {
		s := newSite(t, "typing")
		body := sent(t, s, "/report", fmt.Sprintf(`{ draw(at, id, now) {
  if (id === 1) for (let i = 0; i < %d; i++) Rig.input({ type: 'wheel', timeStamp: now });
  return true;
} }`, maxAnswers+more))
		var told wire
		if err := json.Unmarshal([]byte(body), &told); err != nil {
			t.Fatal(err)
		}
		var want []string
		if more > 0 {
			want = []string{fmt.Sprintf("%d answers are left out: a report has %d", more, maxAnswers)}
		}
		if len(told.Answers) != maxAnswers || fmt.Sprint(told.Warnings) != fmt.Sprint(want) ||
			len(told.Agent) > maxText {
			t.Errorf("%d answers, %q, a name of %d bytes", len(told.Answers), told.Warnings, len(told.Agent))
		}
	}
}

// TestScriptAwaitsInput: the end of the input ends a page, which still waits for inputs that are on
// their way. A pause between two inputs that is longer than the quiet at the end does not end it.
func TestScriptAwaitsInput(t *testing.T) {
	s, err := New(Options{Playlist: []string{"typing"}, InputEnds: true})
	if err != nil {
		t.Fatal(err)
	}
	body := sent(t, s, "/report", `{ draw(at, id, now) {
  if (id === 1 || id === 303) Rig.input({ type: 'input', timeStamp: now });
  if (id === 300) endInput({ ok: true });
  return true;
} }`)
	var told wire
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		t.Fatal(err)
	}
	quiet := s.playlist[0].QuietMillis / 16 // in frames
	if after := len(told.IDs) - 303; len(told.Answers) != 2 || after < quiet || after > quiet+3 ||
		len(told.Warnings) > 0 {
		t.Errorf("%d answers, %d pictures after the last input, want 2 and %d", len(told.Answers), after, quiet)
	}
}

// TestInputEnds: the answer waits for the end of the input.
func TestInputEnds(t *testing.T) {
	s, err := New(Options{Playlist: []string{"typing", "load"}, Nonce: "abc", InputEnds: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	early, late := httptest.NewRecorder(), httptest.NewRecorder()
	s.ServeHTTP(early, httptest.NewRequestWithContext(ctx, "GET", "/ended?run=abc", nil))
	s.InputEnded()
	s.InputEnded()
	s.ServeHTTP(late, httptest.NewRequestWithContext(t.Context(), "GET", "/ended?run=abc", nil))
	if early.Code != 408 || late.Code != 200 {
		t.Errorf("status %d before the end, %d after it", early.Code, late.Code)
	}
	for path, awaits := range map[string]bool{"/typing.html?run=abc&entry=0": true, "/load.html?run=abc&entry=1": false,
		"/typing.html": false} {
		if _, page, _ := ask(s, "GET", path, "", ""); strings.Contains(page, `"awaits":true`) != awaits {
			t.Errorf("%s: %.300s", path, page)
		}
	}
}
