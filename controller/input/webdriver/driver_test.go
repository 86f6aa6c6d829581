package webdriver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/controller/input"
)

// browser is the other side of a websocket. It records its commands, and answers like a browser.
type browser struct {
	mu      sync.Mutex
	told    []string // commands, "method {params}"
	refuse  string   // a method that is answered with an error
	leave   string   // a method upon which the browser ends
	babble  bool     // events and strange answers come before each answer
	noPages bool
	silent  string // a method that is not answered
	heard   func() // called then
}

func (b *browser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	for {
		var c struct {
			ID     int             `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if ws.ReadJSON(&c) != nil {
			return
		}
		b.mu.Lock()
		b.told = append(b.told, c.Method+" "+string(c.Params))
		refuse, leave, babble, noPages := b.refuse, b.leave, b.babble, b.noPages
		b.mu.Unlock()
		if c.Method == leave {
			return
		}
		if c.Method == b.silent {
			b.heard()
			continue
		}
		if babble {
			_ = ws.WriteJSON(map[string]any{"type": "event", "method": "log.entryAdded", "params": map[string]any{}})
			_ = ws.WriteJSON(map[string]any{"type": "error", "id": nil, "error": "invalid argument",
				"message": "of nothing"})
			_ = ws.WriteJSON(map[string]any{"type": "success", "id": c.ID + 1000, "result": map[string]any{}})
			_ = ws.WriteJSON(map[string]any{"type": "success", "id": c.ID - 1, "result": map[string]any{}})
		}
		answer := map[string]any{"type": "success", "id": c.ID, "result": map[string]any{}}
		switch {
		case c.Method == refuse:
			answer = map[string]any{"type": "error", "id": c.ID, "error": "move target out of bounds",
				"message": "it is"}
		case c.Method == "session.new":
			answer["result"] = map[string]any{"sessionId": "s", "capabilities": map[string]any{"browserName": "fake",
				"browserVersion": "1.2"}}
		case c.Method == "browsingContext.getTree" && !noPages:
			answer["result"] = map[string]any{
				"contexts": []any{map[string]any{"context": "page-1", "url": "about:blank"}}}
		}
		_ = ws.WriteJSON(answer)
	}
}

func (b *browser) commands() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.told...)
}

func open(t *testing.T, b *browser) (*Driver, error) {
	t.Helper()
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	d, err := Open(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+"/session")
	if err == nil {
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return d, err
}

func TestActions(t *testing.T) {
	b := &browser{babble: true}
	d, err := open(t, b)
	if err != nil {
		t.Fatal(err)
	}
	if i := d.Info(); i.Realism != input.Page || i.Device != "fake 1.2" || !strings.Contains(i.Note, "less realistic") {
		t.Errorf("%+v", i)
	}
	const perform = `input.performActions {"actions":[`
	for _, tc := range []struct {
		actions []input.Action
		want    string
	}{
		{[]input.Action{input.KeyDown{Key: "ControlLeft"}, input.KeyDown{Key: "f"}, input.KeyUp{Key: "f"},
			input.KeyUp{Key: "ControlLeft"}},
			`{"type":"key","id":"keyboard","actions":[{"type":"keyDown","value":"` + "\ue009" +
				`"},{"type":"keyDown","value":"f"},{"type":"keyUp","value":"f"},{"type":"keyUp","value":"` + "\ue009" +
				`"}]}`},
		{[]input.Action{input.Text{Text: "日\n"}},
			`{"type":"key","id":"keyboard","actions":[{"type":"keyDown","value":"日"},{"type":"keyUp","value":"日"},` +
				`{"type":"keyDown","value":"` + "\ue007" + `"},{"type":"keyUp","value":"` + "\ue007" + `"}]}`},
		{[]input.Action{input.Move{X: 3.6, Y: 4}, input.ButtonDown{Button: input.Right}},
			`{"type":"pointer","id":"mouse","parameters":{"pointerType":"mouse"},` +
				`"actions":[{"type":"pointerMove","x":4,"y":4},{"type":"pointerDown","button":2}]}`},
		{[]input.Action{input.ButtonUp{Button: input.Right}, input.Wheel{Y: -2}},
			`{"type":"pointer","id":"mouse","parameters":{"pointerType":"mouse"},` +
				`"actions":[{"type":"pointerUp","button":2}]},{"type":"wheel","id":"wheel",` +
				`"actions":[{"type":"pause"},{"type":"scroll","x":4,"y":4,"deltaX":0,"deltaY":-200}]}`},
		{[]input.Action{input.TouchDown{Finger: 0, X: 1, Y: 2}, input.TouchDown{Finger: 4, X: 5, Y: 6}},
			`{"type":"pointer","id":"finger0","parameters":{"pointerType":"touch"},` +
				`"actions":[{"type":"pointerMove","x":1,"y":2},{"type":"pointerDown","button":0}]},` +
				`{"type":"pointer","id":"finger4","parameters":{"pointerType":"touch"},` +
				`"actions":[{"type":"pointerMove","x":5,"y":6},{"type":"pointerDown","button":0}]}`},
	} {
		sent, err := d.Do(t.Context(), 0, tc.actions...)
		if err != nil || sent.Latest < sent.Earliest || sent.Earliest == 0 {
			t.Errorf("%v: %v, %v", tc.actions, sent, err)
			continue
		}
		all := b.commands()
		if got, want := all[len(all)-1], perform+tc.want+`],"context":"page-1"}`; got != want {
			t.Errorf("%v:\n%s\nwant\n%s", tc.actions, got, want)
		}
	}
	if _, err := d.Do(t.Context(), 0, input.KeyDown{Key: "PrintScreen"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if err := d.Close(); err != nil { // two fingers are down
		t.Error(err)
	}
	all := b.commands()
	if got := strings.Join(all[len(all)-2:], "; "); got != `input.releaseActions {"context":"page-1"}; session.end {}` {
		t.Error(got)
	}
}

func TestWhatBrowsersSay(t *testing.T) {
	b := &browser{refuse: "input.performActions"}
	d, err := open(t, b)
	if err != nil {
		t.Fatal(err)
	}
	var refused *commandError
	if _, err := d.Do(t.Context(), 0, input.Move{}); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "move target out of bounds") {
		t.Error(err)
	}
	if _, err := open(t, &browser{noPages: true}); err == nil || !strings.Contains(err.Error(), "no page") {
		t.Error(err)
	}
	if _, err := open(t, &browser{refuse: "session.new"}); !errors.As(err, &refused) {
		t.Error(err)
	}
	if _, err := open(t, &browser{leave: "browsingContext.getTree"}); !errors.Is(err, input.ErrGone) {
		t.Error(err)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	if _, err := Open(t.Context(), "ws"+strings.TrimPrefix(plain.URL, "http")+"/session"); err == nil ||
		!strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
}

// TestWhatFailedIsLetGoOf: a command that was refused or abandoned may have pressed a key. Close
// lifts it.
func TestWhatFailedIsLetGoOf(t *testing.T) {
	for name, leave := range map[string]bool{"refused": false, "left": true} {
		b := &browser{}
		if leave {
			b.silent = "input.performActions"
		} else {
			b.refuse = "input.performActions"
		}
		d, err := open(t, b)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("enough")
		if leave {
			b.heard = func() { cancel(reason) }
		}
		if _, err := d.Do(ctx, 0, input.ButtonDown{Button: input.Left}); err == nil || leave &&
			!errors.Is(err, reason) {
			t.Errorf("%s: %v", name, err)
		}
		cancel(nil)
		if err := d.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if all := strings.Join(b.commands(), "; "); !strings.Contains(all,
			`input.releaseActions {"context":"page-1"}`) {
			t.Errorf("%s: %s", name, all)
		}
	}
}

// TestBrowserEndsInTheMiddle: held keys ended with it.
func TestBrowserEndsInTheMiddle(t *testing.T) {
	b := &browser{}
	d, err := open(t, b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Do(t.Context(), 0, input.ButtonDown{Button: input.Left}); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	b.leave = "input.performActions"
	b.mu.Unlock()
	for range 2 {
		if _, err := d.Do(t.Context(), 0, input.Move{X: 1}); !errors.Is(err, input.ErrGone) {
			t.Error(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
