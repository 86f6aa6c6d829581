package inspect

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/eideticker/eideticker/capture/timeline"
)

// devtools evaluates expressions by Chrome's developer tools
// (https://chromedevtools.github.io/devtools-protocol/).
type devtools struct {
	pipe    io.ReadWriter
	next    int
	session string // of the page; "": not attached
	heard   chan answer
	stop    context.CancelFunc
	clock   timeline.Clock
}

// answer is the answer to a command. Events have no ID.
type answer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	lost error // the connection's end
}

// maxAnswer limits a message of the browser.
const maxAnswer = 4 << 20

// newDevtools reads from the pipe until that ends or Close is called.
func newDevtools(pipe io.ReadWriter) *devtools {
	ctx, stop := context.WithCancel(context.Background())
	d := &devtools{pipe: pipe, heard: make(chan answer), stop: stop, clock: timeline.Monotonic()}
	go func() {
		messages := bufio.NewScanner(pipe)
		messages.Buffer(nil, maxAnswer)
		messages.Split(byZero)
		for over := false; !over; {
			var a answer
			if over = !messages.Scan(); over {
				a.lost = errors.Join(errors.New("the browser closed its developer tools"), messages.Err())
			} else if err := json.Unmarshal(messages.Bytes(), &a); err == nil && a.ID == 0 {
				continue // an event
			}
			select {
			case d.heard <- a:
			case <-ctx.Done():
				return
			}
		}
	}()
	return d
}

// byZero splits messages that end with a zero byte.
func byZero(data []byte, _ bool) (int, []byte, error) {
	for i, c := range data {
		if c == 0 {
			return i + 1, data[:i], nil
		}
	}
	return 0, nil, nil
}

func (d *devtools) call(ctx context.Context, method string, params, result any) error {
	d.next++
	raw, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{d.next, d.session, method, params})
	if err == nil {
		_, err = d.pipe.Write(append(raw, 0))
	}
	for err == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case a := <-d.heard:
			switch {
			case a.lost != nil:
				return a.lost
			case a.ID != d.next: // of a command whose answer was not awaited
				continue
			case a.Error != nil:
				return fmt.Errorf("%s: %.300s", method, a.Error.Message)
			}
			return json.Unmarshal(a.Result, result)
		}
	}
	return err
}

// attach selects the browser's page.
func (d *devtools) attach(ctx context.Context) error {
	var targets struct {
		All []struct {
			ID   string `json:"targetId"`
			Type string `json:"type"`
		} `json:"targetInfos"`
	}
	if err := d.call(ctx, "Target.getTargets", struct{}{}, &targets); err != nil {
		return err
	}
	for _, t := range targets.All {
		if t.Type == "page" {
			var attached struct {
				Session string `json:"sessionId"`
			}
			err := d.call(ctx, "Target.attachToTarget", map[string]any{"targetId": t.ID, "flatten": true}, &attached)
			d.session = attached.Session
			return err
		}
	}
	return errors.New("the browser shows no page")
}

// ofPage calls a method of the page.
func (d *devtools) ofPage(ctx context.Context, method string, params, result any) error {
	if d.session == "" {
		if err := d.attach(ctx); err != nil {
			return err
		}
	}
	return d.call(ctx, method, params, result)
}

// Evaluate implements [Page].
func (d *devtools) Evaluate(ctx context.Context, expression string) (string, error) {
	var got struct {
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
	}
	err := d.ofPage(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &got)
	if err != nil {
		d.session = "" // the page may have been replaced
	}
	return got.Result.Value, err
}

// Preload implements [Page].
func (d *devtools) Preload(ctx context.Context, script string) error {
	var ignored json.RawMessage
	if err := d.ofPage(ctx, "Page.enable", struct{}{}, &ignored); err != nil {
		return err
	}
	return d.ofPage(ctx, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script}, &ignored)
}

// Navigate implements [Page].
func (d *devtools) Navigate(ctx context.Context, address string) (timeline.Interval, error) {
	var got struct {
		Error string `json:"errorText"`
	}
	sent := timeline.Interval{Earliest: d.clock.Now()}
	err := d.ofPage(ctx, "Page.navigate", map[string]any{"url": address}, &got)
	sent.Latest = d.clock.Now()
	if err == nil && got.Error != "" {
		err = fmt.Errorf("navigate to %s: %.300s", address, got.Error)
	}
	return sent, err
}

// Close implements [Page]. The pipe stays open.
func (d *devtools) Close() error {
	d.stop()
	return nil
}
