package remote

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/internal/wire"
)

var everything = []input.Action{
	input.KeyDown{Key: "ControlLeft"}, input.KeyUp{Key: "ß"}, input.Text{Text: "日本語\n\x00<&>"},
	input.Move{X: 1.25, Y: 1.0 / 3},
	input.ButtonDown{Button: input.Forward}, input.ButtonUp{Button: input.Left}, input.Wheel{X: -3, Y: 1000},
	input.TouchDown{Finger: 9, X: 0, Y: 65536}, input.TouchMove{Finger: 0, X: 0.1, Y: 0}, input.TouchUp{Finger: 5},
}

func TestActionsOnTheWay(t *testing.T) {
	packed, err := pack(everything)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(packed)
	if err != nil {
		t.Fatal(err)
	}
	var got []action
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if all, err := unpack(got); err != nil || !slices.Equal(all, everything) {
		t.Errorf("%v became %v, %v", everything, all, err)
	}
	if _, err := pack(slices.Repeat(everything, 10)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a hundred at once: %v", err)
	}
	if _, err := pack(nil); err == nil {
		t.Error("nothing is something")
	}
	if _, err := pack([]input.Action{input.Wheel{X: input.MaxWheel + 1}}); err == nil {
		t.Error("what is not valid is sent")
	}
}

// The longest texts fit a frame one by one; too many of them are refused, and the connection stays.
func TestMuchText(t *testing.T) {
	inWorld(t, 0, func(t *testing.T, w *world) {
		d := w.mustDial(&link{})
		long := input.Text{Text: strings.Repeat("\x01", input.MaxText)}
		w.do(d, 0, long)
		if _, err := d.Do(w.ctx, 0, long, long, long, long); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v", err)
		}
		w.do(d, 0, long)
		w.shut(d)
	})
}

func FuzzActions(f *testing.F) {
	for _, a := range everything {
		packed, err := pack([]input.Action{a})
		if err != nil {
			f.Fatal(err)
		}
		body, err := json.Marshal(packed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(`[{"do":"wheel","x":1e300}]`))
	f.Add([]byte(`[{"do":"touch up","finger":-1}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var got []action
		if json.Unmarshal(body, &got) != nil {
			return
		}
		all, err := unpack(got)
		if err != nil {
			return
		}
		packed, err := pack(all)
		if err != nil {
			t.Fatalf("%v cannot go back: %v", all, err)
		}
		if again, err := unpack(packed); err != nil || !slices.Equal(all, again) {
			t.Fatalf("%v became %v, %v", all, again, err)
		}
	})
}

// FuzzSession has a controller that knows the token say anything. The agent lives, and in the end
// nothing is held.
func FuzzSession(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"op":"do","actions":[{"do":"touch down","finger":2,"x":1}]}` + "\n" + `{"id":2,"op":"release"}` +
			"\n" + `{"id":3,"op":"clock"}`,
		`{"id":1,"op":"do","at_ns":9223372036854775807,"actions":[{"do":"key down","key":"a"}]}`,
		`{"id":1,"op":"do","at_ns":-9223372036854775808,"actions":[{"do":"key down","key":"a"}]}` + "\n" +
			`{"id":1,"op":"cancel"}`,
		`{"op":"bye"}`, `{"op":"do"}`, `[]`, "\n",
	} {
		f.Add(s)
	}
	clock := timeline.Monotonic()
	f.Fuzz(func(t *testing.T, said string) {
		h := &hand{clock: clock, rig: clock, takes: fixed(0)}
		mine, theirs := plain(t)
		s := &session{agent: &agent{Service: Service{Driver: h, Clock: clock}}, wire: theirs}
		go func() {
			for { // replies
				if _, _, err := mine.ReadMessage(); err != nil {
					return
				}
			}
		}()
		go func() {
			for line := range strings.SplitSeq(said, "\n") {
				_ = mine.SetWriteDeadline(time.Now().Add(time.Second))
				if mine.WriteMessage(websocket.TextMessage, []byte(line)) != nil {
					break
				}
			}
			mine.Close()
		}()
		_ = s.run(t.Context())
		theirs.Close()
		s.lift()
		if held := h.held.Lift(); len(held) > 0 {
			t.Fatalf("held in the end: %v", held)
		}
	})
}

// plain returns a rig's websocket and the agent's wire without TLS, whose random numbers a fuzzer
// would take for finds.
func plain(t *testing.T) (mine *websocket.Conn, theirs *wire.Conn) {
	t.Helper()
	a, b := net.Pipe()
	upgraded := make(chan error, 1)
	go func() {
		var err error
		theirs, err = wire.Plain(b)
		upgraded <- err
	}()
	d := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) { return a, nil }}
	mine, _, err := d.Dial("ws://agent/", nil)
	if err := errors.Join(err, <-upgraded); err != nil {
		t.Fatal(err)
	}
	return mine, theirs
}
