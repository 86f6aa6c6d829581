package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// Bounds of the request to join.
const (
	joinTime   = 30 * time.Second
	joinTries  = 3
	maxJoined  = 64 << 10
	maxRefusal = 300
)

// Join enrols a rig at the hub of a fleet. The hub takes the same key again if its answer was lost.
func Join(ctx context.Context, f Fleet, q wire.Join) (out wire.Joined, err error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return out, err
	}
	hub := PinnedClient(f.Fingerprint)
	hub.Timeout = joinTime
	defer hub.CloseIdleConnections()
	for range joinTries {
		var r *http.Request
		if r, err = http.NewRequestWithContext(ctx, http.MethodPost, f.Hub+"/fleet/v1/join",
			bytes.NewReader(raw)); err != nil {
			return out, err
		}
		r.Header.Set("Content-Type", "application/json")
		var res *http.Response
		if res, err = hub.Do(r); err != nil {
			continue
		}
		var text []byte
		text, err = io.ReadAll(io.LimitReader(res.Body, maxJoined))
		if err = errors.Join(err, res.Body.Close()); err != nil {
			continue
		}
		if res.StatusCode != http.StatusOK {
			return out, fmt.Errorf("the hub says: %s", strings.TrimSpace(string(text[:min(len(text), maxRefusal)])))
		}
		return out, json.Unmarshal(text, &out)
	}
	return out, err
}
