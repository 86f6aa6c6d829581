package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/eideticker/eideticker/deploy/api"
)

// Push sends a zip file of a run or a set to the rig. It returns its ID there, and whether the rig
// had it already. A file that the rig rejects at once is not sent.
func (c *Client) Push(ctx context.Context, zip io.Reader) (id string, known bool, err error) {
	header := http.Header{"Content-Type": {"application/zip"}, "Expect": {"100-continue"}}
	res, err := c.do(ctx, http.MethodPost, "/api/v1/runs", zip, header, http.StatusCreated, http.StatusOK)
	if err != nil {
		return "", false, err
	}
	defer res.Body.Close() // was only read
	var answer api.RunID
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&answer); err != nil {
		return "", false, fmt.Errorf("the rig has taken the run, and its answer cannot be read: %w", err)
	}
	return answer.Run, res.StatusCode == http.StatusOK, nil
}

// Zip returns a run or a set as a zip file. The caller closes it.
func (c *Client) Zip(ctx context.Context, id string) (io.ReadCloser, error) {
	return c.File(ctx, id, "zip")
}
