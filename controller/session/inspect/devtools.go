package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/eideticker/eideticker/capture/timeline"
	internal "github.com/eideticker/eideticker/controller/internal/devtools"
)

// devtools evaluates expressions by Chrome's developer tools.
type devtools struct {
	*internal.Conn
	session string // of the page; "": not attached
	clock   timeline.Clock
}

// newDevtools reads from the pipe until that ends or Close is called.
func newDevtools(pipe io.ReadWriter) *devtools {
	return &devtools{Conn: internal.New(pipe, internal.TraceComplete), clock: timeline.Monotonic()}
}

func (d *devtools) call(ctx context.Context, method string, params, result any) error {
	return d.Call(ctx, d.session, method, params, result)
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
	d.Conn.Close()
	return nil
}
