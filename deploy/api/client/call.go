package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/eideticker/eideticker/deploy/api"
)

// maxResult bounds what a result may have: a page of a list with many values has less.
const maxResult = 64 << 20

// Call carries out a method. Result may be nil. What the rig says is wrong is a *wire.Error.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	body, err := json.Marshal(api.Request{Version: api.JSONRPC, ID: json.RawMessage("1"), Method: method, Params: raw})
	if err != nil {
		return err
	}
	res, err := c.do(ctx, http.MethodPost, "/api/v1/rpc", bytes.NewReader(body),
		http.Header{"Content-Type": {"application/json"}}, http.StatusOK)
	var refused *StatusError
	if errors.As(err, &refused) && refused.told != nil {
		return refused.told
	}
	if err != nil {
		return err
	}
	defer res.Body.Close() // was only read
	var answer api.Response
	if err := json.NewDecoder(io.LimitReader(res.Body, maxResult)).Decode(&answer); err != nil {
		return fmt.Errorf("the rig's answer to %s cannot be read: %w", method, err)
	}
	switch {
	case answer.Error != nil:
		return answer.Error
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return fmt.Errorf("the rig's answer to %s cannot be read: %w", method, err)
	}
	return nil
}

// File opens a file of a run's folder. The caller closes it.
func (c *Client) File(ctx context.Context, id, name string) (io.ReadCloser, error) {
	return c.file(ctx, "/api/v1/runs/"+id+"/"+name)
}

// FleetFile opens a file of a set on a hub, such as lab-07/s-1.1. The caller closes it.
func (c *Client) FleetFile(ctx context.Context, set, name string) (io.ReadCloser, error) {
	return c.file(ctx, "/fleet/v1/runs/"+set+"/"+name)
}

func (c *Client) file(ctx context.Context, path string) (io.ReadCloser, error) {
	res, err := c.do(ctx, http.MethodGet, path, nil, nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// toldIn returns the error of a call that failed, which comes with a status of its own.
func toldIn(res *http.Response) *api.Error {
	var answer api.Response
	if res.Header.Get("Content-Type") != "application/json" ||
		json.NewDecoder(io.LimitReader(res.Body, maxResult)).Decode(&answer) != nil {
		return nil
	}
	return answer.Error
}
