package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// patiently sends a request, and gives up when the rig is silent for too long: before it answers,
// or in the middle of the answer. A request with a run in it has no limit, since the rig reads all
// of it before it answers.
func (c *Client) patiently(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Expect") != "" {
		return c.http.Do(r)
	}
	ctx, stop := context.WithCancelCause(r.Context())
	watch := time.AfterFunc(silence, func() { stop(fmt.Errorf("the rig says nothing for %s", silence)) })
	res, err := c.http.Do(r.WithContext(ctx))
	watch.Stop()
	if err != nil {
		defer stop(nil)
		return nil, silenced(ctx, r.Context(), err)
	}
	res.Body = &watchedBody{ReadCloser: res.Body, watch: watch, context: ctx, outer: r.Context(), stop: stop}
	return res, nil
}

// silenced is why a request has ended: the reason for which we gave up, or what went wrong by
// itself.
func silenced(ctx, outer context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && outer.Err() == nil {
		return cause
	}
	return err
}

// watchedBody gives up when nothing comes of it while somebody waits.
type watchedBody struct {
	io.ReadCloser
	watch          *time.Timer
	context, outer context.Context
	stop           context.CancelCauseFunc
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.Reset(silence)
	n, err := b.ReadCloser.Read(p)
	b.watch.Stop() // reading stopped: the caller may take long over the data
	if err != nil && err != io.EOF {
		err = silenced(b.context, b.outer, err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.watch.Stop()
	defer b.stop(nil)
	return b.ReadCloser.Close()
}
