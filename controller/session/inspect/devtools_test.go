package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// chrome answers commands of the developer tools, with events between.
func chrome(t *testing.T, pipe net.Conn, answers map[string]string) {
	d := json.NewDecoder(zeroless{pipe})
	for {
		var c struct {
			ID     int
			Method string
		}
		if d.Decode(&c) != nil {
			return
		}
		answer, ok := answers[c.Method]
		if !ok {
			_ = pipe.Close()
			return
		}
		const form = `{"method": "event"}` + "\x00" + `{"id": %d, "result": {}}` + "\x00" + `{"id": %d, %s}` + "\x00"
		if _, err := fmt.Fprintf(pipe, form, c.ID+7, c.ID, answer); err != nil {
			t.Error(err)
		}
	}
}

// zeroless turns zero bytes into spaces.
type zeroless struct{ io.Reader }

func (z zeroless) Read(b []byte) (int, error) {
	n, err := z.Reader.Read(b)
	for i := range b[:n] {
		b[i] = max(b[i], ' ')
	}
	return n, err
}

// TestPreload: a page has the script before its address. A rejected address is an error.
func TestPreload(t *testing.T) {
	answers := map[string]string{"Page.enable": `"result": {}`,
		"Page.navigate":                         `"result": {"errorText": "no such name"}`,
		"Target.getTargets":                     `"result": {"targetInfos": [{"targetId": "p", "type": "page"}]}`,
		"Target.attachToTarget":                 `"result": {"sessionId": "s"}`,
		"Page.addScriptToEvaluateOnNewDocument": `"result": {"identifier": "1"}`}
	ours, theirs := net.Pipe()
	defer ours.Close()
	go chrome(t, theirs, answers)
	d := newDevtools(ours)
	if err := d.Preload(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	at, err := d.Navigate(t.Context(), "http://a.test/")
	if fmt.Sprint(err) != "navigate to http://a.test/: no such name" || at.Latest < at.Earliest {
		t.Errorf("%v, %v", at, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestDevtools: an answer belongs to its command, and each way to fail is an error.
//
// Fault: The browser ends while an element is looked for
func TestDevtools(t *testing.T) {
	targets := `"result": {"targetInfos": [{"targetId": "w", "type": "worker"}, {"targetId": "p", "type": "page"}]}`
	attached, value := `"result": {"sessionId": "s"}`, `"result": {"result": {"value": "yes"}}`
	for name, tc := range map[string]struct {
		answers map[string]string
		want    string
	}{
		"value": {map[string]string{"Target.getTargets": targets, "Target.attachToTarget": attached,
			"Runtime.evaluate": value}, "yes <nil>"},
		"no page": {map[string]string{"Target.getTargets": `"result": {}`}, " the browser shows no page"},
		"refused": {map[string]string{"Target.getTargets": `"error": {"message": "no"}`}, " Target.getTargets: no"},
		"ends": {map[string]string{"Target.getTargets": targets, "Target.attachToTarget": attached},
			" the browser closed its developer tools"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			go chrome(t, theirs, tc.answers)
			got, err := newDevtools(ours).Evaluate(t.Context(), "x")
			if text := fmt.Sprint(got, " ", err); text != tc.want {
				t.Errorf("%q", text)
			}
		})
	}
}

// opened is a browser with a pipe; nil: it never listens.
type opened struct{ pipe io.ReadWriter }

func (o opened) Pipe() io.ReadWriter { return o.pipe }

func (o opened) Endpoint(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}

// TestOpen: the context limits the opening. The page outlives it.
func TestOpen(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("too late"))
	if _, err := Open(ctx, opened{}); fmt.Sprint(err) != "too late" {
		t.Error(err)
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	go chrome(t, theirs, map[string]string{"Target.attachToTarget": `"result": {"sessionId": "s"}`,
		"Target.getTargets": `"result": {"targetInfos": [{"targetId": "p", "type": "page"}]}`,
		"Runtime.evaluate":  `"result": {"result": {"value": "yes"}}`})
	page, err := Open(ctx, opened{ours})
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	patient, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	for range 5 {
		if got, err := page.Evaluate(patient, "x"); got != "yes" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
}
